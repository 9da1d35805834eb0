/** Deleting a session: it is interrupted first, and what was created for it alone is deleted with it. */
import { allow } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call, Services } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { discardEnvironment } from '#src/resources/agents/environments.ts'
import { noticeOrLater } from '#src/resources/agents/notices.ts'
import { notifyOfSession } from './webhook-events.ts'
import { stepJob } from './jobs.ts'
import { appendEvents, sessionTopic } from './log.ts'
import { readSessionToChange } from './plans.ts'
import { findSessionRow, isAtWork } from './rows.ts'

/** A session is deleted: its row is locked, and is still there. */
export const sessionDeleting = hook<[tx: Tx, sessionId: string]>('session deleting')

const lookAgainMs = 1_000

/**
 * Deletes a session with its log. A running one is interrupted and given 5 s to stop; a VM that was created for it
 * alone is deleted in any case. Subscribers get `session.deleted`.
 * @throws BerthError not_found, forbidden.
 */
export async function deleteSession(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'sessions:write')
  const { id } = await interrupt(call, publicId)
  await untilStopped(call, id)
  await transaction(call.db, async (tx) => {
    const { environmentId } = await readSessionToChange(tx, scope, publicId, sql`for update`)
    await removeSession(call, tx, { id, environmentId })
  })
}

/**
 * Removes a session's rows and its own environment, and notifies subscribers. The row must be locked by this
 * transaction.
 */
export async function removeSession(
  services: Services,
  tx: Tx,
  { id, environmentId }: { id: string; environmentId: string | null },
): Promise<void> {
  await sessionDeleting.run(tx, id)
  const deleted = await findOne<Pick<Row<'sessions'>, 'id' | 'organizationId'>>(
    tx,
    sql`delete from sessions where id = ${id} returning id, organization_id`,
  )
  if (deleted) await notifyOfSession(tx, deleted, 'session.deleted')
  if (environmentId) await discardEnvironment(services, tx, environmentId)
  publish(tx, sessionTopic, id)
}

async function interrupt(call: Call, publicId: string): Promise<{ id: string }> {
  const scope = allow(call.caller, 'sessions:write')
  return transaction(call.db, async (tx) => {
    const session = await readSessionToChange(tx, scope, publicId)
    if (!isAtWork(session)) return session
    await appendEvents(tx, session.id, [{ type: 'user.interrupt' }])
    await call.jobs.enqueue(tx, stepJob, { sessionId: session.id })
    return session
  })
}

async function untilStopped({ db, pubsub }: Call, id: string): Promise<void> {
  const left = AbortSignal.timeout(limits.interruptSeconds * 1000)
  const heardOrLater = noticeOrLater(pubsub.subscribe(sessionTopic, id, left), lookAgainMs)
  while (!left.aborted) {
    const session = await findSessionRow(db, id)
    if (!session || !isAtWork(session)) return
    await heardOrLater()
  }
}

/**
 * Removes the idle sessions of an agent that is being deleted, and notifies their subscribers. Their rows are locked by
 * hasActiveWork.
 */
export async function endWorkOf(services: Services, tx: Tx, agentId: string): Promise<void> {
  const sessions = await findAll<Pick<Row<'sessions'>, 'id' | 'environmentId'>>(
    tx,
    sql`select id, environment_id from sessions where agent_id = ${agentId} order by id`,
  )
  for (const session of sessions) await removeSession(services, tx, session)
}
