/** The networks of projects: the names under which VMs reach the databases of their own project, and no others do. */
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'

/** The project whose databases a VM reaches; null when it is in none. The VMs of databases themselves reach nothing. */
export async function findProjectOfVm(db: Db, vmId: string): Promise<string | null> {
  const vm = await findOne<{ projectId: string | null }>(
    db,
    sql`select project_id from vms where id = ${vmId} and purpose is null and status not in ('deleting', 'deleted')`,
  )
  return vm?.projectId ?? null
}

/** The network names of the databases that each of these VMs reaches, in order; a VM without any is not there. */
export async function findNetworkNames(db: Db, vmIds: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await findAll<{ vmId: string; names: string[] }>(
    db,
    sql`
    select v.id as vm_id, array_agg(distinct d.network_name order by d.network_name) as names
    from vms v join databases d on d.project_id = v.project_id and d.organization_id = v.organization_id
    where v.id = any(${vmIds}::uuid[]) and v.purpose is null and d.network_name is not null and d.status not in ('deleting', 'deleted')
    group by v.id`,
  )
  return new Map(rows.map(({ vmId, names }) => [vmId, names]))
}
