/** A proxy entry's row, and what removes it from elsewhere. */
import { rowsOf } from '#src/platform/nouns.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { removeRoute } from '#src/resources/infra/routes.ts'

/** What an entry leads to: a web server; one that only holders of a token reach; or a server that encrypts by itself. */
export type DeploymentType = 'vm' | 'preview' | 'database'

/** A proxy entry as it is stored; moments are wire text, ids are uuids. `userId` made it; null: an API key. */
export type Proxy = Row<'proxies', { deploymentType: DeploymentType }>

/** The queries of proxy entries. */
export const proxyRows = rowsOf<Proxy>('proxy', 'proxies', 'proxy entry')

/** Removes the entries of a VM and their routes: they end with it. */
export async function removeProxiesOfVm(tx: Tx, vmId: string): Promise<void> {
  const removed = await findAll<{ id: string }>(tx, sql`delete from proxies where vm_id = ${vmId} returning id`)
  for (const { id } of removed) await removeRoute(tx, id)
}
