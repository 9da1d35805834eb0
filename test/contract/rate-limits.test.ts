/** Rate limits: an organization's minute, shared by its people, its surfaces and all processes; headers that tell; refill. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { createRateLimiter, type RateLimiter } from '#src/platform/rate-limits.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { makeCallers, makeRefusingNode, type Callers } from './callers.ts'
import { startSecondProcess, type SecondProcess } from './second-process.ts'

let berth: Berth
let second: SecondProcess
let callers: Callers
beforeAll(async () => {
  berth = await startBerth()
  second = await startSecondProcess(berth)
  callers = await makeCallers(berth)
})
afterAll(async () => {
  await second.stop()
  await berth.stop()
})

/** Tries until refused, with so many at once; how many were let through. A minute's refill while it runs is counted too. */
async function spendAll(limiters: readonly RateLimiter[], bucket: string, perMinute: number): Promise<number> {
  let passed = 0
  await Promise.all(
    limiters.map(async (limiter) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: perMinute * 2 }, async () => limiter.spend(bucket, perMinute)),
      )
      passed += outcomes.filter((one) => one.status === 'fulfilled').length
      for (const one of outcomes) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(BerthError)
    }),
  )
  return passed
}

async function age(bucket: string, seconds: number): Promise<void> {
  await berth.services.database.pool.query(
    "update rate_buckets set refilled_at = refilled_at - $2 * interval '1 second' where bucket = $1",
    [bucket, seconds],
  )
}

describe('a bucket', () => {
  const fresh = (): RateLimiter => createRateLimiter(berth.services.db, 1)

  test('gives what it has and no more, also to concurrent requests', async () => {
    const from = performance.now()
    const passed = await spendAll([fresh()], 'test:one', 60)
    expect(passed).toBeGreaterThanOrEqual(60)
    expect(passed).toBeLessThanOrEqual(60 + Math.ceil((performance.now() - from) / 1000)) // one comes back each second
  })

  test('is shared by processes: together they get what it has', async () => {
    const from = performance.now()
    const passed = await spendAll([fresh(), fresh(), fresh()], 'test:three', 60)
    expect(passed).toBeGreaterThanOrEqual(60 - 2) // a process may keep the rest of a share of three
    expect(passed).toBeLessThanOrEqual(60 + Math.ceil((performance.now() - from) / 1000))
  })

  test('refills evenly, and never beyond its size', async () => {
    const limiter = fresh()
    const from = performance.now()
    const more = (): number => Math.ceil((performance.now() - from) / 1000)
    await spendAll([limiter], 'test:refill', 60)
    await age('test:refill', 30)
    const half = await spendAll([limiter], 'test:refill', 60)
    expect(half).toBeGreaterThanOrEqual(30)
    expect(half).toBeLessThanOrEqual(31 + more())
    await age('test:refill', 3600)
    expect(await spendAll([limiter], 'test:refill', 60)).toBeLessThanOrEqual(60 + more())
  })

  test('of one a minute works too', async () => {
    const limiter = fresh()
    expect(await spendAll([limiter], 'test:slow', 1)).toBe(1)
    await age('test:slow', 61)
    expect(await spendAll([limiter], 'test:slow', 1)).toBe(1)
  })

  test('multiplies by the operator’s factor', async () => {
    expect(await spendAll([createRateLimiter(berth.services.db, 3)], 'test:factor', 20)).toBe(40) // all forty that ask; sixty would pass
    expect((await Promise.resolve(createRateLimiter(berth.services.db, 3).spend('test:factor2', 20))).limit).toBe(60)
  })
})

describe('an organization', () => {
  beforeEach(async () => {
    await berth.services.database.pool.query('delete from rate_buckets')
  })
  const list = async (token: string | undefined, url = berth.url): Promise<Response> =>
    fetch(`${url}/api/v1/vms`, { headers: { authorization: `Bearer ${token}` } })
  const left = (answer: Response): number => Number(answer.headers.get('ratelimit-remaining'))

  test('sees its limit, the rest and the reset time on every answer, also on refusals', async () => {
    const first = await list(callers.stranger)
    expect(first.headers.get('ratelimit-limit')).toBe(String(limits.otherPerMinute))
    const next = await list(callers.stranger)
    expect(left(next)).toBe(left(first) - 1)
    expect(Number(next.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1)
    const absent = await fetch(`${berth.url}/api/v1/vms/vm_x`, {
      headers: { authorization: `Bearer ${callers.stranger}` },
    })
    expect([absent.status, left(absent)]).toEqual([404, left(next) - 1])
  })

  test.each([
    ['is no JSON', '{', 400],
    ['is too large', ' '.repeat(limits.infraBodyBytes + 1), 413],
  ])('sees them, and has a request less, after one whose body %s', async (_, body, status) => {
    const post = async (sent: string): Promise<Response> =>
      fetch(`${berth.url}/api/v1/vms`, {
        method: 'POST',
        headers: { authorization: `Bearer ${callers.stranger}`, 'content-type': 'application/json' },
        body: sent,
      })
    const first = await post('[]')
    const refused = await post(body)
    expect([refused.status, left(refused)]).toEqual([status, left(first) - 1])
  })

  test('has one limit for all its people, keys and processes; when it is used up all of them wait, and no other organization does', async () => {
    let [passed, refused] = [0, 0]
    const from = performance.now()
    const askers = [
      [callers.owner, berth.url],
      [callers.member, berth.url],
      [callers.keyWith, second.url],
      [callers.viewer, second.url],
    ] as const
    for (let round = 0; round < limits.otherPerMinute && refused === 0; round += 20) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const [token, url] = askers[index % 4]!
          return list(token, url)
        }),
      )
      for (const { status } of answers) {
        if (status === 200) passed++
        else refused++
      }
    }
    const cameBack = Math.ceil(((performance.now() - from) / 60_000) * limits.otherPerMinute)
    expect(passed).toBeLessThanOrEqual(limits.otherPerMinute + cameBack + 1)
    expect(passed).toBeGreaterThan(limits.otherPerMinute - 60)
    await berth.services.database.pool.query('update rate_buckets set tokens = -1000000') // so far in debt that none comes back while we look
    // Whoever still holds a share uses it up first.
    for (const [token, url] of askers) {
      let answer = await list(token, url)
      for (let again = 0; again < 60 && answer.status === 200; again++) answer = await list(token, url)
      expect(answer.status).toBe(429)
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect([answer.headers.get('ratelimit-limit'), left(answer)]).toEqual([String(limits.otherPerMinute), 0])
      expect(await answer.json()).toMatchObject({
        error: 'rate_limited',
        message: expect.stringContaining('Try again in'),
      })
    }
    expect((await berth.ask('{ viewer { role } }', { token: callers.owner })).body.errors?.[0]?.extensions.code).toBe(
      'RATE_LIMITED',
    ) // the same minute for GraphQL
    expect((await list(callers.stranger)).status).toBe(200)
  })

  test('has a separate limit for creating things', async () => {
    const made = await berth.call('POST', '/api/v1/vms', { token: callers.stranger, body: {} })
    expect(made.headers.get('ratelimit-limit')).toBe(String(limits.createsPerMinute))
  })
})

describe('the narrower limits', () => {
  const refused = async (
    bucket: string,
    act: () => Promise<{ status: number; body: Record<string, unknown> }>,
  ): Promise<void> => {
    const before = await act()
    expect(before.status).not.toBe(429)
    await berth.services.database.pool.query('update rate_buckets set tokens = -1000000 where bucket like $1', [
      `${bucket}%`,
    ])
    let after = await act()
    for (let again = 0; again < 40 && after.status !== 429; again++) after = await act()
    expect(after).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
  }

  test('apply to a VM’s lifecycle, sandboxes and commands separately', async () => {
    const node = await makeRefusingNode(berth)
    const token = await berth.token('nadia', 'narrow', 'owner')
    const vm = await makeVmRow(berth.services.db, token, node)
    await refused('sandbox:', () => berth.call('POST', '/api/v1/vms/sandbox', { token, body: { command: 'true' } }))
    await refused('exec:', () =>
      berth.call('POST', `/api/v1/vms/${vm}/envd/exec`, { token, body: { command: 'true' } }),
    )
    await refused('vm-lifecycle:', () => berth.call('DELETE', `/api/v1/vms/${vm}`, { token }))
    expect((await berth.call('GET', `/api/v1/vms/${vm}`, { token })).status).toBe(200)
  })
})

test('a refused credential gets 401 however often, on every documented path, because 401 makes a client renew it', async () => {
  for (const path of ['/api/v1/vms', '/agents/v1/agents', '/llm/v1/models']) {
    const answers = await Promise.all(
      Array.from({ length: limits.anonymousPerMinute + 10 }, () =>
        berth.call('GET', path, { token: 'svc_live_ak_garbage' }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status)), path).toEqual(new Set([401]))
  }
})
