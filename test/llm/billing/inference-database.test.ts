/** Requests to models while Postgres is killed, stopped and started: nothing is lost, nothing is paid twice, nobody waits for ever. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Metered, Payer } from '#src/resources/llm/billing.ts'
import { asAdmin, startTestPostgres, type TestPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { order, output } from './inference-orders.ts'
import { balancedBooks, refusalOf, startWorld, type InferenceWorld } from './inference-world.ts'

let postgres: TestPostgres
let world: InferenceWorld
beforeAll(async () => {
  postgres = await startTestPostgres()
  world = await startWorld(postgres)
})
afterAll(async () => {
  await world.stop()
  await postgres.stop()
})

const cut = (): Promise<void> =>
  asAdmin(postgres.address, async (admin) => {
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'berth-web%'")
  })

/** Whether the process asks the database before it opens a request. */
async function opensByAsking(payer: Payer): Promise<boolean> {
  const opening = world.first.inference.open(order(payer, 1_000))
  await (await opening).finish('failed', null, output(0))
  return opening instanceof Promise
}

describe('while Postgres is unreachable', () => {
  it('a request with credits continues, its end waits, and it is written when Postgres is back', async () => {
    const payer = await world.organization(1)
    await until('the process remembers it', async () => !(await opensByAsking(payer)), 5_000)
    const running = await Promise.all(
      Array.from({ length: 1_200 }, async () => world.first.inference.open(order(payer, 1_000))),
    )
    await postgres.killPostgres()
    const meanwhile = world.first.inference.open(order(payer, 1_000))
    expect(meanwhile, 'opened without asking').not.toBeInstanceOf(Promise)
    const ends = [...running, meanwhile as Metered].map((request) => request.finish('completed', 'up', output(7)))
    await postgres.restartPostgres()
    await Promise.all(ends)
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({ spent: 1_201 * 70, open: 0 })
  })

  it('a request that needs the database is refused immediately, and served when Postgres is back', async () => {
    const payer = await world.organization(1)
    await postgres.killPostgres()
    await postgres.backendsGone()
    expect(await refusalOf(() => world.first.inference.open(order(payer, 1_000)))).toBe('service_unavailable')
    expect(await refusalOf(() => world.first.inference.open(order(payer, 0)))).toBe('service_unavailable')
    await postgres.restartPostgres()
    await until(
      'it is served',
      async () => (await refusalOf(() => world.first.inference.open(order(payer, 0)))) === 'none',
    )
  })

  it('an end does not wait for a database for ever; it is still written later', async () => {
    const payer = await world.organization(1)
    const request = await world.first.inference.open(order(payer, 1_000))
    await postgres.killPostgres()
    await postgres.backendsGone()
    await expect(request.finish('completed', 'up', output(7))).rejects.toThrow(
      'The database is not reachable right now',
    )
    await postgres.restartPostgres()
    await until(
      'it is written',
      async () =>
        (await findOne(
          world.db,
          sql`select id from inference_requests where id = ${request.id} and status = 'completed'`,
        ).catch(() => undefined)) !== undefined,
    ) // the pool's first connections are dead
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({ requests: 1, spent: 70 })
  })
})

describe('while connections are cut', () => {
  it('a batch that was written, and whose answer was lost, is not written again', async () => {
    const payer = await world.organization(1)
    const { pool } = world.first.services.database
    type Done = (error: Error | undefined, answer?: unknown) => void
    type Query = (statement: { text: string }, done: Done) => void
    const query = pool.query.bind(pool) as Query // the one form that is used
    let lost = 0
    const losing: Query = (statement, done) =>
      query(statement, (error, answer) => {
        if (error || !statement.text.includes('set flushes') || ++lost % 2 === 0) return done(error, answer)
        done(new Error('Connection terminated unexpectedly'))
      })
    pool.query = losing as typeof pool.query
    try {
      for (let turn = 1; turn <= 5; turn++)
        await (await world.first.inference.open(order(payer, 5_000))).finish('completed', 'up', output(11))
    } finally {
      pool.query = query as typeof pool.query
    }
    expect(lost).toBeGreaterThanOrEqual(5)
    const books = await balancedBooks(world.db, payer.organizationId)
    expect(books).toMatchObject({ requests: 5, spent: 550 })
    expect(
      await refusalOf(() => world.first.inference.open(order(payer, 1e9 - 550))),
      'what the process thinks it holds is what it holds',
    ).toBe('none')
    expect(await refusalOf(() => world.first.inference.open(order(payer, 1)))).toBe('insufficient_credits')
  })

  it('each request is written and paid once, however often its batch was sent', async () => {
    const payer = await world.organization(1)
    let over = false
    const cutting = (async () => {
      for (let cuts = 0; !over && cuts < 500; cuts++) await cut()
    })()
    let opened = 0
    const work = async (): Promise<void> => {
      for (let turn = 0; turn < 300; turn++) {
        const request = await Promise.resolve(world.first.inference.open(order(payer, 5_000))).catch(
          (error: { code: string }) => {
            expect(error.code).toBe('service_unavailable')
            return null
          },
        )
        if (!request) continue
        opened++
        await request.finish('completed', 'up', output(11))
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
    over = true
    await cutting
    expect(opened).toBeGreaterThan(500)
    await until(
      'the database answers',
      async () => (await balancedBooks(world.db, payer.organizationId).catch(() => null)) !== null,
    )
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({ requests: opened, spent: opened * 110 })
  })
})
