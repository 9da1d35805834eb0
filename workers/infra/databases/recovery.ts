/**
 * The server of a database after a boot. One that did not end in order first reads what it had logged, which may take
 * minutes. Its VM's job does not wait for that in a place that others need: it comes back.
 */
import { lookForServer } from '#src/drivers/compute/guest/postgres.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { noteVmChange } from '#src/resources/infra/databases/jobs.ts'
import { recoveryReason } from '#src/resources/infra/databases/states.ts'
import { reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { explainVm, findSecondsInStatus } from '#src/resources/infra/vms/states.ts'

/** A server that says nothing for this long does not come up. */
const silentMs = 120_000
/** One that says that it recovers is looked at again later. */
const recoveringMs = 10_000
const againSeconds = 2

/**
 * Whether the server of a VM that has booted lets its superuser in. If it still recovers, the VM says so, and its job
 * comes back.
 * @throws BerthError when it says nothing, or has recovered for half an hour.
 */
export async function isServerUp(
  { services }: { services: Background },
  vm: Vm,
  machine: Machine,
  waits: { silentMs: number; recoveringMs: number } = { silentMs, recoveringMs },
): Promise<boolean> {
  if ((await lookForServer(machine, waits)) === 'up') return true
  const isKnown = vm.statusReason === recoveryReason
  if (isKnown && (await findSecondsInStatus(services.db, vm)) > limits.databaseRecoverySecondsMax)
    throw new BerthError(
      'timeout',
      `Its server did not recover within ${limits.databaseRecoverySecondsMax / 60} minutes.`,
    )
  await transaction(services.db, async (tx) => {
    if (!isKnown && (await explainVm(tx, vm, recoveryReason))) await noteVmChange(services, tx, vm)
    const kind = onNode(reconcileVm, vm.nodeId)
    await services.jobs.enqueue(tx, kind, { vmId: vm.id }, { startAfterSeconds: againSeconds })
  })
  return false
}
