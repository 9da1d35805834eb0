/** Who is told, in the same transaction, that a task came to another status. Told in SQL: nothing here moves a session. */
import type { Tx } from '#src/platform/postgres.ts'
import { followRunTask } from '#src/resources/agents/groups/conversation.ts'
import { tellOfExchange } from '#src/resources/agents/peers/told.ts'
import type { Task, TaskKind } from './rows.ts'

/** What follows from a new status of a task, of each kind. */
const told: Readonly<Record<TaskKind, (tx: Tx, task: Task) => Promise<void>>> = {
  group_run: followRunTask,
  peer_exchange: tellOfExchange,
}

/** Tells of the task's new status. */
export async function tellOfTask(tx: Tx, task: Task): Promise<void> {
  await told[task.kind](tx, task)
}
