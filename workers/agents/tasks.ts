/** Begins the tasks of sessions that have come to rest, and cancels those whose time is over. */
import { taskLimits } from '#src/platform/limits/tasks.ts'
import { log } from '#src/platform/log.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'
import { cancelExpiredTasks, findDueSessions, tryNextTask } from '#src/resources/agents/tasks.ts'
import { taskTopic } from '#src/resources/agents/tasks/rows.ts'

/** Starts doing so, until the services are closed. A session is begun under its row's lock, so several workers do no harm. */
export function beginTasks(services: Background): void {
  const underWay = new Set<Promise<void>>()
  let isOver = false
  const run = (work: () => Promise<void>): void => {
    if (isOver) return
    const one: Promise<void> = work()
      .catch((error: Error) => log.warn({ reason: error.message }, 'a task of a session waits for the next look'))
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }
  const look = async (): Promise<void> => {
    await cancelExpiredTasks(services)
    for (const sessionId of await findDueSessions(services.db)) await tryNextTask(services, sessionId)
  }
  services.pubsub.listen(taskTopic, (sessionId) =>
    run(sessionId === null ? look : () => tryNextTask(services, sessionId)),
  )
  const timer = setInterval(() => run(look), taskLimits.lookSeconds * 1000)
  run(look)
  beforeClose(services.db, async () => {
    isOver = true
    clearInterval(timer)
    await Promise.all(underWay)
  })
}
