/** Lets handlers of several kinds of jobs take turns at a database. */
import { inTurns } from '../turns.ts'

/** Work on one database, by its stored id. */
type Work = (databaseId: string) => Promise<void>

/** Makes a handler of work as `inTurns` does. Beside it no other work runs that was made a handler by the same turns. */
export type DatabaseTurns = (work: Work) => Work

/** Makes turns for the handlers of a node. What fails stays due: the job that ran it comes back, and runs it again. */
export function createDatabaseTurns(): DatabaseTurns {
  const dueOf = new Map<string, Set<Work>>()
  const run = inTurns(async (databaseId) => {
    const due = dueOf.get(databaseId)
    if (!due) return
    for (const work of due) {
      due.delete(work) // a job that comes meanwhile makes it due again
      try {
        await work(databaseId)
      } catch (error) {
        due.add(work)
        throw error
      }
    }
    dueOf.delete(databaseId)
  })
  return (work) => (databaseId) => {
    const due = dueOf.get(databaseId) ?? new Set()
    dueOf.set(databaseId, due.add(work))
    return run(databaseId)
  }
}
