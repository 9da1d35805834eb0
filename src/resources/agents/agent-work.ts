/**
 * What agents and environments must know of the sessions that use them. Sessions are not built yet: these four
 * functions are the only places to fill in, and nothing else here has to change for them.
 */
import type { Tx } from '#src/platform/postgres.ts'

/**
 * Whether an agent has work that forbids its deletion (decisions.md §5): a session that is running or rescheduling, a
 * group run that is not over, a fire or a schedule's run that is queued. Called with the agent's row locked for
 * update, so no new session of it can be inserted; lock its sessions' rows before looking, so that none starts either.
 */
export async function hasActiveWork(_tx: Tx, _agentId: string): Promise<boolean> {
  return false
}

/**
 * What must happen to an agent's idle sessions before their rows go with the agent's by cascade: the environments that
 * were made for one run are discarded (discardEnvironment), and `session.deleted` is told to whoever follows.
 */
export async function endWorkOf(_tx: Tx, _agentId: string): Promise<void> {
  // There are no sessions yet.
}

/**
 * Sessions that run in an environment whose VM is being torn down get `session.error` `environment_failed_error` and go
 * idle with `retries_exhausted` (decisions.md §5). Called with the environment's row locked for update.
 */
export async function failSessionsOf(_tx: Tx, _environmentId: string): Promise<void> {
  // There are no sessions yet.
}

/** Whether a session is running in this environment right now: such a one is not stopped for being idle. */
export async function isEnvironmentInUse(_tx: Tx, _environmentId: string): Promise<boolean> {
  return false
}
