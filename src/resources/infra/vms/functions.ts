/** The VMs that functions run in. They are VMs like any other, but no operation on VMs reaches them. */
import { functionLimits } from '#src/platform/limits/functions.ts'
import { newUuid } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { reserveRoom } from '#src/resources/infra/organization-room.ts'
import { baseTemplateId } from '#src/resources/infra/templates.ts'
import { reconcileVm } from './lifecycle.ts'
import type { Vm } from './rows.ts'
import { addEvent } from './states.ts'

/** The VM that an instance of a function needs. */
export type FunctionVmOrder = {
  organizationId: string
  userId: string | null
  name: string
  vcpuCount: number
  memoryMb: number
}

/**
 * Creates it in the caller's transaction, without waiting for it. It is on any node: nothing in it outlives it.
 * @throws BerthError as reserveRoom.
 */
export async function insertFunctionVm(services: Background, tx: Tx, order: FunctionVmOrder): Promise<Vm> {
  const { organizationId, userId, name, vcpuCount, memoryMb } = order
  const { diskMb } = functionLimits
  const node = await reserveRoom(services, tx, organizationId, { memoryMb, diskMb, vms: 1 }, null)
  const vm = await getOne<Vm>(
    tx,
    sql`
    insert into vms (id, organization_id, user_id, name, purpose, status, desired_status, template_id, node_id, vcpu_count,
      memory_mb, disk_mb, wants_folder, event_position)
    values (${newUuid()}, ${organizationId}, ${userId}, ${name}, 'function', 'creating', 'running', ${baseTemplateId}, ${node.id},
      ${vcpuCount}, ${memoryMb}, ${diskMb}, false, 1)
    returning *`,
  )
  await addEvent(tx, vm)
  await services.jobs.enqueue(tx, onNode(reconcileVm, node.id), { vmId: vm.id })
  return vm
}
