/** Long work and those who follow something wait for Postgres while it restarts: a minute, then they are told. */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from './log.ts'
import { isDatabaseAway } from './postgres.ts'

const patienceMs = 60_000
const retryMs = 250

/**
 * Runs something that may be run twice, again and again while the database is away, for a minute or until the signal.
 * @throws what it throws.
 */
export async function patiently<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  const deadlineMs = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > deadlineMs || signal?.aborted) throw error
      if (attempt === 1) log.warn('something that is under way waits for the database')
      await pause(retryMs)
    }
  }
}
