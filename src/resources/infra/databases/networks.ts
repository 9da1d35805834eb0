/**
 * The networks through which VMs reach databases: that of their project, with names, and that of the function that runs in
 * them. Nobody else is in them.
 */
import type { Network } from '#src/drivers/project-door.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'

/** The network whose databases a VM reaches; null when it is in none. The VMs of databases themselves reach nothing. */
export async function findNetworkOfVm(db: Db, vmId: string): Promise<Network | null> {
  const vm = await findOne<{ projectId: string | null; functionId: string | null }>(
    db,
    sql`
    select case when purpose is null then project_id end as project_id,
      (select function_id from function_instances i where i.vm_id = vms.id and vms.purpose = 'function') as function_id
    from vms where id = ${vmId} and status not in ('deleting', 'deleted')`,
  )
  if (vm?.functionId) return `function:${vm.functionId}`
  return vm?.projectId ? `project:${vm.projectId}` : null
}

/** Whether the VM runs a function to which databases are linked. */
export async function hasLinkedDatabases(db: Db, vmId: string): Promise<boolean> {
  const linked = await findOne(
    db,
    sql`select 1 from function_instances i join databases d on d.function_id = i.function_id where i.vm_id = ${vmId} limit 1`,
  )
  return linked !== undefined
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
