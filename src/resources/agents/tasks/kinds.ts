/** What tasks are for: the nouns that they serve are above them, and say so in `src/resources/wiring.ts`. */
import type { Tx } from '#src/platform/postgres.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { Task, TaskKind } from './rows.ts'

/** What the noun that a kind of task serves does for it, in the transaction of the task. */
export type KindOfTask = {
  /**
   * What the session is told when it begins the task: put together then, so that it has everything said until that moment.
   * Undefined when what the task served is gone.
   */
  message: (tx: Tx, task: Task) => Promise<NewEvent | undefined>
  /** What follows from a new status of the task. Only SQL: nothing here moves a session. */
  moved: (tx: Tx, task: Task) => Promise<void>
}

let kinds: Readonly<Record<TaskKind, KindOfTask>> | undefined

/** Says what each kind of task is for: for `src/resources/wiring.ts` only. */
export function serveTasks(given: Readonly<Record<TaskKind, KindOfTask>>): void {
  kinds = given
}

/** What this task's kind does. @throws Error in a process that has not said what tasks are for. */
export function kindOf({ kind }: Pick<Task, 'kind'>): KindOfTask {
  if (!kinds) throw new Error("nobody serves tasks yet: import '#src/resources/wiring.ts' first")
  return kinds[kind]
}
