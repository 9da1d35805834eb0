/** The VMs that databases run in. They are VMs like any other, but no operation on VMs reaches them. */
import { rootDiskMbOf } from '#src/drivers/compute/templates/database-disks.ts'
import { allowAnywhere } from '#src/platform/access.ts'
import { newUuid } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { change, findAll, getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { setFolderUse } from '#src/resources/infra/folders.ts'
import { reserveRoom } from '#src/resources/infra/organization-room.ts'
import { postgresTemplateId } from '#src/resources/infra/templates.ts'
import { reconcileVm } from './lifecycle.ts'
import type { Vm } from './rows.ts'
import { addEvent } from './states.ts'

/** The VM that a database needs. `folder`: the disk that has its data already, and the node where it is. */
export type DatabaseVmOrder = {
  organizationId: string
  userId: string | null
  name: string
  vcpuCount: number
  memoryMb: number
  dataDiskMb: number
  folder: { id: string; nodeId: string } | null
  projectId: string | null
}

/**
 * Creates it in the caller's transaction, without waiting for it. Programs in it reach nothing.
 * @throws BerthError as reserveRoom.
 */
export async function insertDatabaseVm(services: Background, tx: Tx, order: DatabaseVmOrder): Promise<Vm> {
  const { organizationId, userId, name, vcpuCount, memoryMb, dataDiskMb, folder, projectId } = order
  const diskMb = rootDiskMbOf(dataDiskMb)
  const room = { memoryMb, diskMb: diskMb + dataDiskMb, vms: 1 }
  const node = await reserveRoom(services, tx, organizationId, room, folder?.nodeId ?? null)
  if (folder) await setFolderUse(tx, folder.id, 0)
  const vm = await getOne<Vm>(
    tx,
    sql`
    insert into vms (id, organization_id, user_id, name, purpose, project_id, status, desired_status, template_id, node_id,
      vcpu_count, memory_mb, disk_mb, folder_id, network_policy, event_position)
    values (${newUuid()}, ${organizationId}, ${userId}, ${name}, 'database', ${projectId}, 'creating', 'running',
      ${postgresTemplateId}, ${node.id}, ${vcpuCount}, ${memoryMb}, ${diskMb},
      ${folder?.id ?? null}, ${JSON.stringify({ type: 'none' })}, 1)
    returning *`,
  )
  await addEvent(tx, vm)
  await services.jobs.enqueue(tx, onNode(reconcileVm, node.id), { vmId: vm.id })
  return vm
}

/** Notes that a database has a disk of this size for its data from now on: its VM's own disk grows with it. */
export async function growDatabaseVm(tx: Tx, id: string, dataDiskMb: number): Promise<void> {
  await change(tx, sql`update vms set disk_mb = greatest(disk_mb, ${rootDiskMbOf(dataDiskMb)}) where id = ${id}`)
}

/** The VMs with these stored ids that databases of the caller's organizations run in. */
export async function findDatabaseVms(call: Call, ids: readonly string[]): Promise<Vm[]> {
  const { organizationIds } = allowAnywhere(call.caller, 'databases:read')
  return findAll<Vm>(
    call.db,
    sql`
      select *
      from vms
      where id = any(${ids}::uuid[])
        and organization_id = any(${organizationIds}::uuid[])
        and purpose = 'database'
        and status <> 'deleted'`,
  )
}
