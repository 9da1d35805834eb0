/** Memories found by their meaning: by agents, and by people over GraphQL. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { blankMasker, createMasker } from '#src/platform/masking.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { grantCredits } from '#src/resources/llm/billing.ts'
import { idsOf, makeKey } from '../../support/makers.ts'
import { builtIn, startMeaningWorld, type MeaningWorld } from './meaning-world.ts'

let world: MeaningWorld
let token: string
let people = 0
beforeAll(async () => {
  world = await startMeaningWorld()
})
beforeEach(async () => {
  world.mock.forget()
  token = await world.berth.token('mira', `org${people++}`, 'owner')
})
afterAll(() => world?.stop())

const vectors = 'test/vectors'
const failing = { status: 500, body: '{}' }
const orgOf = (of: string): string => encodeId('organization', idsOf(of).organizationId)

describe('an agent', () => {
  test('finds what has none of its words, and nothing that is far off', async () => {
    await world.keep(token, 'sailboats')
    await world.keep(token, 'quick brown fox')
    expect(await world.recall(token, 'boats')).toEqual([]) // no vectors yet
    await world.make(token)
    expect(await world.recall(token, 'boats')).toEqual(['sailboats'])
    expect(await world.recall(token, 'boats', null)).toEqual([]) // by words only
    expect(await world.recall(token, 'zebra')).toEqual([])
    expect(await world.recall(token, '?!')).toEqual(['quick brown fox', 'sailboats']) // the newest
  })

  test('is shown first what has both the words and the meaning', async () => {
    for (const body of ['harbour', 'harbours and boats and many other things of the sea', 'boat harbour', 'tea'])
      await world.keep(token, body)
    await world.make(token)
    const found = await world.recall(token, 'boat harbour')
    expect(found[0]).toBe('boat harbour')
    expect(found.slice(1).sort()).toEqual(['harbour', 'harbours and boats and many other things of the sea'])
  })

  test('finds its person’s and what their organization shares, and nothing of colleagues or strangers', async () => {
    const colleague = await world.berth.token('martha', `org${people - 1}`, 'member')
    const stranger = await world.berth.token('eve', 'evil', 'owner')
    await world.keep(token, 'mine: sailboats')
    await world.keep(colleague, 'shared: sailboats', { organization_id: orgOf(token) })
    await world.keep(colleague, 'of a colleague: sailboats')
    await world.keep(stranger, 'of a stranger: sailboats')
    await world.keep(stranger, 'shared elsewhere: sailboats', { organization_id: orgOf(stranger) })
    await world.make(token)
    await world.make(stranger)
    expect((await world.recall(token, 'boats')).sort()).toEqual(['mine: sailboats', 'shared: sailboats'])
  })

  test.each<[string, Parameters<MeaningWorld['mock']['script']>]>([
    ['fails', [failing, failing]],
    ['answers something else', [{ status: 200, body: '{"data": [{"embedding": [1]}]}' }, failing]],
    ['refuses', [{ status: 400, body: '{}' }]],
    ['does not answer in time', [{ before: 'never' }]],
  ])('goes by words when the model %s', async (_, answers) => {
    await world.keep(token, 'kettle')
    await world.make(token, vectors)
    world.mock.script(...answers)
    expect(await world.recall(token, 'kettle', vectors)).toEqual(['kettle'])
    expect(world.mock.requests.length).toBeGreaterThan(1) // it was asked
  })

  test('pays for it from its session, and goes by words when its organization cannot pay', async () => {
    await world.keep(token, 'kettle')
    const { organizationId } = idsOf(token)
    await grantCredits(world.berth.services.db, { organizationId, usd: 0.000008 }) // for two requests of two tokens
    const dear = 'test/dear-vectors'
    await world.make(token, dear)
    expect(await world.ask(token, 'kettle', dear)).toMatchObject({
      text: expect.stringContaining('kettle'),
      usage: { costNanoUsd: 4000 },
    })
    const paid = await getOne<{ sessions: number; cost: number }>(
      world.berth.services.db,
      sql`select count(session_id) as sessions, sum(cost_nano_usd)::bigint as cost from inference_requests where organization_id = ${organizationId} and route = 'memories'`,
    )
    expect(paid).toEqual({ sessions: 1, cost: 8000 })
    expect(await world.recall(token, 'kettle', dear)).toEqual(['kettle'])
    expect(world.mock.requests).toHaveLength(2)
  })

  test('tells the model no secret of its session, and asks it nothing when it cannot know them', async () => {
    await world.keep(token, 'the canary-secret-71fe')
    await world.make(token, vectors)
    const asked = world.mock.requests.length
    expect(await world.recall(token, 'canary-secret-71fe', vectors, createMasker(['canary-secret-71fe']))).toEqual([
      'the ***',
    ])
    expect(world.mock.requests[asked]?.body['input']).toEqual(['***'])
    await world.recall(token, 'the', vectors, blankMasker)
    expect(world.mock.requests).toHaveLength(asked + 1)
  })
})

describe('a person', () => {
  type Found = { bodies: string[] | null; code?: string; message?: string }
  const find = async (given: string, as = token): Promise<Found> => {
    const { body } = await world.berth.ask(`{ recallMemories(${given}) { body } }`, { token: as })
    const [error] = body.errors ?? []
    const found = (body.data as { recallMemories: { body: string }[] } | null)?.recallMemories
    return {
      bodies: found?.map((one) => one.body) ?? null,
      ...(error && { code: error.extensions.code, message: error.message }),
    }
  }

  test('finds their own and what their organization shares, or what the named one shares', async () => {
    await world.keep(token, 'sailboats of mine')
    await world.keep(token, 'sailboats of all', { organization_id: orgOf(token) })
    await world.make(token)
    expect((await find('text: "boats"')).bodies?.toSorted()).toEqual(['sailboats of all', 'sailboats of mine'])
    expect((await find('text: "boats", first: 1')).bodies).toHaveLength(1)
    const shared = `text: "boats", organizationId: "${orgOf(token)}"`
    expect(await find(shared)).toEqual({ bodies: ['sailboats of all'] })
    const stranger = await world.berth.token('mallory', 'elsewhere', 'owner')
    expect(await find('text: "boats"', stranger)).toEqual({ bodies: [] })
    expect(await find(shared, stranger)).toMatchObject({ bodies: null, code: 'FORBIDDEN' })
    const { key } = await makeKey(world.berth, token)
    expect(await find('text: "boats"', key)).toMatchObject({ bodies: null, code: 'UNAUTHORIZED' })
  })

  test('who may not use models finds them by words, and costs nothing', async () => {
    await world.keep(token, 'sailboats of all', { organization_id: orgOf(token) })
    await world.make(token)
    const viewer = await world.berth.token('victor', `org${people - 1}`, 'viewer')
    expect(await find('text: "boats"', viewer)).toEqual({ bodies: [] })
    expect(await find('text: "sail"', viewer)).toEqual({ bodies: ['sailboats of all'] })
  })

  test('is told what is wrong with a question', async () => {
    for (const [given, part] of [
      ['text: ""', 'text must have'],
      ['text: "?!"', 'text must have'],
      [`text: "${'x'.repeat(501)}"`, 'text must have'],
      ['text: "x", first: 0', 'first must be from 1 to 50'],
      ['text: "x", first: 51', 'first must be from 1 to 50'],
    ])
      expect(await find(given ?? ''), given).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining(part ?? ''),
      })
  })
})

test('a start with a model that is not one for embeddings, or not here, says so', () => {
  const told = (name: string): string => {
    try {
      return memoryModel(readConfig({ BERTH_MEMORY_MODEL: name }))?.model.id ?? 'none'
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  }
  expect(memoryModel(readConfig({}))).toBeNull()
  expect(told(builtIn)).toBe(builtIn)
  expect(told('demo-embeddings')).toBe(builtIn) // as models are named everywhere
  expect(told('berth/demo')).toContain('BERTH_MEMORY_MODEL names berth/demo, which makes no embeddings.')
  expect(told('acme/none')).toContain('BERTH_MEMORY_MODEL names a model that is not here.')
  expect(told('openai/text-embedding-3-small')).toContain('set OPENAI_API_KEY, too')
})
