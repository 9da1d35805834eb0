/** Bounds how often an address may fail to log in to a database. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { limits } from '#src/platform/limits.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Asked } from '../directory.ts'
import { PostgresRefusal } from '../refusals.ts'

/** Failures by address and by what was asked for, in this process. */
export type FailedLogins = {
  /** @throws PostgresRefusal when the address has failed too often. */
  check(address: string, asked: Asked): void
  count(address: string, asked: Asked): void
}

const bucketsMax = 20_000
const minuteMs = 60_000

/** Starts to count. A bucket holds a minute's failures and refills evenly. */
export function countFailedLogins(perMinute: number = limits.postgresFailuresPerMinute): FailedLogins {
  const buckets = createBoundedMap<string, { failures: number; atMs: number }>({ entriesMax: bucketsMax })
  const left = (name: string): number => {
    const bucket = buckets.get(name)
    if (!bucket) return perMinute
    const forgiven = ((performance.now() - bucket.atMs) * perMinute) / minuteMs
    return perMinute - Math.max(0, bucket.failures - forgiven)
  }
  return {
    check(address, asked) {
      if (left(nameOf(address, asked)) < 1)
        throw new PostgresRefusal(
          'invalid_authorization_specification',
          'too many failed logins from this address: wait a minute, and check the password',
        )
    },
    count(address, asked) {
      const name = nameOf(address, asked)
      buckets.set(name, { failures: perMinute - left(name) + 1, atMs: performance.now() })
    },
  }
}

/** Short, because names may be long, and strangers choose them. */
function nameOf(address: string, { user, database, serverName }: Asked): string {
  return sha256(JSON.stringify([address, user, database, serverName])).toString('base64url')
}
