/** Shares the places for long work on a node, so that one organization does not take all of them for hours. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Job } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'

/** What waits for its turn is looked at again after so long: the longer it has waited, the less often. */
const againSecondsMin = 3
const againSecondsMax = 60
const waitPart = 0.1
const waitingMax = 20_000

/** Since when something waits, and when its job is back at the earliest: both as `performance.now()`. */
type Waiting = { sinceMs: number; backMs: number }

/** A piece of work: its id, whose it is, and the data of its job. */
export type Share<Data> = { id: string; organizationId: string; data: Data }

/**
 * Makes a function that does a piece of work of this kind, or puts its job back when the organization has its share.
 * @param most how many of one organization are done at once.
 */
export function createShares<Data extends object>(
  { db, jobs }: Pick<Background, 'db' | 'jobs'>,
  kind: Job<Data>,
  most: number,
): (share: Share<Data>, run: () => Promise<void>) => Promise<void> {
  const running = new Map<string, number>()
  const waiting = createBoundedMap<string, Waiting>({ entriesMax: waitingMax })
  return async ({ id, organizationId, data }, run) => {
    const count = running.get(organizationId) ?? 0
    if (count >= most) {
      const nowMs = performance.now() // before the job is stored, so that it never comes back before `backMs`
      const before = waiting.get(id)
      if (before && nowMs < before.backMs) return // another job for it is on its way back
      const isNew = !before || nowMs > before.backMs + againSecondsMax * 1000
      const sinceMs = isNew ? nowMs : before.sinceMs
      const waitedSeconds = (nowMs - sinceMs) / 1000
      const againSeconds = Math.round(Math.min(againSecondsMax, Math.max(againSecondsMin, waitedSeconds * waitPart)))
      await transaction(db, (tx) => jobs.enqueue(tx, kind, data, { startAfterSeconds: againSeconds }))
      waiting.set(id, { sinceMs, backMs: nowMs + againSeconds * 1000 })
      return
    }
    waiting.delete(id)
    running.set(organizationId, count + 1)
    try {
      await run()
    } finally {
      const left = (running.get(organizationId) ?? 1) - 1
      if (left > 0) running.set(organizationId, left)
      else running.delete(organizationId)
    }
  }
}
