/** Tasks of sessions: what a group or a peer asks of one, from when it is queued until it is answered. */
import type { RawBuilder } from 'kysely'
import { BerthError } from '#src/platform/errors.ts'
import { findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { states, type States } from '#src/platform/states.ts'
import { taskLimits } from './limits.ts'

/** What gives tasks to sessions. A task has the id of the group run or the peer exchange that it serves. */
export type TaskKind = 'group_run' | 'peer_exchange'

/** `requires_action`: the agent waits for an approval or an answer of the user's. The last three are final. */
export type TaskStatus = 'queued' | 'running' | 'requires_action' | 'completed' | 'failed' | 'cancelled'

/** Why a task failed: a word for programs, and a sentence. */
export type TaskError = { type: string; message: string }

/** A task as it is stored; moments are wire text, ids are uuids. */
export type Task = Row<'session_tasks', { kind: TaskKind; status: TaskStatus; error: TaskError | null }>

/** Where each status may go. */
export const taskStates: States<TaskStatus> = states<TaskStatus>('session_tasks', 'task', {
  queued: ['running', 'failed', 'cancelled'],
  running: ['requires_action', 'completed', 'failed', 'cancelled'],
  requires_action: ['running', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
})

/** The notice that a session may begin its next task; the id is the session's. */
export const taskTopic = 'session_task'

/** The notice that a run's stream has new chunks, or is gone; the id is the task's. */
export const chunkTopic = 'task_chunks'

/** Whether a task has not ended. */
export function isOpen({ status }: Pick<Task, 'status'>): boolean {
  return status === 'queued' || isAtWork({ status })
}

/** Whether the session works on this task, or waits in the middle of it. */
export function isAtWork({ status }: Pick<Task, 'status'>): boolean {
  return status === 'running' || status === 'requires_action'
}

/** The task with this stored id, locked until the transaction ends. Lock its session first. */
export async function lockTask(tx: Tx, id: string): Promise<Task | undefined> {
  return findOne<Task>(tx, sql`select * from session_tasks where id = ${id} for no key update`)
}

/** The tasks of a session that have not ended, the one that it works on first, then in their order. */
export async function openTasksOf(db: Db, sessionId: string): Promise<Task[]> {
  return findAll<Task>(
    db,
    sql`
    select * from session_tasks where session_id = ${sessionId} and finished_at is null order by status = 'queued', id`,
  )
}

/** The task that the session works on. */
export async function findTaskAtWork(db: Db, sessionId: string): Promise<Task | undefined> {
  const [first] = await openTasksOf(db, sessionId)
  return first && isAtWork(first) ? first : undefined
}

/**
 * Queues a task, and tells workers, who begin it as soon as the session is idle; `beginNextTask` does so at once.
 * @param task `id`: that of what it serves, a UUIDv7: tasks of a session begin in the order of their ids.
 * @throws BerthError rate_limited when the session has too many open ones.
 */
export async function queueTask(
  tx: Tx,
  {
    id,
    kind,
    organizationId,
    ownerUserId,
    sessionId,
  }: Pick<Task, 'id' | 'kind' | 'organizationId' | 'ownerUserId' | 'sessionId'>,
): Promise<Task> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from session_tasks where session_id = ${sessionId} and finished_at is null`,
  )
  if (count >= taskLimits.openOfSessionMax)
    throw new BerthError(
      'rate_limited',
      `This session has ${count} tasks that wait for it, which is the limit. Try again when it has ended some, or stop one.`,
      { retryAfterSeconds: 5 },
    )
  const task = await getOne<Task>(
    tx,
    sql`
    insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, expires_at)
    values (${id}, ${kind}, ${organizationId}, ${ownerUserId}, ${sessionId}, 'queued', now() + ${taskLimits.openHours} * interval '1 hour') returning *`,
  )
  publish(tx, taskTopic, sessionId)
  return task
}

/** Deletes the tasks that match and have ended, with their streams: what they served is being deleted. */
export async function deleteTasks(tx: Tx, which: RawBuilder<unknown>): Promise<void> {
  const deleted = await findAll<{ id: string }>(
    tx,
    sql`delete from session_tasks where ${which} and finished_at is not null returning id`,
  )
  for (const { id } of deleted) publish(tx, chunkTopic, id)
}
