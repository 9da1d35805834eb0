/** What keeps an agent from being deleted: the work of its sessions. Deleting these is in deletion.ts. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { refuseSecretsToVmTokens } from './plans.ts'
import { isAtWork, type Session } from './rows.ts'

/**
 * Whether an agent has running work, which prevents its deletion: a session that is running or rescheduling, or that a
 * group or a peer waits for. Called with the agent's row locked for update, so no new session of it can be inserted; its
 * sessions' rows are locked here, so that none starts either.
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
 * Refuses to delete an agent that has running work, or sessions that are closed to the token inside a VM. Called as
 * hasActiveWork.
 * @throws BerthError work_active, forbidden.
 */
export async function refuseAgentAtWork(tx: Tx, scope: Scope, agentId: string): Promise<void> {
  if (await hasActiveWork(tx, agentId))
    throw new BerthError('work_active', 'This agent has sessions that are running. Stop them, then delete it.')
  await refuseSecretsToVmTokens(tx, scope, sql`agent_id = ${agentId}`) // which end with it, and are locked by now
}
