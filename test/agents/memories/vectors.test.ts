/** How memories get their vectors: who pays, what happens when the model fails, and that none is missed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import { openServices } from '#src/platform/services.ts'
import { makeVectors } from '#src/resources/agents/memories/vectors.ts'
import { grantCredits } from '#src/resources/llm/billing.ts'
import { keepMemoryVectors } from '#workers/agents/memory-vectors.ts'
import { callAgents } from '../../support/agents-service.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { closeMortals, mortalWorker } from '../mortal-worker.ts'
import { dueSpaces, modelOf, startMeaningWorld, type MeaningWorld } from './meaning-world.ts'

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
afterAll(async () => {
  await closeMortals()
  await world?.stop()
})

const vectors = 'test/vectors' // the mock's
const texts = (): string[][] => world.mock.requests.map(({ body }) => body['input'] as string[])
const rename = (id: string, fields: object) => callAgents(world.berth, token, 'PATCH', `/memories/${id}`, fields)
const spaceOf = async (of = token): Promise<string> =>
  (
    await getOne<{ id: string }>(
      world.berth.services.db,
      sql`select id from memory_spaces where organization_id = ${idsOf(of).organizationId} and owner_user_id = ${idsOf(of).userId}`,
    )
  ).id
/** Ends every wait and claim, as time does. */
const waitOver = () =>
  sql`update memory_spaces set vectors_not_before = now() where vectors_not_before is not null`.execute(
    world.berth.services.db,
  )
const failing = { status: 500, body: '{}' }
const refusing = { status: 400, body: '{"error": {"message": "It is too long for me."}}' }

test('many that wait are one request, which the organization pays; there is no job, and nothing is asked twice', async () => {
  for (const body of ['one', 'two', 'three']) await world.keep(token, body)
  expect(await world.make(token, vectors)).toEqual({ end: 'nothing', turns: 1 })
  expect(texts()).toEqual([['three', 'two', 'one']])
  expect(await world.withVectors(token)).toEqual(['one', 'two', 'three'])
  await world.make(token, vectors)
  expect(texts()).toHaveLength(1)
  const org = encodeId('organization', idsOf(token).organizationId)
  const { body } = await world.berth.ask(
    `{ inferenceRequests(organizationId: "${org}", first: 5) { nodes { modelId route status } } }`,
    { token },
  )
  expect(body.data).toEqual({
    inferenceRequests: { nodes: [{ modelId: vectors, route: 'MEMORIES', status: 'COMPLETED' }] },
  })
  expect(await findAll(world.berth.services.db, sql`select from pgboss.job where data::text like '%mem%'`)).toEqual([])
})

test('without a model nothing is made, and a memory waits for the day on which there is one', async () => {
  await world.keep(token, 'early')
  keepMemoryVectors(world.of(null))
  expect(await world.withVectors(token)).toEqual([])
  expect(await world.state(token)).toEqual({ position: 1, made: 0, failures: 0, seconds: null })
  expect(await world.recall(token, 'early', null)).toEqual(['early'])
  await world.make(token, vectors)
  expect(await world.withVectors(token)).toEqual(['early'])
})

test('a changed text gets a new vector; a changed category keeps the old one, and asks nobody', async () => {
  const id = await world.keep(token, 'first')
  await world.make(token, vectors)
  await rename(id, { category: 'fact', revision: 1 })
  expect(await world.withVectors(token)).toEqual(['first'])
  await rename(id, { body: 'second', revision: 2 })
  expect(await world.withVectors(token)).toEqual([]) // that of the old text is not used
  await world.make(token, vectors)
  expect([texts(), await world.withVectors(token)]).toEqual([[['first'], ['second']], ['second']])
  expect(await world.make(token, vectors)).toEqual({ end: 'nothing', turns: 1 })
})

test('a text that changes while its vector is made gets that of the new one; one that is deleted gets none', async () => {
  const [changing, deleted] = [await world.keep(token, 'old'), await world.keep(token, 'gone')]
  const held = Promise.withResolvers<void>()
  world.mock.script({ before: held.promise })
  const making = world.make(token, vectors)
  await world.mock.request(0)
  await rename(changing, { body: 'new', revision: 1 })
  await callAgents(world.berth, token, 'DELETE', `/memories/${deleted}?revision=1`)
  held.resolve()
  expect((await making).end).toBe('nothing')
  expect([texts(), await world.withVectors(token)]).toEqual([[['gone', 'old'], ['new']], ['new']])
  const { db } = world.berth.services
  const left = sql`select from memory_vectors where space_id = ${await spaceOf()}`
  expect(await findAll(db, left)).toHaveLength(1)
  await callAgents(world.berth, token, 'DELETE', `/memories/${changing}?revision=2`)
  expect(await findAll(db, left)).toEqual([])
})

test('while the model fails it is asked again, later each time, and the memory is found by its words', async () => {
  await world.keep(token, 'patience')
  const waits: number[] = []
  for (let failures = 1; failures <= 3; failures++) {
    world.mock.script(failing, failing) // it is tried twice at once
    expect((await world.make(token, vectors)).end).toBe('later')
    expect((await world.make(token, vectors)).end).toBe('nothing') // the wait is not over
    const { seconds, ...state } = await world.state(token)
    expect(state).toEqual({ position: 1, made: 0, failures })
    waits.push(Math.ceil(seconds ?? 0))
    await waitOver()
  }
  expect(waits).toEqual([5, 10, 20])
  expect(await world.recall(token, 'patience', vectors)).toEqual(['patience'])
  await world.make(token, vectors)
  expect(await world.state(token)).toEqual({ position: 1, made: 1, failures: 0, seconds: null })
})

test('an organization that cannot pay is asked again after a while, and has its vectors once it can', async () => {
  await world.keep(token, 'dear')
  expect((await world.make(token, 'test/dear-vectors')).end).toBe('later')
  expect((await world.state(token)).seconds).toBeGreaterThan(memoryLimits.refusedSeconds - 60)
  expect(await world.recall(token, 'dear', 'test/dear-vectors')).toEqual(['dear'])
  expect(world.mock.requests).toEqual([])
  await grantCredits(world.berth.services.db, { organizationId: idsOf(token).organizationId, usd: 1 })
  await waitOver()
  await world.make(token, 'test/dear-vectors')
  expect(await world.withVectors(token)).toEqual(['dear'])
})

test('vectors of a wrong length are not stored', async () => {
  await world.keep(token, 'crooked')
  const crooked = { status: 200, body: '{"data": [{"index": 0, "embedding": [1, 2]}]}' }
  world.mock.script(crooked, crooked)
  expect((await world.make(token, vectors)).end).toBe('later')
  expect(await world.withVectors(token)).toEqual([])
})

test('a long text counts by its beginning, and one that is refused leaves the others theirs', async () => {
  await world.keep(token, 'fine')
  await world.keep(token, 'x'.repeat(10_000))
  await world.make(token, vectors)
  expect(texts()).toEqual([['x'.repeat(400), 'fine']]) // its context has 100 tokens
  await world.keep(token, 'bad')
  await world.keep(token, 'good')
  world.mock.script(refusing, {}, refusing)
  expect((await world.make(token, vectors)).end).toBe('nothing')
  expect(texts().slice(1)).toEqual([['good', 'bad'], ['good'], ['bad']])
  expect(await world.withVectors(token)).toEqual(['fine', 'x'.repeat(10_000), 'good'])
  await world.make(token, vectors)
  expect(texts()).toHaveLength(4) // it is not asked for again
})

test('a model that refuses everything is taken to be wrong itself, and no memory is given up', async () => {
  await world.keep(token, 'lonely')
  world.mock.script(refusing)
  expect((await world.make(token, vectors)).end).toBe('later')
  await waitOver()
  await world.make(token, vectors)
  expect(await world.withVectors(token)).toEqual(['lonely'])
})

test('another model makes them anew, and going back to the first misses none', async () => {
  for (const body of ['a', 'b']) await world.keep(token, body)
  await world.make(token, vectors)
  await world.make(token, 'test/packed')
  expect(texts().map((inputs) => inputs.length)).toEqual([2, 2])
  const sizes = () =>
    findAll<{ bytes: number }>(
      world.berth.services.db,
      sql`select distinct length(vector) as bytes from memory_vectors v join memories m on m.id = v.memory_id where m.organization_id = ${idsOf(token).organizationId}`,
    )
  expect(await sizes()).toEqual([{ bytes: 32 }])
  const id = await world.keep(token, 'c')
  world.mock.script(failing, failing)
  await world.make(token, vectors) // begins to go back
  await waitOver()
  await world.make(token, vectors)
  expect(await sizes()).toEqual([{ bytes: 16 }])
  expect(id).toMatch(/^mem_/)
  expect(await world.withVectors(token)).toEqual(['a', 'b', 'c'])
})

test('a worker that is killed at any of its statements leaves the rest to the next one', async () => {
  let statements = 0
  for (let isOver = false; !isOver; statements++) {
    const mine = await world.berth.token('mortal', `mortal${statements}`, 'owner')
    await world.keep(mine, 'survives')
    const services = { ...mortalWorker(world.berth.services, statements), config: world.of(vectors).config }
    const making = makeVectors(services, modelOf(services), await spaceOf(mine), new AbortController().signal).then(
      () => false,
      () => true,
    )
    const died = await Promise.race([making, services.life.over.promise.then(() => true)])
    isOver = !died
    await waitOver() // its claim is over
    await world.make(mine, vectors)
    expect(await world.withVectors(mine), `killed at statement ${statements}`).toEqual(['survives'])
    expect(await world.state(mine)).toEqual({ position: 1, made: 1, failures: 0, seconds: null })
  }
  expect(statements).toBeGreaterThan(4)
})

test('two workers at once ask for nothing twice', async () => {
  for (const body of ['p', 'q', 'r']) await world.keep(token, body)
  await Promise.all([world.make(token, vectors), world.make(token, vectors), world.make(token, vectors)])
  expect(texts().flat().sort()).toEqual(['p', 'q', 'r'])
})

test('organizations take turns: however many spaces one has, each has one of a round', async () => {
  const names = ['turns-a', 'turns-b']
  for (const name of names)
    for (const person of ['x', 'y', 'z']) await world.keep(await world.berth.token(person, name, 'owner'), 'hers')
  const due = await dueSpaces(world.of(vectors))
  const counts = await findAll<{ name: string; count: number }>(
    world.berth.services.db,
    sql`select o.name, count(*) from memory_spaces s join organizations o on o.id = s.organization_id where s.id = any(${due}::uuid[]) and o.name = any(${names}) group by 1 order by 1`,
  )
  expect(counts).toEqual(names.map((name) => ({ name, count: 1 })))
})

test('more than one request may have are made in several', async () => {
  const count = memoryLimits.textsAtOnce + 1
  await world.keep(token, 'seed')
  await sql`
    insert into memories (id, space_id, organization_id, owner_user_id, body, idempotency_key, request_digest, actor_type, actor_id, author_user_id)
    select gen_random_uuid(), space_id, organization_id, owner_user_id, 'copy ' || n, 'copy ' || n, '', actor_type, actor_id, author_user_id
    from memories, generate_series(2, ${count}::int) n where space_id = ${await spaceOf()}`.execute(
    world.berth.services.db,
  )
  await sql`update memory_spaces set event_position = 5000 where id = ${await spaceOf()}`.execute(
    world.berth.services.db,
  ) // beyond the log
  await world.make(token, vectors)
  expect(texts().map((inputs) => inputs.length)).toEqual([memoryLimits.textsAtOnce, 1])
  expect(await world.withVectors(token)).toHaveLength(count)
})

test('a worker makes them as soon as something is kept, and what there was before', async () => {
  await world.keep(token, 'before')
  const { url } = world.berth.services.database
  const services = await openServices(world.of(vectors).config, url, 'worker')
  try {
    keepMemoryVectors(services)
    await until('what was kept before has a vector', async () => (await world.withVectors(token)).length === 1)
    await world.keep(token, 'now')
    await until('what is kept now has one', async () => (await world.withVectors(token)).length === 2)
  } finally {
    await services.close()
  }
})
