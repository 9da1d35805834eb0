/** Requests to models: who may make one, and what is set aside and paid for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { grantCredits, type Metered, type Payer, setPlan } from '#src/resources/llm/billing.ts'
import { until } from '../../support/until.ts'
import { cheap, order, output } from './inference-orders.ts'
import { balancedBooks, refusalOf, startWorld, type InferenceWorld } from './inference-world.ts'

let world: InferenceWorld
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const open = async (payer: Payer, maxCostNanoUsd: number): Promise<Metered> =>
  world.first.inference.open(order(payer, maxCostNanoUsd))
const refusal = (payer: Payer, maxCostNanoUsd: number): Promise<string> => refusalOf(() => open(payer, maxCostNanoUsd))
const spend = async (payer: Payer, maxCostNanoUsd: number, outputTokens = maxCostNanoUsd / 10): Promise<void> =>
  (await open(payer, maxCostNanoUsd)).finish('completed', 'up', output(outputTokens))
const setBudget = async ({ organizationId }: Payer, nanoUsd: number | null): Promise<void> => {
  await sql`update inference_accounts set monthly_budget_nano_usd = ${nanoUsd} where organization_id = ${organizationId}`.execute(
    world.db,
  )
}

describe('a request', () => {
  it('of a free model costs nothing, and the ledger has it when finish resolves', async () => {
    const payer = await world.organization()
    const request = await open(payer, 0)
    await request.finish('completed', 'demo', output(5, { inputTokens: 7, reasoningTokens: 2 }))
    const row = await findOne(
      world.db,
      sql`
      select user_id, key_id, model, upstream, route, status, input_tokens, output_tokens, reasoning_tokens, cost_nano_usd, settled_position, ended_at >= started_at as in_order from inference_requests where id = ${request.id}`,
    )
    expect(row).toEqual({
      userId: payer.userId,
      keyId: null,
      model: 'test/model',
      upstream: 'demo',
      route: 'chat.completions',
      status: 'completed',
      inputTokens: 7,
      outputTokens: 5,
      reasoningTokens: 2,
      costNanoUsd: 0,
      settledPosition: 1,
      inOrder: true,
    })
    expect(world.first.inference.open(order(payer, 0)), 'the second is opened without asking').not.toBeInstanceOf(
      Promise,
    )
  })

  it('that costs is paid from the credits, by what it did cost, the cache at its own prices', async () => {
    const payer = await world.organization(1)
    const request = await open(payer, 1000)
    await request.finish('completed', 'up', output(20, { inputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 1 }))
    expect((await balancedBooks(world.db, payer.organizationId)).spent).toBe(
      200 + 1 * cheap.inputNanoUsd + 1 * cheap.cacheWriteNanoUsd,
    )
    await until(
      'the next one is opened without asking, once the notice of the grant was heard',
      () => !(world.first.inference.open(order(payer, 1000)) instanceof Promise),
      1_000,
    )
  })

  it('ends once: whatever comes later does nothing', async () => {
    const payer = await world.organization(1)
    const request = await open(payer, 1000)
    await Promise.all([request.finish('cut_by_client', 'up', output(3)), request.finish('completed', 'up', output(50))])
    request.progress('other', () => output(90))
    await request.finish('failed', null, output(90))
    expect(
      await findOne(
        world.db,
        sql`select status, upstream, cost_nano_usd from inference_requests where id = ${request.id}`,
      ),
    ).toEqual({ status: 'cut_by_client', upstream: 'up', costNanoUsd: 30 })
    expect((await balancedBooks(world.db, payer.organizationId)).requests).toBe(1)
  })

  it('survives what providers may say: halves, negatives, not a number, text that is no UTF-8', async () => {
    const payer = await world.organization(1)
    const request = await open(payer, 1000)
    await request.finish('completed', 'a"b\\c,{}\0\ud800', {
      inputTokens: 1.5,
      outputTokens: -3,
      cacheReadTokens: NaN,
      cacheWriteTokens: Infinity,
      reasoningTokens: 0,
    })
    expect(
      await findOne(
        world.db,
        sql`select upstream, input_tokens, output_tokens, cache_read_tokens from inference_requests where id = ${request.id}`,
      ),
    ).toEqual({ upstream: 'a"b\\c,{}\ufffd', inputTokens: 1, outputTokens: 0, cacheReadTokens: 0 })
    await balancedBooks(world.db, payer.organizationId)
  })
})

describe('without a plan', () => {
  it('no model may be used, not even a free one, until the operator gives one', async () => {
    const payer = await world.organization(1)
    await setPlan(world.db, payer.organizationId, null)
    expect(await refusal(payer, 0)).toBe('no_active_plan')
    expect(await refusal(payer, 1000)).toBe('no_active_plan')
    await setPlan(world.db, payer.organizationId, 'self_hosted')
    expect(await refusal(payer, 0)).toBe('none')
    await setPlan(world.db, payer.organizationId, null)
    await until(
      'the process hears that the plan ended',
      async () => (await refusal(payer, 0)) === 'no_active_plan',
      1_000,
    )
  })

  it('an organization that does not exist is refused too', async () => {
    expect(
      await refusal({ organizationId: '00000000-0000-7000-8000-00000000dead', keyId: null, userId: null }, 0),
    ).toBe('no_active_plan')
  })
})

describe('without enough credits', () => {
  it('a request is refused by its maximum cost, with what is needed, what is left and what helps', async () => {
    const payer = await world.organization(0.000001) // 1,000 nano-USD
    await expect(open(payer, 1_001)).rejects.toThrow(
      'This request may cost up to $0.000001001, and $0.000001 of credits are left. Request fewer tokens (max_tokens), or have the operator grant more: npm run -s credits -- grant --org <name> --usd 25',
    )
    const running = await open(payer, 600)
    expect(await refusal(payer, 401), 'what runs is set aside').toBe('insufficient_credits')
    expect(await refusal(payer, 0), 'a free model needs none').toBe('none')
    await running.finish('completed', 'up', output(10))
    expect(await refusal(payer, 900)).toBe('none')
    await grantCredits(world.db, { organizationId: payer.organizationId, usd: 0.000001 })
    expect(await refusal(payer, 1_000)).toBe('none')
  })

  it('many at once get what there is, and not one more', async () => {
    const payer = await world.organization(0.00001) // 10,000 nano-USD
    const said = await Promise.all(Array.from({ length: 30 }, () => refusal(payer, 1_000)))
    expect(said.filter((one) => one === 'none')).toHaveLength(10)
    expect(said.filter((one) => one === 'insufficient_credits')).toHaveLength(20)
  })

  it('no request is refused because of credits that another process holds but does not need', async () => {
    const payer = await world.organization(0.00001) // 10,000 nano-USD
    const other = await world.start()
    await (await other.inference.open(order(payer, 5_000))).finish('completed', 'up', output(100))
    const running = await other.inference.open(order(payer, 2_000))
    expect((await balancedBooks(world.db, payer.organizationId)).leases).toBeGreaterThan(4_000)
    const request = await open(payer, 7_000)
    await expect(open(payer, 1)).rejects.toThrow('$0 of credits are left') // the rest is set aside for the other one's request
    await Promise.all([request.finish('completed', 'up', output(700)), running.finish('failed', null, output(0))])
    expect(await balancedBooks(world.db, payer.organizationId)).toMatchObject({ spent: 8_000 })
    expect(await refusal(payer, 2_000)).toBe('none')
  })

  it('one that cost more than was reserved is charged in full, and the next one is refused', async () => {
    const payer = await world.organization(0.000001)
    await spend(payer, 900, 250)
    expect((await balancedBooks(world.db, payer.organizationId)).spent).toBe(2_500)
    await expect(open(payer, 10)).rejects.toThrow('$0 of credits are left')
    await grantCredits(world.db, { organizationId: payer.organizationId, usd: 0.000002 })
    expect(await refusal(payer, 501)).toBe('insufficient_credits')
    expect(await refusal(payer, 500)).toBe('none')
  })
})

describe('a budget', () => {
  it('of an organization is for a month: spent, running and this one together', async () => {
    const payer = await world.organization(1)
    await setBudget(payer, 1_000)
    await spend(payer, 400)
    const running = await open(payer, 500)
    expect(await refusal(payer, 101)).toBe('budget_exceeded')
    await expect(open(payer, 101)).rejects.toThrow(
      'This organization may spend $0.000001 a month, $0.0000001 of it is left, and this request may cost up to $0.000000101.',
    )
    expect(await refusal(payer, 0), 'a free model needs none').toBe('none')
    await running.finish('failed', null, output(0))
    await spend(payer, 600)
    expect(await refusal(payer, 1)).toBe('budget_exceeded')
    await setBudget(payer, 1_001)
    expect(await refusal(payer, 1), 'nobody is refused before it is looked at again').toBe('none')
  })

  it('starts again with the month', async () => {
    const payer = await world.organization(1)
    await setBudget(payer, 1_000)
    await spend(payer, 1_000)
    expect(await refusal(payer, 1)).toBe('budget_exceeded')
    shiftClock(32 * 86_400_000)
    try {
      expect(await refusal(payer, 1_000)).toBe('none')
    } finally {
      shiftClock(0)
    }
  })

  it('of a key stops that key and no other', async () => {
    const person = await world.organization(1)
    const keys = await Promise.all(
      ['one', 'two'].map((name) =>
        makeApiKey(world.db, {
          organizationId: person.organizationId,
          createdBy: person.userId ?? '',
          name,
          prefix: 'svc_live_ak_',
        }),
      ),
    )
    const [one, two] = keys.map(({ keyId }) => ({ organizationId: person.organizationId, userId: null, keyId }))
    await sql`insert into inference_key_budgets (organization_id, key_id, monthly_budget_nano_usd) values (${person.organizationId}, ${one!.keyId}, 1000)`.execute(
      world.db,
    )
    const other = await world.start() // which knows neither the organization nor the key yet
    expect(await Promise.all([1, 2, 3].map(() => refusalOf(() => other.inference.open(order(one!, 1_001)))))).toEqual([
      'budget_exceeded',
      'budget_exceeded',
      'budget_exceeded',
    ])
    await other.inference.open(order(two!, 1_001))
    expect(await Promise.all([1, 2, 3].map(() => refusalOf(() => other.inference.open(order(one!, 1_001)))))).toEqual([
      'budget_exceeded',
      'budget_exceeded',
      'budget_exceeded',
    ])
    await other.stop()
    await spend(one!, 700)
    expect(await refusal(one!, 301)).toBe('budget_exceeded')
    await expect(open(one!, 301)).rejects.toThrow('This key may spend $0.000001 a month, $0.0000003 of it is left')
    expect([await refusal(two!, 10_000), await refusal(person, 10_000)]).toEqual(['none', 'none'])
  })

  it('that another process used up is noticed within a second', async () => {
    const payer = await world.organization(1)
    await setBudget(payer, 1_000)
    const other = await world.start()
    await spend(payer, 100)
    await (await other.inference.open(order(payer, 900))).finish('completed', 'up', output(90))
    await until('the first process knows', async () => (await refusal(payer, 1)) === 'budget_exceeded', 2_000)
    await balancedBooks(world.db, payer.organizationId)
  })
})
