/**
 * Token buckets, shared by all processes: the balance is a row in an unlogged table. So that a read does not cost a
 * write, a process takes a small share of a bucket at once and spends it by itself.
 */
import { performance } from 'node:perf_hooks'
import type { Caller } from './access.ts'
import { callerName } from './access/callers.ts'
import { createBoundedMap } from './caches/bounded-map.ts'
import { BerthError } from './errors.ts'
import { limits } from './limits.ts'
import { change, getOne, sql, type Db } from './postgres.ts'
import type { Row } from './postgres/rows.ts'

/** What is left of a bucket; the values of the RateLimit-* headers. */
export type Allowance = { limit: number; remaining: number; resetSeconds: number }

/** Spends from buckets. */
export type RateLimiter = {
  /**
   * Takes one token from a bucket that holds `perMinute` tokens and refills evenly.
   * @throws BerthError rate_limited with retryAfterSeconds when it is empty.
   */
  spend(bucket: string, perMinute: number): Allowance | Promise<Allowance>
}

/**
 * Counts a request against its organization's limit, or the caller's if they have no organization.
 * @param changes whether the request changes something: those have a lower limit of their own.
 * @throws BerthError rate_limited.
 */
export function spendRequest(limiter: RateLimiter, caller: Caller, changes: boolean): Allowance | Promise<Allowance> {
  const whose =
    (caller.kind === 'person' || caller.kind === 'key') && caller.organizationId
      ? caller.organizationId
      : callerName(caller)
  return changes
    ? limiter.spend(`create:${whose}`, limits.createsPerMinute)
    : limiter.spend(`other:${whose}`, limits.otherPerMinute)
}

/** Takes one token as RateLimiter.spend. @returns whether there was one. */
export async function trySpend(limiter: RateLimiter, bucket: string, perMinute: number): Promise<boolean> {
  try {
    await limiter.spend(bucket, perMinute)
    return true
  } catch (error) {
    if (error instanceof BerthError && error.code === 'rate_limited') return false
    throw error
  }
}

/** A process takes at most this part of a bucket at once, so that two processes share it fairly. */
const shareOfBucket = 0.05
const shareMsMax = 5_000
const heldBucketsMax = 20_000

type Share = { tokens: number; allowance: Allowance; untilMs: number; refilling: Promise<void> | null }

/**
 * Makes the process's limiter.
 * @param factor multiplies every limit; for a host that serves one team, or a benchmark.
 */
export function createRateLimiter(db: Db, factor: number): RateLimiter {
  const shares = createBoundedMap<string, Share>({ entriesMax: heldBucketsMax })

  async function refill(share: Share, bucket: string, perMinute: number): Promise<void> {
    const requested = Math.max(1, Math.floor(perMinute * shareOfBucket))
    const there = sql`least(${perMinute}, held.tokens + extract(epoch from now() - held.refilled_at) * ${perMinute / 60})`
    const granted = sql`greatest(0, least(${requested}, floor(${there})))` // a negative balance set by an operator stays negative
    const row = await getOne<Pick<Row<'rate_buckets'>, 'granted' | 'tokens'>>(
      db,
      sql`
      insert into rate_buckets as held (bucket, tokens, granted, refilled_at) values (${bucket}, ${perMinute - requested}, ${requested}, now())
      on conflict (bucket) do update set
        tokens = ${there} - ${granted}, granted = ${granted}, refilled_at = now()
      returning granted, tokens`,
    )
    share.tokens = row.granted
    share.untilMs = performance.now() + shareMsMax
    share.allowance.remaining = Math.max(0, Math.floor(row.tokens + row.granted))
  }

  function take(share: Share): Allowance {
    const { allowance } = share
    share.tokens -= 1
    allowance.remaining -= 1
    allowance.resetSeconds = Math.ceil(((allowance.limit - allowance.remaining) * 60) / allowance.limit)
    return allowance
  }

  function refuse({ allowance }: Share): never {
    const retryAfterSeconds = Math.max(1, Math.ceil(60 / allowance.limit))
    throw new BerthError(
      'rate_limited',
      `Too many requests: ${allowance.limit} a minute are allowed here. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds, allowance: { ...allowance, remaining: 0 } },
    )
  }

  async function spendAfterRefill(share: Share, bucket: string, perMinute: number): Promise<Allowance> {
    // All that wait for the same refill share it; when it is used up, one of them refills again. This ends, because every refill grants a token or refuses.
    for (;;) {
      share.refilling ??= refill(share, bucket, perMinute).finally(() => (share.refilling = null))
      const refilling = share.refilling
      await refilling
      if (share.tokens >= 1) return take(share)
      if (share.refilling === null && share.allowance.remaining < 1) refuse(share)
    }
  }

  return {
    spend(bucket, usualPerMinute) {
      const perMinute = usualPerMinute * factor
      let share = shares.get(bucket)
      if (share && share.tokens >= 1 && share.untilMs > performance.now()) return take(share)
      if (!share) {
        share = {
          tokens: 0,
          allowance: { limit: perMinute, remaining: 0, resetSeconds: 60 },
          untilMs: 0,
          refilling: null,
        }
        shares.set(bucket, share)
      }
      return spendAfterRefill(share, bucket, perMinute)
    },
  }
}

/** Deletes buckets that are full again. */
export async function forgetRateBuckets(db: Db): Promise<void> {
  await change(db, sql`delete from rate_buckets where refilled_at < now() - interval '1 hour'`)
}
