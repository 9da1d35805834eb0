/** At which step a VM is that is being created or started. */
import { limits } from '#src/platform/limits.ts'
import type { StartupStep, Vm } from './rows.ts'

/** How far a VM is. `placing`: a worker has not said anything yet. `attempt`: from 1. */
export type Startup = { step: StartupStep | 'placing'; attempt: number; attemptsMax: number; since: string }

/** How far a VM is; null unless it is being created or started. */
export function startupOf({ status, startupStep, startupAt, bootFailures, updatedAt }: Vm): Startup | null {
  if (status !== 'creating' && status !== 'starting') return null
  return {
    step: startupStep ?? 'placing',
    attempt: Math.min(bootFailures + 1, limits.bootTriesMax),
    attemptsMax: limits.bootTriesMax,
    since: startupAt ?? updatedAt,
  }
}
