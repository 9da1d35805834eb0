/** Long work and subscribers wait up to a minute for Postgres while it restarts; then they get the error. */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from './log.ts'
import { isDatabaseAway } from './postgres.ts'

const patienceMs = 60_000
const retryMs = 250

/**
 * Retries idempotent work while the database is unreachable, for a minute or until the signal fires.
 * @throws what the work throws.
 */
export async function patiently<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  const deadlineMs = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > deadlineMs || signal?.aborted) throw error
      if (attempt === 1) log.warn('work in progress waits for the database')
      await pause(retryMs)
    }
  }
}
