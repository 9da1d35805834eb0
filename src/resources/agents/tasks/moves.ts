/** How tasks follow their session: whenever it comes to another status, in that transaction. */
import type { RawBuilder } from 'kysely'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { transition } from '#src/platform/states.ts'
import type { SessionMoved } from '#src/resources/agents/sessions/states.ts'
import { kindOf } from './kinds.ts'
import { taskLimits } from './limits.ts'
import {
  findTaskAtWork,
  isAtWork,
  openTasksOf,
  taskStates,
  taskTopic,
  type Task,
  type TaskError,
  type TaskStatus,
} from './rows.ts'
import { streamMove } from './streams.ts'

/** A move of a task. `error` goes with failed. */
type TaskMove = { to: TaskStatus; error?: TaskError }

/**
 * Moves the tasks of a session that came to another status, whose events are in its log already. The session's row is
 * locked.
 */
export async function followSessionMove(tx: Tx, { sessionId, to, stopReason }: SessionMoved): Promise<void> {
  const open = await openTasksOf(tx, sessionId)
  const [first] = open
  if (!first) return
  if (to === 'terminated') return endAll(tx, open, sessionOver)
  const atWork = isAtWork(first) ? first : undefined
  if (atWork) {
    const move = to === 'idle' ? await moveAtRest(tx, atWork, stopReason?.type) : ({ to: 'running' } as const)
    if (move.to !== atWork.status) await moveTask(tx, atWork, move)
  }
  if (to === 'idle' && stopReason?.type !== 'requires_action') publish(tx, taskTopic, sessionId)
}

/** Tells of a task that still requires action after some of it was answered. */
export async function followSessionWait(tx: Tx, sessionId: string): Promise<void> {
  const task = await findTaskAtWork(tx, sessionId)
  if (task) await kindOf(task).moved(tx, task)
}

/** Fails every open task of a session that is being deleted, or that has ended. */
export async function failTasksOf(tx: Tx, sessionId: string, because: 'deleted' | 'ended' = 'deleted'): Promise<void> {
  await endAll(tx, await openTasksOf(tx, sessionId), because === 'deleted' ? sessionDeleted : sessionOver)
}

/**
 * Moves a task, and tells of it.
 * @param set further assignments.
 * @returns undefined, having told nobody, when the move is not allowed.
 */
export async function moveTask(
  tx: Tx,
  { id, sessionId }: Pick<Task, 'id' | 'sessionId'>,
  { to, error }: TaskMove,
  set: RawBuilder<unknown> = sql`updated_at = now()`,
): Promise<Task | undefined> {
  const isEnd = taskStates.moves[to].length === 0
  const moved = await transition<Task, TaskStatus>(
    tx,
    taskStates,
    id,
    to,
    sql`${set}, error = ${error ? JSON.stringify(error) : null}::jsonb, finished_at = ${isEnd ? sql`now()` : sql`null`},
      answer = ${to === 'completed' ? textSince(sessionId) : sql`null`}`,
  )
  if (!moved) return undefined
  await streamMove(tx, moved)
  await kindOf(moved).moved(tx, moved)
  return moved
}

const sessionDeleted: TaskError = { type: 'session_deleted', message: 'The session was deleted.' }
const sessionOver: TaskError = { type: 'session_archived', message: 'The session has ended permanently.' }

async function endAll(tx: Tx, open: readonly Task[], error: TaskError): Promise<void> {
  for (const task of open) await moveTask(tx, task, { to: 'failed', error })
}

/** What becomes of a task whose session is idle. One that was interrupted by its user is cancelled, whatever it said. */
async function moveAtRest(tx: Tx, task: Task, reason: string | undefined): Promise<TaskMove> {
  if (reason === 'requires_action') return { to: 'requires_action' }
  if (reason === 'budget_reached')
    return { to: 'failed', error: { type: 'budget_reached', message: 'The session has reached its budget.' } }
  const { isInterrupted, fault } = (await findOne<{ isInterrupted: boolean; fault: TaskError | null }>(
    tx,
    sql`
    select exists (select from ${since(task)} and type = 'user.interrupt') as is_interrupted,
      (select data -> 'error' from ${since(task)} and type = 'session.error' order by position desc limit 1) as fault`,
  )) ?? { isInterrupted: false, fault: null }
  if (isInterrupted) return { to: 'cancelled' }
  if (reason === 'end_turn') return { to: 'completed' }
  const { type = 'unknown_error', message = 'The session could not continue.' } = fault ?? {}
  return { to: 'failed', error: { type, message } }
}

/** The events of the task's session since it began, as they stand behind `from`, with a condition to go on. */
function since({ sessionId, fromPosition }: Pick<Task, 'sessionId' | 'fromPosition'>): RawBuilder<unknown> {
  return sql`session_events where session_id = ${sessionId} and position > ${fromPosition}`
}

/** What the agent said while it worked on the task that is updated. */
function textSince(sessionId: string): RawBuilder<unknown> {
  return sql`left(coalesce((
    select string_agg(block ->> 'text', e'\n\n' order by event.position, place)
    from session_events event, json_array_elements(event.data -> 'content') with ordinality as parts (block, place)
    where event.session_id = ${sessionId}
      and event.position > session_tasks.from_position
      and event.type = 'agent.message'
      and block ->> 'type' = 'text'), ''), ${taskLimits.answerLength})`
}
