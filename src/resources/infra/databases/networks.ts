/** The networks of projects: the names under which VMs reach the databases of their own project, and no others do. */
import { isLoopback } from '#src/platform/settings/entries.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'

/** The port of databases, under every name. */
const postgresPort = 5432
const everyAddress: readonly string[] = ['0.0.0.0', '::']

/**
 * Where the databases are that have this network name in the project of a VM: at the process that lets clients in, which
 * tells them apart by their users. Null when there is none.
 */
export async function findInProject(
  { db, config }: Pick<Background, 'db' | 'config'>,
  vmId: string,
  { host, port }: { host: string; port: number },
): Promise<{ host: string; port: number } | null> {
  if (port !== postgresPort) return null
  const found = await findOne(
    db,
    sql`
    select 1 from vms v join databases d on d.project_id = v.project_id and d.organization_id = v.organization_id
    where v.id = ${vmId} and v.purpose is null and d.network_name = ${host} and d.status not in ('deleting', 'deleted') limit 1`,
  )
  if (!found) return null
  const isHere = isLoopback(config.host) || everyAddress.includes(config.host)
  return { host: isHere ? '127.0.0.1' : config.host, port: config.postgresPort }
}
