/** A proxy entry's row, and what removes it from elsewhere. */
import { rowsOf } from '#src/platform/nouns.ts'
import { change, findAll, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { putRoute, removeRoute, type Route } from '#src/resources/infra/routes.ts'

/** What an entry leads to: a web server; one that only holders of a token reach; or a server that encrypts by itself. */
export type DeploymentType = 'vm' | 'preview' | 'database'

/** A proxy entry as it is stored; moments are wire text, ids are uuids. `userId` made it; null: an API key. */
export type Proxy = Row<'proxies', { deploymentType: DeploymentType }>

/** The queries of proxy entries. */
export const proxyRows = rowsOf<Proxy>('proxy', 'proxies', 'proxy entry')

/** How the edge treats each kind of entry. */
const accesses: Readonly<Record<DeploymentType, Route['access']>> = {
  vm: 'public',
  preview: 'preview',
  database: 'database',
}

/** Writes the route of an entry. @returns false when its host and path lead elsewhere; then nothing changed. */
export async function openRoute(tx: Tx, proxy: Proxy): Promise<boolean> {
  const { id, organizationId, host, path, deploymentType, vmId, vmPort, wakes } = proxy
  const access = accesses[deploymentType]
  return putRoute(tx, { id, organizationId, kind: 'proxy', host, path, access, vmId, vmPort, functionId: null, wakes })
}

/** The entry of a VM's service. */
export async function findService(tx: Tx, vmId: string, serviceName: string): Promise<Proxy | undefined> {
  return findOne<Proxy>(tx, sql`select * from proxies where vm_id = ${vmId} and service_name = ${serviceName}`)
}

/** Removes the entries of a VM and their routes: they end with it. */
export async function removeProxiesOfVm(tx: Tx, vmId: string): Promise<void> {
  const removed = await findAll<{ id: string }>(tx, sql`delete from proxies where vm_id = ${vmId} returning id`)
  for (const { id } of removed) await removeRoute(tx, id)
}

/** Locks the VMs that have entries below a custom domain: before the domain, as whoever makes one does. */
export async function lockVmsOfDomain(tx: Tx, domainId: string): Promise<void> {
  await change(
    tx,
    sql`select 1 from vms where id in (select vm_id from proxies where domain_id = ${domainId}) order by id for no key update`,
  )
}

/**
 * Removes the entries below a locked custom domain and their routes: the name may be another organization's next.
 * @returns the VMs whose entries these were.
 */
export async function removeProxiesOfDomain(tx: Tx, domainId: string): Promise<ReadonlySet<string>> {
  const removed = await findAll<Pick<Proxy, 'id' | 'vmId'>>(
    tx,
    sql`delete from proxies where domain_id = ${domainId} returning id, vm_id`,
  )
  for (const { id } of removed) await removeRoute(tx, id)
  return new Set(removed.map(({ vmId }) => vmId))
}

/** Removes the routes of the entries below a custom domain that is no longer proved. The entries wait for it. */
export async function closeProxiesOfDomain(tx: Tx, domainId: string): Promise<void> {
  const closed = await findAll<{ id: string }>(
    tx,
    sql`select id from proxies where domain_id = ${domainId} order by id`,
  )
  for (const { id } of closed) await removeRoute(tx, id)
}

/** Writes them again, for a domain that is proved again. */
export async function reopenProxiesOfDomain(tx: Tx, domainId: string): Promise<void> {
  const closed = await findAll<Proxy>(tx, sql`select * from proxies where domain_id = ${domainId} order by id`)
  for (const proxy of closed) await openRoute(tx, proxy) // one that has been taken meanwhile stays as it is
}
