/** A node whose worker only changes rows: each VM starts, stops, pauses or is deleted at once, without a machine. */
import { newUuid } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { findVmRow, type VmStatus } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'

const nextOf: Partial<Record<VmStatus, VmStatus>> = {
  creating: 'running',
  starting: 'running',
  resuming: 'running',
  stopping: 'stopped',
  pausing: 'paused',
  deleting: 'deleted',
}

/** Starts one with that many megabytes of memory and disk. @returns its stored id. */
export async function startRowWorker(
  services: Services,
  { memoryMb, diskMb = null }: { memoryMb: number; diskMb?: number | null },
): Promise<string> {
  const id = newUuid()
  await sql`
    insert into nodes (id, name, agent_url, acceleration, memory_mb, disk_mb, heartbeat_at)
    values (${id}, 'rows', 'unix:/nonexistent/node.sock', 'emulation', ${memoryMb}, ${diskMb}, now() + interval '1 hour')`.execute(
    services.db,
  )
  await moveRows(services, id)
  return id
}

/** Does a worker's work on the rows of this node's VMs alone. */
export async function moveRows(services: Services, nodeId: string): Promise<void> {
  await services.jobs.handle(onNode(reconcileVm, nodeId), { concurrency: 8 }, async ({ data }) => {
    const vm = await findVmRow(services.db, data.vmId)
    const next = vm && nextOf[vm.status]
    if (next) await moveVm(services.db, services, vm.id, next)
  })
}
