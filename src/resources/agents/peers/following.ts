/** What becomes of an exchange when the task of its responder comes to another status, in that transaction. Only SQL. */
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Task, TaskStatus } from '#src/resources/agents/tasks/rows.ts'
import { moveExchange, type PeerError, type PeerState } from './rows.ts'

const statesOf: Readonly<Record<TaskStatus, PeerState>> = {
  queued: 'submitted',
  running: 'working',
  requires_action: 'input_required',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The error of an exchange with a session that the token inside a VM uses. */
export const usedByVm: PeerError = {
  type: 'permission_error',
  message: 'That session was used with the token inside a VM, so it neither asks other sessions nor is asked by them.',
}

/** Moves the exchange of a task. */
export async function followExchangeTask(tx: Tx, task: Task): Promise<void> {
  if (task.status === 'completed' && (await isUsedByVm(tx, task.sessionId))) return end(tx, task, 'failed', usedByVm)
  if (task.status === 'failed' && task.startedAt === null) return end(tx, task, 'rejected', task.error)
  return end(tx, task, statesOf[task.status], task.error)
}

async function end(tx: Tx, { id, answer }: Task, to: PeerState, error: PeerError | null): Promise<void> {
  await moveExchange(
    tx,
    id,
    to,
    sql`answer = ${to === 'completed' ? (answer ?? '') : null}, error = ${error && JSON.stringify(error)}::jsonb`,
  )
}

/** Whether the token inside a VM uses the session: then it can tell the agent what to answer. */
async function isUsedByVm(tx: Tx, sessionId: string): Promise<boolean> {
  return (await findOne(tx, sql`select 1 from sessions where id = ${sessionId} and used_by_vm`)) !== undefined
}
