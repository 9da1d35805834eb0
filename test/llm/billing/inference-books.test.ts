/** Money adds up to the last nano-USD: with several processes at once, after kills, and whatever is open meanwhile. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import { startCommand } from '../../support/command.ts'
import { until } from '../../support/until.ts'
import { order, output } from './inference-orders.ts'
import {
  balancedBooks,
  endSilent,
  readBooks,
  startWorld,
  type InferenceProcess,
  type InferenceWorld,
} from './inference-world.ts'

let world: InferenceWorld
let second: InferenceProcess
beforeAll(async () => {
  world = await startWorld()
  second = await world.start()
})
afterAll(() => world.stop())

type Row = { status: string; costNanoUsd: number; outputTokens: number; settledPosition: number | null }
const rowOf = (id: string): Promise<Row | undefined> =>
  findOne<Row>(
    world.db,
    sql`select status, cost_nano_usd, output_tokens, settled_position from inference_requests where id = ${id}`,
  )

const outcomes = ['completed', 'cut_by_client', 'cut_by_upstream', 'failed'] as const
const oneRequest = fc.record({
  process: fc.nat(2),
  organization: fc.nat(1),
  maxNanoUsd: fc.integer({ min: 0, max: 5_000 }),
  tokens: fc.nat(800),
  seen: fc.option(fc.nat(400)),
  outcome: fc.constantFrom(...outcomes),
  waits: fc.nat(3),
})

describe('the books', () => {
  it('add up with three processes, two organizations, random requests at once, and a process that stops', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(oneRequest, { minLength: 1, maxLength: 60 }), async (requests) => {
        const payers = [await world.organization(0.00005), await world.organization(0.001)]
        const third = await world.start()
        const processes = [world.first, second, third]
        const spent = [0, 0]
        let excess = 0
        await Promise.all(
          requests.map(async ({ process, organization, maxNanoUsd, tokens, seen, outcome, waits }) => {
            for (let turn = 0; turn < waits; turn++) await new Promise((resolve) => setImmediate(resolve))
            const opened = await Promise.resolve(
              processes[process]!.inference.open(order(payers[organization]!, maxNanoUsd)),
            ).catch((error: { code: string }) => {
              expect(error.code).toBe('insufficient_credits')
              return null
            })
            if (!opened) return
            if (seen !== null) opened.progress('up', () => output(seen))
            if (maxNanoUsd > 0) {
              spent[organization]! += tokens * 10
              excess += Math.max(0, tokens * 10 - maxNanoUsd)
            }
            await opened.finish(outcome, 'up', output(tokens))
          }),
        )
        await third.stop()
        for (const [at, payer] of payers.entries()) {
          const books = await balancedBooks(world.db, payer.organizationId)
          expect(books.spent).toBe(spent[at])
          expect(books.spent).toBeLessThanOrEqual(books.granted + excess)
        }
        const left = await findAll(
          world.db,
          sql`select process_id from credit_leases where process_id not in (select id from inference_processes)`,
        )
        expect(left, 'the one that stopped holds nothing').toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  it('have a running request as open after a quarter of a second, and its usage soon after', async () => {
    const payer = await world.organization(1)
    const request = await world.first.inference.open(order(payer, 100_000))
    request.progress('up', () => output(3))
    await until('it is open', async () => (await rowOf(request.id))?.status === 'open', 2_000)
    expect(await rowOf(request.id)).toEqual({ status: 'open', costNanoUsd: 30, outputTokens: 3, settledPosition: null })
    request.progress('up', () => output(50))
    await until('what it used is written', async () => (await rowOf(request.id))?.outputTokens === 50, 2_000)
    expect((await balancedBooks(world.db, payer.organizationId)).open).toBe(1)
    await request.finish('cut_by_upstream', 'up', output(40)) // the provider's own count may be lower than what was estimated
    expect(await rowOf(request.id)).toEqual({
      status: 'cut_by_upstream',
      costNanoUsd: 400,
      outputTokens: 40,
      settledPosition: 1,
    })
    expect((await balancedBooks(world.db, payer.organizationId)).requests).toBe(1)
    expect(await world.first.inference.open(order(payer, 1e9 - 400)), 'nothing of it is still set aside').toBeTruthy()
  })

  it('lose a second at most when a process is killed: acknowledged writes are there, open requests are marked as lost and counted', async () => {
    const payer = await world.organization(1)
    const child = startCommand(['test/llm/billing/inference-child.ts', world.url, world.dataDir, payer.organizationId])
    const [paid, free] = await Promise.all(
      [0, 1].map(async (at) => (await child.line(new RegExp(`^open ${at} `))).split(' ')[2] ?? ''),
    )
    await until('what it has open is written', async () => ((await rowOf(paid!))?.outputTokens ?? 0) > 20)
    child.child.kill('SIGKILL')
    await child.ended
    const but = await idOf(world.first)
    await until('what it had sent to the database before is over', async () => {
      await endSilent(world.db, { but })
      return (await balancedBooks(world.db, payer.organizationId)).open === 0
    })
    expect((await balancedBooks(world.db, payer.organizationId)).leases).toBe(0)
    const finished = child.lines.flatMap((line) => /^finished (.*)$/.exec(line)?.[1] ?? [])
    expect(finished.length).toBeGreaterThan(10)
    const kept = await findAll<{ id: string }>(
      world.db,
      sql`select id from inference_requests where id = any(${finished}) and status = 'completed' and cost_nano_usd = 1000`,
    )
    expect(kept.length, 'every one that it was told of').toBe(finished.length)
    const seen = Number(child.lines.findLast((line) => line.startsWith('seen '))?.split(' ')[1])
    for (const id of [paid!, free!]) {
      const row = await rowOf(id)
      expect(row?.status).toBe('lost')
      expect(row?.outputTokens).toBeGreaterThan(seen - 150) // one token each 10 ms: a second, and what a busy machine adds
      expect(row?.settledPosition).toBeGreaterThan(0)
    }
    expect((await rowOf(paid!))?.costNanoUsd).toBe((await rowOf(paid!))!.outputTokens * 10)
  })

  it('stay correct when a process was wrongly presumed dead', async () => {
    const payer = await world.organization(0.0001)
    const frozen = await world.start()
    const request = await frozen.inference.open(order(payer, 10_000))
    request.progress('up', () => output(7))
    await until('it is open', async () => (await rowOf(request.id))?.status === 'open', 2_000)
    await endSilent(world.db, { only: await idOf(frozen) })
    expect(await rowOf(request.id)).toMatchObject({ status: 'lost', costNanoUsd: 70 })
    expect((await balancedBooks(world.db, payer.organizationId)).leases).toBe(0)
    await request.finish('completed', 'up', output(90))
    expect(await rowOf(request.id)).toEqual({
      status: 'completed',
      costNanoUsd: 900,
      outputTokens: 90,
      settledPosition: 2,
    })
    expect((await balancedBooks(world.db, payer.organizationId)).leases, 'what it owes').toBe(-830)
    await (await frozen.inference.open(order(payer, 100))).finish('completed', 'up', output(10))
    await frozen.stop()
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({
      leases: 0,
      spent: 1_000,
      balance: 99_000,
    })
  })

  it('have no request without its end when a process stops in order', async () => {
    const payer = await world.organization(1)
    const stopping = await world.start()
    const request = await stopping.inference.open(order(payer, 10_000))
    request.progress('up', () => output(5))
    await stopping.stop()
    expect(await rowOf(request.id)).toMatchObject({ status: 'lost', costNanoUsd: 50 })
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({ open: 0, leases: 0 })
    expect(() => stopping.inference.open(order(payer, 0))).toThrow('The database is not reachable right now')
  })

  it('get back credits that a process held unused for half a minute', async () => {
    const payer = await world.organization(1)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    try {
      const idle = await world.start()
      await (await idle.inference.open(order(payer, 10_000))).finish('completed', 'up', output(100))
      vi.advanceTimersByTime(20_000)
      const running = await idle.inference.open(order(payer, 10_000))
      vi.advanceTimersByTime(40_000)
      await idle.inference.open(order(await world.organization(), 0)) // behind all that the beats did
      expect((await balancedBooks(world.db, payer.organizationId)).leases, 'a request runs').toBeGreaterThan(0)
      await running.finish('completed', 'up', output(100))
      vi.advanceTimersByTime(40_000)
      await until(
        'it gave it back',
        async () => (await balancedBooks(world.db, payer.organizationId)).leases === 0,
        5_000,
      )
    } finally {
      vi.useRealTimers()
    }
  })

  it('number settled requests without gaps or repeats, in the order in which they become visible', async () => {
    const payer = await world.organization(1)
    await Promise.all(
      Array.from({ length: 200 }, async (_, at) =>
        (await [world.first, second][at % 2]!.inference.open(order(payer, 100))).finish('completed', 'up', output(1)),
      ),
    )
    const positions = await findAll<{ settledPosition: number }>(
      world.db,
      sql`select settled_position from inference_requests where organization_id = ${payer.organizationId} order by 1`,
    )
    expect(positions.map((row) => row.settledPosition)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1))
    expect((await readBooks(world.db, payer.organizationId)).requests).toBe(200)
  })
})

/** The id under which a process is known: the one that wrote a request of its own. */
async function idOf(one: InferenceProcess): Promise<string> {
  const request = await one.inference.open(order(await world.organization(), 0))
  await request.finish('completed', null, output(0))
  return (
    (
      await findOne<{ processId: string }>(
        world.db,
        sql`select process_id from inference_requests where id = ${request.id}`,
      )
    )?.processId ?? ''
  )
}
