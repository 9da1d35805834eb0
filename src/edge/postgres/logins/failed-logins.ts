/**
 * Slows down whoever fails to log in to a database again and again. A right password is let in at all times: behind one address
 * there may be many people, and tokens are too long to be guessed.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { limits } from '#src/platform/limits.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Asked } from '../directory.ts'

/** Failures by address and by what was asked for, in this process. */
export type FailedLogins = {
  /**
   * Counts a failed login, and resolves when its client may be told: at once, or some seconds later where it was one of too many.
   * @returns whether it was.
   */
  failed(address: string, asked: Asked): Promise<boolean>
}

const bucketsMax = 20_000
const minuteMs = 60_000
/** Each failure beyond those of a minute waits so much longer for its answer, up to the most that is below the time for a login. */
const stepMs = 500
const longestMs = 10_000
/** So many of one address wait at a time; for more, there is an answer at once. */
const waitingMax = 32

/** Starts to count. A bucket holds a minute's failures, and those that wait, and refills evenly. */
export function countFailedLogins(perMinute: number = limits.postgresFailuresPerMinute): FailedLogins {
  const buckets = createBoundedMap<string, { failures: number; atMs: number }>({ entriesMax: bucketsMax })
  const waiting = new Map<string, number>()
  const beyondMost = longestMs / stepMs

  /** Counts one more. @returns how many are beyond those of a minute */
  function count(name: string): number {
    const nowMs = performance.now()
    const { failures, atMs } = buckets.get(name) ?? { failures: 0, atMs: nowMs }
    const now = Math.max(0, failures - ((nowMs - atMs) * perMinute) / minuteMs) + 1
    buckets.set(name, { failures: Math.min(now, perMinute + beyondMost), atMs: nowMs })
    return Math.min(now - perMinute, beyondMost)
  }

  return {
    async failed(address, asked) {
      const beyond = count(nameOf(address, asked))
      if (beyond <= 0) return false
      const others = waiting.get(address) ?? 0
      if (others >= waitingMax) return true
      waiting.set(address, others + 1)
      await pause(Math.ceil(beyond) * stepMs, undefined, { ref: false })
      const left = (waiting.get(address) ?? 1) - 1
      if (left > 0) waiting.set(address, left)
      else waiting.delete(address)
      return true
    },
  }
}

/** Short, because names may be long, and strangers choose them. */
function nameOf(address: string, { user, database, serverName }: Asked): string {
  return sha256(JSON.stringify([address, user, database, serverName])).toString('base64url')
}
