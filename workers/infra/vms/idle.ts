/** Puts the VMs of a node to sleep that nobody uses. */
import { readBackground } from '#src/drivers/compute/guest/processes.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { finishProcess } from '#src/resources/infra/vms/process-records.ts'
import { findIdleVms, putVmToSleep, type IdleVm } from '#src/resources/infra/vms/sleep.ts'
import { machineId } from '../machine-specs.ts'
import type { VmWork } from '../vms.ts'

/** Pauses or stops them, as their owners want. */
export async function sleepIdleVms(work: Pick<VmWork, 'services' | 'compute' | 'nodeId' | 'use'>): Promise<void> {
  for (const vm of await findIdleVms(work.services.db, work.nodeId)) {
    try {
      if (await isBusy(work, vm)) continue
      await work.use.close(vm.id, () => putVmToSleep(work.services, vm.id))
    } catch (error) {
      log.warn({ vm: encodeId('vm', vm.id), err: error }, 'an idle VM was not put to sleep this time')
    }
  }
}

/** Whether a process with a time of its own runs in it; the records of those that have ended say so from now on. */
async function isBusy(
  { services, compute }: Pick<VmWork, 'services' | 'compute'>,
  { id, processIds }: IdleVm,
): Promise<boolean> {
  if (processIds.length === 0) return false
  const machine = compute.find(machineId({ id }))
  if (!machine) return true // it is looked after elsewhere
  for (const processId of processIds) {
    const { status, exitCode } = await readBackground(machine, processId)
    if (status === 'running') return true
    await finishProcess(services.db, processId, { status, exitCode })
  }
  return false
}
