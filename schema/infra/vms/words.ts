/** The words for what VMs are and become. */
import { enumOf } from '../../enums.ts'
import type { IdleAction, Vm, VmStatus } from '#src/resources/infra/vms/rows.ts'

/** The status of a VM. */
export const vmStatus = enumOf(
  'VmStatus',
  'The status of a VM. A steady status lasts; the others are on the way to one.',
  {
    creating: 'It is being created.',
    running: 'It is running. Steady.',
    stopping: 'It is shutting down.',
    stopped: 'It is not running; its disk is kept. Steady.',
    starting: 'It is starting from its disk.',
    pausing: 'It is being saved with its memory.',
    paused: 'It is saved with its memory. Steady.',
    resuming: 'It is resuming where it was paused.',
    deleting: 'It is being deleted.',
    deleted: 'It is deleted. Steady.',
    error: 'It failed; `statusReason` says why. Steady.',
  } satisfies Record<VmStatus, string>,
)
/** The status that a VM should reach. */
export const desiredStatus = enumOf('VmDesiredStatus', 'The status that a VM should reach.', {
  running: 'It should run.',
  stopped: 'It should be stopped, with its disk kept.',
  paused: 'It should be saved with its memory.',
  deleted: 'It should be deleted.',
} satisfies Record<Vm['desiredStatus'], string>)

/** What becomes of a VM that nobody uses. */
export const idleAction = enumOf('IdleAction', 'What becomes of a VM that nobody uses for its idle time.', {
  pause: 'It is paused with its memory, and goes on where it was.',
  stop: 'It is stopped, and starts from its disk.',
} satisfies Record<IdleAction, string>)
