/**
 * What agents and environments need to know about the sessions that use them. Deleting an agent's sessions is in
 * deletion.ts.
 */
import { findAll, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { pendingOf } from '#src/resources/agents/sessions/pending-work.ts'
import {
  endOfOpenSpan,
  errorEvent,
  resultEvent,
  type SessionErrorType,
} from '#src/resources/agents/turns/step-events.ts'
import { isAtWork, waitsForPeer, type Session } from '#src/resources/agents/sessions/rows.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { failed } from '#src/resources/agents/tools/results.ts'
import { readTurnLog } from '#src/resources/agents/turns/logs.ts'

/**
 * Whether an agent has running work, which prevents its deletion: a session that is running or rescheduling, or that a
 * group or a peer waits for. Called
 * with the agent's row locked for update, so no new session of it can be inserted; its sessions' rows are locked here,
 * so that none starts either.
 */
export async function hasActiveWork(tx: Tx, agentId: string): Promise<boolean> {
  const sessions = await findAll<Pick<Session, 'status'> & { isAwaited: boolean }>(
    tx,
    sql`
    select status, exists (select from session_tasks t where t.session_id = sessions.id and t.finished_at is null) as is_awaited
    from sessions where agent_id = ${agentId} order by id for no key update`,
  )
  return sessions.some((session) => session.isAwaited || isAtWork(session))
}

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

/** Whether a session is running in this environment, and not waiting for another agent: then it is not stopped as idle. */
export async function isEnvironmentInUse(tx: Tx, environmentId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`select 1 from sessions where environment_id = ${environmentId} and status in ('running', 'rescheduling') and not ${waitsForPeer} limit 1`,
    )) !== undefined
  )
}
