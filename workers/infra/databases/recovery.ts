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
import { recoveryReason } from '#src/resources/infra/databases/states.ts'
import { reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { explainVm, findSecondsOf, hostedVmStepped } from '#src/resources/infra/vms/states.ts'

/** How long the first look goes on; after that a job looks once. */
const firstLookMs = 10_000
const againSeconds = 2

/** What a VM says whose server is not there yet, and for how long it may be so. */
const waits = {
  recovering: { reason: recoveryReason, secondsMax: limits.databaseRecoverySecondsMax },
  silent: { reason: 'Its server does not answer yet.', secondsMax: limits.databaseSilenceSecondsMax },
}
const reasons = Object.values(waits).map(({ reason }) => reason)

/**
 * Whether the server of a VM that has booted lets its superuser in. If it does not yet, the VM says why, and its job comes
 * back.
 * @throws BerthError when it says nothing for two minutes, or is not there after half an hour.
 */
export async function isServerUp(
  { services }: { services: Background },
  vm: Vm,
  machine: Machine,
  lookMs: number = firstLookMs,
): Promise<boolean> {
  const isKnown = vm.statusReason !== null && reasons.includes(vm.statusReason)
  const seen = await lookForServer(machine, isKnown ? 0 : lookMs)
  if (seen === 'up') return true
  const { reason, secondsMax } = waits[seen]
  const seconds = await findSecondsOf(services.db, vm, reasons)
  const isLate = vm.statusReason === reason && seconds.newest > secondsMax
  if (isLate || seconds.all > limits.databaseRecoverySecondsMax) {
    await transaction(services.db, (tx) => explainVm(tx, vm, 'Its server did not come up in time: it starts again.'))
    const minutes = Math.round((isLate ? secondsMax : limits.databaseRecoverySecondsMax) / 60)
    throw new BerthError('timeout', `Its server did not let anybody in within ${minutes} minutes.`)
  }
  await transaction(services.db, async (tx) => {
    if (vm.statusReason !== reason && (await explainVm(tx, vm, reason, 'waiting_for_server')))
      await hostedVmStepped.run(services, tx, vm)
    const kind = onNode(reconcileVm, vm.nodeId)
    await services.jobs.enqueue(tx, kind, { vmId: vm.id }, { startAfterSeconds: againSeconds })
  })
  return false
}
