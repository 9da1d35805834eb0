/** Begins the tasks of sessions that have come to rest, and cancels those whose time is over. */
import type { Background } from '#src/platform/services.ts'
import { cancelExpiredTasks, findDueSessions, tryNextTask } from '#src/resources/agents/tasks.ts'
import { taskLimits } from '#src/resources/agents/tasks/limits.ts'
import { taskTopic } from '#src/resources/agents/tasks/rows.ts'
import { removeEndedStreams } from '#src/resources/agents/tasks/streams.ts'
import { keepLookout } from './lookouts.ts'

/** Starts doing so, until the services are closed. A session is begun under its row's lock, so several workers do no harm. */
export function beginTasks(services: Background): void {
  keepLookout(services, {
    topic: taskTopic,
    everySeconds: taskLimits.lookSeconds,
    hear: (sessionId) => tryNextTask(services, sessionId),
    async look() {
      await cancelExpiredTasks(services)
      for (const sessionId of await findDueSessions(services)) await tryNextTask(services, sessionId)
      await removeEndedStreams(services.db) // last, because it may take a while
    },
    failure: 'a task of a session waits for the next look',
  })
}
