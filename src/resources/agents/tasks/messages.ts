/** What a session is told when it begins a task: put together then, so that it has everything said until that moment. */
import type { Tx } from '#src/platform/postgres.ts'
import { briefingOf } from '#src/resources/agents/groups/briefings.ts'
import { messageOfExchange } from '#src/resources/agents/peers/messages.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { Task, TaskKind } from './rows.ts'

/** The message of each kind of task; undefined when what it served is gone. */
const messages: Readonly<Record<TaskKind, (tx: Tx, task: Task) => Promise<NewEvent | undefined>>> = {
  group_run: briefingOf,
  peer_exchange: messageOfExchange,
}

/** The message that begins the task; undefined when what it served is gone. */
export async function messageOfTask(tx: Tx, task: Task): Promise<NewEvent | undefined> {
  return messages[task.kind](tx, task)
}
