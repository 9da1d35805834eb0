/** Stopping the turns of sessions from outside: because their environment ends, or their owner has left. */
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { pendingOf } from '#src/resources/agents/sessions/pending-work.ts'
import { isAtWork, type Session } from '#src/resources/agents/sessions/rows.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { failed } from '#src/resources/agents/tools/results.ts'
import { readTurnLog } from './logs.ts'
import { endOfOpenSpan, errorEvent, resultEvent, type SessionErrorType } from './step-events.ts'

/**
 * Sessions that run in an environment whose VM is being torn down get `session.error` `environment_failed_error` and go
 * idle with `retries_exhausted`; their open calls get results, as always before a session becomes idle. Called with the
 * environment's row locked for update.
 */
export async function failSessionsOf(tx: Tx, environmentId: string): Promise<void> {
  const sessions = await findAll<Session>(
    tx,
    sql`select * from sessions where environment_id = ${environmentId} order by id for no key update`,
  )
  for (const { id } of sessions.filter(isAtWork))
    await breakOff(tx, id, 'environment_failed_error', 'The environment of this session was archived or deleted')
}

/**
 * Stops a running session: its open calls get results, and it becomes idle with `retries_exhausted`. The row must be
 * locked by this transaction.
 */
export async function breakOff(tx: Tx, id: string, type: SessionErrorType, because: string): Promise<void> {
  const log = await readTurnLog(tx, id)
  const answers = pendingOf(log).toolUses.map(({ event }) =>
    resultEvent(event, failed(`${because}; this call may have had some of its effect.`)),
  )
  const before = [...endOfOpenSpan(log), ...answers, errorEvent(type, `${because}.`, 'exhausted')]
  await moveSession(
    tx,
    id,
    { to: 'idle', stopReason: { type: 'retries_exhausted' }, before },
    sql`updated_at = now(), step_beat_at = null`,
  )
}
