/** Requests to models are paid for: who may make one, what it costs, and books that add up whatever happens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOne, sql } from '#src/platform/postgres.ts'
import { cheap, order, output, readBooks, startWorld, type InferenceWorld } from './inference-world.ts'

let world: InferenceWorld
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

describe('a request', () => {
  it('of a free model costs nothing, and the ledger has it when finish resolves', async () => {
    const payer = await world.organization()
    const opened = world.first.inference.open(order(payer, 0))
    const request = await opened
    await request.finish('completed', 'demo', output(5, { inputTokens: 7 }))
    const row = await findOne(world.db, sql`select model, upstream, status, input_tokens, output_tokens, cost_nano_usd, settled_position from inference_requests where id = ${request.id}`)
    expect(row).toEqual({ model: 'test/model', upstream: 'demo', status: 'completed', inputTokens: 7, outputTokens: 5, costNanoUsd: 0, settledPosition: 1 })
    expect(world.first.inference.open(order(payer, 0)), 'the second is opened without asking').not.toBeInstanceOf(Promise)
  })

  it('that costs is paid from the credits, by what it did cost', async () => {
    const payer = await world.organization(1)
    const request = await world.first.inference.open(order(payer, 1000))
    await request.finish('completed', 'up', output(20, { inputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 1 }))
    const books = await readBooks(world.db, payer.organizationId)
    expect(books.spent).toBe(200 + cheap.inputNanoUsd + 2)
    expect(books.balance + books.leases + books.spent).toBe(1e9)
    expect(books.days).toBe(books.spent)
  })
})
