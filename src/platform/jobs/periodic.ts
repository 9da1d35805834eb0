/** Work of one process that is done again and again, at the moments of a cron expression with seconds. */
import { schedule, type ScheduledTask } from 'node-cron'
import { log } from '#src/platform/log.ts'

/** What node-cron says of moments that were missed, or left out because the work still ran. By itself it writes to the terminal, in colour. */
const cronLog = {
  info: (message: string) => log.debug(message),
  debug: (message: Error | string) => log.debug(String(message)),
  warn: (message: string) => log.debug({ reason: message }, 'a periodic task was left out once'),
  error: (message: Error | string) => log.warn({ reason: String(message) }, 'a periodic task failed'),
}

/** Does the work at each moment, unless that before is not over. A failure is logged, and the next moment tries again. @param doing what the log calls it. */
export function every(cron: string, doing: string, work: () => Promise<void>): ScheduledTask {
  const run = (): Promise<void> =>
    work().catch((error: Error) => log.warn({ reason: error.message }, `${doing} failed this time`))
  return schedule(cron, run, { noOverlap: true, logger: cronLog })
}
