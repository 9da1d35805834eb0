/** Requests to change a VM's status or to delete it. Its node carries them out: see workers/infra/vms.ts. */
import { job, onNode } from '#src/platform/jobs.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { setFolderUse } from '#src/resources/infra/folders.ts'
import { holdsMemory, reserveRoom } from '#src/resources/infra/organization-room.ts'
import type { EndReason } from '#src/resources/infra/usage.ts'
import { forgetProcessesOf } from './process-records.ts'
import type { Vm, VmStatus } from './rows.ts'
import { moveVm, hostedVmStepped } from './states.ts'
import { forgetVariables } from './variables.ts'

/** The statuses that a caller may request. */
export type WantedStatus = 'running' | 'stopped' | 'paused'

/** Brings one VM to the desired status in its row. Runs on the VM's node. */
export const reconcileVm = job<{ vmId: string }>('vms-reconcile', { retryLimit: 20, expireInSeconds: 300 })

/** Marks a locked VM for deletion, in the caller's transaction. */
export async function markDeleted(
  { jobs, config }: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  vm: Pick<Vm, 'id' | 'nodeId'>,
  reason: EndReason,
): Promise<void> {
  const marked = await moveVm(tx, { config }, vm.id, 'deleting', {
    usageEnd: reason,
    wanted: 'deleted',
    endReason: reason,
  })
  if (marked) await jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
}

/**
 * Ends a VM whose machine is gone: deletes its variables and process records; its row, events and usage stay for the
 * history.
 */
export async function endVm(
  services: Background,
  vm: Pick<Vm, 'id' | 'folderId'>,
  folderUsedMb: number,
): Promise<void> {
  await transaction(services.db, async (tx) => {
    await forgetVariables(tx, vm.id)
    await forgetProcessesOf(tx, vm.id)
    if (vm.folderId) await setFolderUse(tx, vm.folderId, folderUsedMb)
    const deleted = await moveVm(tx, services, vm.id, 'deleted')
    if (deleted) await hostedVmStepped.run(services, tx, deleted)
  })
}

/**
 * Moves a locked VM towards a status, in the caller's transaction; undefined when that is not possible. A stopped VM
 * has released its memory, so a start reserves it again.
 * @param sleeps nobody used it, or somebody came again: then whoever comes next wakes it too.
 * @throws BerthError as reserveRoom; then nothing is changed.
 */
export async function moveTowards(
  services: Background,
  tx: Tx,
  vm: Vm,
  wanted: WantedStatus,
  reason: string | null = null,
  sleeps = false,
): Promise<Vm | undefined> {
  const next = nextStatus(vm.status, wanted)
  if (!next) return undefined
  if (wanted === 'running' && !holdsMemory(vm))
    await reserveRoom(services, tx, vm.organizationId, { memoryMb: vm.memoryMb }, vm.nodeId)
  const moved = await moveVm(tx, services, vm.id, next, { usageEnd: 'request', wanted, reason, sleeps })
  if (moved) await services.jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
  return moved
}

/** The next status of a VM for a requested status; undefined when it must wait or cannot get there. */
function nextStatus(status: VmStatus, wanted: WantedStatus): VmStatus | undefined {
  if (wanted === 'running')
    return status === 'stopped' || status === 'error' ? 'starting' : status === 'paused' ? 'resuming' : undefined
  if (status !== 'running') return undefined
  return wanted === 'stopped' ? 'stopping' : 'pausing'
}
