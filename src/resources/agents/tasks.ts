/** Beginning and stopping the tasks of sessions. Whoever does either locks the session before anything of the task's. */
import type { RawBuilder } from 'kysely'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { findAll, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background, Services } from '#src/platform/services.ts'
import { interruptSession } from './session-events.ts'
import { stepJob } from './sessions/jobs.ts'
import { checkAtWork, hasRoom, lockSession, type Session } from './sessions/rows.ts'
import { maskedEvents, stepMasker } from './sessions/secrets.ts'
import { moveSession } from './sessions/states.ts'
import { kindOf } from './tasks/kinds.ts'
import { taskLimits } from './tasks/limits.ts'
import { failTasksOf, moveTask } from './tasks/moves.ts'
import { isAtWork, isOpen, lockTask, openTasksOf, type Task } from './tasks/rows.ts'

/** What beginning a task needs of a process. */
export type TaskServices = Pick<Services, 'config' | 'jobs' | 'sealer'>

/**
 * Begins the next task of a session, if it is idle with nothing left open; otherwise it is begun when it comes to rest. One
 * whose group or exchange is gone is cancelled; those of a session that is gone or has ended fail.
 * @throws BerthError rate_limited when the organization has as many running sessions as it may; the task stays queued.
 */
export async function beginNextTask(services: TaskServices, tx: Tx, sessionId: string): Promise<Task | undefined> {
  const session = await lockSession(tx, sessionId)
  if (!session || session.status === 'terminated') await failTasksOf(tx, sessionId, session ? 'ended' : 'deleted')
  if (!session || !isAtRest(session)) return undefined
  for (const task of await openTasksOf(tx, sessionId)) {
    if (isAtWork(task)) return undefined
    await checkAtWork(services.config, tx, session.organizationId)
    const message = await kindOf(task).message(tx, task)
    if (message) return begin(services, tx, session, task, message)
    await moveTask(tx, task, { to: 'cancelled' })
  }
  return undefined
}

async function begin(
  { jobs, sealer }: TaskServices,
  tx: Tx,
  session: Session,
  task: Task,
  message: Parameters<typeof maskedEvents>[1][number],
): Promise<Task | undefined> {
  const before = await maskedEvents(await stepMasker({ db: tx, sealer }, session), [message])
  const begun = await moveTask(
    tx,
    task,
    { to: 'running' },
    sql`updated_at = now(), started_at = now(), from_position = ${session.eventPosition}`,
  )
  const moved = await moveSession(tx, session.id, { to: 'running', before })
  if (!moved || !begun) throw new Error('an idle session that is locked could not begin a task')
  await jobs.enqueue(tx, stepJob, { sessionId: session.id })
  return begun
}

function isAtRest({ status, stopReason }: Session): boolean {
  return status === 'idle' && stopReason?.type !== 'requires_action'
}

/**
 * Cancels a task: one that is at work is interrupted. One that has ended stays as it is.
 * @returns the task as it is then; undefined when there is none.
 */
export async function stopTask(
  services: TaskServices,
  tx: Tx,
  { id, sessionId }: Pick<Task, 'id' | 'sessionId'>,
): Promise<Task | undefined> {
  const session = await lockSession(tx, sessionId)
  const task = await lockTask(tx, id)
  if (!task || !isOpen(task)) return task
  const stopped = await moveTask(tx, task, { to: 'cancelled' })
  if (session && isAtWork(task)) await interruptSession(services, tx, session)
  return stopped
}

/**
 * Sessions that could begin a task, because their notice was lost or their organization had no room before. Those of one
 * organization do not displace another's: each organization with room has its turn before any has a second one. Of one with
 * very many queued tasks a look sees some, beginning anywhere, so that a later one sees others.
 */
export async function findDueSessions({ db, config }: Pick<Background, 'db' | 'config'>): Promise<string[]> {
  const place = newUuid().slice(-12) // among those of an organization, as in the index session_tasks_queued
  const queuedOf = (where: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`
      (select session_id
      from session_tasks
      where status = 'queued' and organization_id = o.id and right(id::text, 12) ${where}
      order by organization_id, right(id::text, 12)
      limit ${taskLimits.seenAtOnce})`
  const due = await findAll<{ sessionId: string }>(
    db,
    sql`
    with recursive organization (id) as (
      (select organization_id from session_tasks where status = 'queued' order by organization_id, right(id::text, 12) limit 1)
      union all
      select (select organization_id
        from session_tasks
        where status = 'queued' and organization_id > o.id
        order by organization_id, right(id::text, 12)
        limit 1)
      from organization o where o.id is not null),
    waiting as (
      select distinct o.id as organization_id, t.session_id, s.status is distinct from 'idle' as is_over
      from organization o
      cross join lateral (select * from (${queuedOf(sql`>= ${place}`)} union all ${queuedOf(sql`< ${place}`)}) queued limit ${taskLimits.seenAtOnce}) t
      left join lateral (select id, status, stop_reason from sessions where id = t.session_id limit 1) s on true
      where s.id is null or s.status = 'terminated' or s.status = 'idle' and coalesce(s.stop_reason ->> 'type', '') <> 'requires_action'),
    roomy as (select organization_id from (select distinct organization_id from waiting) o where ${hasRoom(config, sql`o.organization_id`)}),
    ordered as (
      select session_id, row_number() over (partition by organization_id order by random()) as turn from waiting
      where is_over or organization_id in (select organization_id from roomy))
    select session_id from ordered order by turn, random() limit ${taskLimits.atOnce}`,
  )
  return due.map(({ sessionId }) => sessionId)
}

/** Begins the next task of a session; it waits on when the organization has as many running sessions as it may. */
export async function beginIfRoom(services: TaskServices, tx: Tx, sessionId: string): Promise<void> {
  try {
    await beginNextTask(services, tx, sessionId)
  } catch (error) {
    if (!(error instanceof BerthError && error.code === 'rate_limited')) throw error
  }
}

/** The same in a transaction of its own. */
export async function tryNextTask(services: Background, sessionId: string): Promise<void> {
  await transaction(services.db, (tx) => beginIfRoom(services, tx, sessionId))
}

/** Cancels tasks. One that cannot be cancelled now keeps no other from it, and is to be looked for again. */
export async function stopEach(services: Background, tasks: readonly Pick<Task, 'id' | 'sessionId'>[]): Promise<void> {
  for (const task of tasks)
    await transaction(services.db, (tx) => stopTask(services, tx, task)).catch((error: Error) =>
      log.warn({ reason: error.message }, 'a task is cancelled later'),
    )
}

/** Cancels the tasks that have not ended in their time. */
export async function cancelExpiredTasks(services: Background): Promise<void> {
  const expired = await findAll<Pick<Task, 'id' | 'sessionId'>>(
    services.db,
    sql`select id, session_id from session_tasks where finished_at is null and expires_at < now() order by random() limit ${taskLimits.atOnce}`,
  )
  await stopEach(services, expired)
}
