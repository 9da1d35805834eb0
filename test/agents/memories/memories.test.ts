/** Memories: what they answer, whose they are, revisions, keys, search, settings, and what follows them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId, newId } from '#src/platform/ids.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Answer, type Berth } from '../../support/berth.ts'
import { openStream, type EventStream } from '../../contract/event-stream.ts'
import { idsOf } from '../../support/makers.ts'

type Memory = {
  id: string
  type: string
  body: string
  category: string | null
  revision: number
  idempotency_key: string
  organization_id: string | null
  actor: { type: string; id: string }
  source_session_id: string | null
}
type List = { data: Memory[]; has_more: boolean }

let berth: Berth
let token: string
let colleague: string
let stranger: string
let acme: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'member')
  colleague = await berth.token('martha', 'acme', 'member')
  stranger = await berth.token('eve', 'evil', 'owner')
  acme = encodeId('organization', idsOf(token).organizationId)
})
afterAll(() => berth.stop())

const noStore = 'private, no-store'
/** Every answer is checked for the header that keeps copies away. */
const call = async <Body = Memory>(
  method: string,
  path: string,
  body?: unknown,
  as: string | null = token,
): Promise<Answer<Body>> => {
  const answer = await berth.call<Body>(method, `/agents/v1/${path}`, {
    ...(as === null ? {} : { token: as }),
    ...(body === undefined ? {} : { body }),
  })
  expect(answer.headers.get('cache-control'), `${method} ${path}`).toBe(noStore)
  return answer
}
let keys = 0
const make = async (fields: Record<string, unknown> = {}, as = token): Promise<Memory> => {
  const made = await call('POST', 'memories', { body: 'likes tea', idempotency_key: `key ${keys++}`, ...fields }, as)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const list = async (query = '', as = token): Promise<List> =>
  (await call<List>('GET', `memories${query}`, undefined, as)).body
const bodies = async (query: string, as = token): Promise<string[]> =>
  (await list(query, as)).data.map(({ body }) => body)
const error = (status: number, code: string): object => ({
  status,
  body: { type: 'error', error: { code, message: expect.any(String) }, request_id: expect.stringMatching(/^req_/) },
})

test('a new memory has every documented key, and reads as it was made', async () => {
  const { status, body } = await call('POST', 'memories', {
    body: 'likes tea',
    category: 'preference',
    idempotency_key: 'first',
  })
  expect(status).toBe(201)
  expect(body).toEqual({
    id: expect.stringMatching(/^mem_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    type: 'memory',
    body: 'likes tea',
    category: 'preference',
    revision: 1,
    idempotency_key: 'first',
    organization_id: null,
    actor: { type: 'user', id: expect.stringMatching(/^usr_/) },
    source_session_id: null,
  })
  expect((await call('GET', `memories/${body.id}`)).body).toEqual(body)
})

test.each([
  {},
  { body: 'x' },
  { body: '', idempotency_key: 'bad' },
  { body: null, idempotency_key: 'bad' },
  { body: 'x'.repeat(10_001), idempotency_key: 'bad' },
  { body: 'nul \0', idempotency_key: 'bad' },
  { body: 'x', idempotency_key: '' },
  { body: 'x', idempotency_key: 'k'.repeat(256) },
  { body: 'x', idempotency_key: 'bad', category: 'secret' },
  { body: 'x', idempotency_key: 'bad', colour: 'red' },
])('making one of %j is refused', async (body) => {
  expect(await call('POST', 'memories', body)).toMatchObject(error(400, 'invalid_request'))
})

test('a body may have 10,000 characters, whatever alphabet they are of', async () => {
  const made = await make({ body: '🐘'.repeat(10_000) })
  expect((await call('GET', `memories/${made.id}`)).body.body).toBe('🐘'.repeat(10_000))
  expect(await call('POST', 'memories', { body: '🐘'.repeat(10_001), idempotency_key: 'long' })).toMatchObject(
    error(400, 'invalid_request'),
  )
})

describe('the key of a creation', () => {
  test('creates nothing twice: the same request is answered with what it created, also after a change', async () => {
    const sent = { body: 'works at night', category: 'fact', idempotency_key: 'night' }
    const made = await call('POST', 'memories', sent)
    expect(made.status).toBe(201)
    expect(await call('POST', 'memories', sent)).toMatchObject({ status: 200, body: made.body })
    const changed = (await call('PATCH', `memories/${made.body.id}`, { body: 'works by day', revision: 1 })).body
    expect(await call('POST', 'memories', sent)).toMatchObject({ status: 200, body: changed })
  })

  test('is refused with another body or category, and is free again once the memory is deleted', async () => {
    const made = await make({ idempotency_key: 'reused' })
    for (const other of [{ body: 'other' }, { body: 'likes tea', category: 'fact' }])
      expect(await call('POST', 'memories', { ...other, idempotency_key: 'reused' })).toMatchObject(
        error(409, 'idempotency_conflict'),
      )
    await call('DELETE', `memories/${made.id}?revision=1`)
    expect((await call('POST', 'memories', { body: 'other', idempotency_key: 'reused' })).status).toBe(201)
  })

  test('is each owner’s own: a colleague, and what the organization shares, may have the same', async () => {
    const ids = [
      await make({ idempotency_key: 'same' }),
      await make({ idempotency_key: 'same' }, colleague),
      await make({ idempotency_key: 'same', organization_id: acme }),
    ].map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
  })

  test('sent 50 times at once creates one memory', async () => {
    const sent = { body: 'once', idempotency_key: 'fifty' }
    const answers = await Promise.all(Array.from({ length: 50 }, () => call('POST', 'memories', sent)))
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      ...Array(49).fill(200),
      201,
    ])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await list('?search=once')).data).toHaveLength(1)
  })
})

describe('a change', () => {
  test('answers the whole memory with the next revision, and keeps what it does not name', async () => {
    const { id } = await make({ category: 'fact' })
    const changed = await call('PATCH', `memories/${id}`, { body: 'likes coffee', revision: 1 })
    expect(changed).toMatchObject({ status: 200, body: { id, body: 'likes coffee', category: 'fact', revision: 2 } })
    expect((await call('GET', `memories/${id}`)).body).toEqual(changed.body)
    expect((await call('PATCH', `memories/${id}`, { category: null, revision: 2 })).body).toMatchObject({
      body: 'likes coffee',
      category: null,
      revision: 3,
    })
  })

  test('of a stale revision is refused and changes nothing', async () => {
    const { id } = await make()
    for (const revision of [0, 2, -1])
      expect(await call('PATCH', `memories/${id}`, { body: 'x', revision })).toMatchObject(
        error(409, 'memory_revision_stale'),
      )
    expect(await call('DELETE', `memories/${id}?revision=2`)).toMatchObject(error(409, 'memory_revision_stale'))
    expect((await call('GET', `memories/${id}`)).body).toMatchObject({ body: 'likes tea', revision: 1 })
  })

  test.each([
    { body: 'x' },
    { revision: 1 },
    { body: '', revision: 1 },
    { body: null, revision: 1 },
    { body: 'x', revision: '1' },
  ])('of %j is refused', async (body) => {
    const { id } = await make()
    expect(await call('PATCH', `memories/${id}`, body)).toMatchObject(error(400, 'invalid_request'))
  })

  test('sent 50 times at once with one revision happens once', async () => {
    const { id } = await make()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => call('PATCH', `memories/${id}`, { body: `body ${n}`, revision: 1 })),
    )
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array(49).fill(409),
    ])
    const won = answers.find(({ status }) => status === 200)?.body
    expect((await call('GET', `memories/${id}`)).body).toEqual(won)
    expect(won?.revision).toBe(2)
  })
})

describe('a deletion', () => {
  test('needs the revision, and is final', async () => {
    const { id } = await make()
    expect(await call('DELETE', `memories/${id}`)).toMatchObject(error(400, 'invalid_request'))
    expect(await call('DELETE', `memories/${id}?revision=x`)).toMatchObject(error(400, 'invalid_request'))
    expect(await call('DELETE', `memories/${id}?revision=1`)).toMatchObject({ status: 204, body: null })
    expect(await call('GET', `memories/${id}`)).toMatchObject(error(404, 'not_found'))
    expect(await call('DELETE', `memories/${id}?revision=1`)).toMatchObject(error(404, 'not_found'))
  })
})

describe('the list', () => {
  test('is newest first, and goes on after an entry, even a deleted one', async () => {
    const as = await berth.token('lister', 'acme', 'member')
    const made = []
    for (let i = 0; i < 5; i++) made.unshift((await make({}, as)).id)
    const ids = ({ data }: List): string[] => data.map(({ id }) => id)
    expect(await list('', as)).toEqual({ data: expect.anything(), has_more: false })
    expect(ids(await list('', as))).toEqual(made)
    const first = await list('?limit=2', as)
    expect([ids(first), first.has_more]).toEqual([made.slice(0, 2), true])
    await call('DELETE', `memories/${made[1]}?revision=1`, undefined, as)
    const second = await list(`?limit=3&after=${made[1]}`, as)
    expect([ids(second), second.has_more]).toEqual([made.slice(2), false])
  })

  test.each([
    'limit=0',
    'limit=101',
    'after=x',
    'after=',
    `after=${newId('vm')}`,
    'page=x',
    'category=x',
    'search=',
    'search=%20!',
    `search=${'x'.repeat(501)}`,
  ])('with %s is refused', async (query) => {
    expect(await call('GET', `memories?${query}`)).toMatchObject(error(400, 'invalid_request'))
  })

  test('is searched by the beginnings of words, in any case, order and script, and narrowed by category', async () => {
    const as = await berth.token('searcher', 'acme', 'member')
    await make({ body: 'Prefers Vitest to Jest', category: 'preference' }, as)
    await make({ body: 'The Café is closed on Mondays', category: 'fact' }, as)
    await make({ body: 'Пишет тесты по-русски', category: 'fact' }, as)
    await make({ body: "it's C:\\temp & 'quotes' | :* !", category: 'other' }, as)
    expect(await bodies('?search=vit', as)).toEqual(['Prefers Vitest to Jest'])
    expect(await bodies('?search=JEST%20prefer', as)).toEqual(['Prefers Vitest to Jest'])
    expect(await bodies('?search=prefers%20closed', as)).toEqual([])
    expect(await bodies('?search=caf%C3%A9', as)).toEqual(['The Café is closed on Mondays'])
    expect(await bodies(`?search=${encodeURIComponent('ТЕСТ')}`, as)).toEqual(['Пишет тесты по-русски'])
    expect(await bodies('?category=fact', as)).toHaveLength(2)
    expect(await bodies('?category=fact&search=closed', as)).toHaveLength(1)
    for (const hostile of ["quotes' | !", "'", '\\', "a:*'", "temp\\' & !(", ':* & |', '%00'.repeat(2)])
      expect([200, 400], hostile).toContain(
        (await call('GET', `memories?search=${encodeURIComponent(hostile)}`, undefined, as)).status,
      )
  })
})

describe('whose they are', () => {
  test('a personal one is nobody else’s', async () => {
    const { id } = await make()
    for (const other of [colleague, stranger]) {
      expect(await call('GET', `memories/${id}`, undefined, other)).toMatchObject(error(404, 'not_found'))
      expect(await call('PATCH', `memories/${id}`, { body: 'x', revision: 1 }, other)).toMatchObject(
        error(404, 'not_found'),
      )
      expect(await call('DELETE', `memories/${id}?revision=1`, undefined, other)).toMatchObject(error(404, 'not_found'))
      expect((await list('', other)).data.map((one) => one.id)).not.toContain(id)
    }
  })

  test('a shared one is read by every member, changed by who wrote it and by admins, and is not there for others', async () => {
    const { id, organization_id } = await make({ body: 'deploys on Fridays', organization_id: acme })
    expect(organization_id).toBe(acme)
    const viewer = await berth.token('victor', 'acme', 'viewer')
    for (const member of [token, colleague, viewer])
      expect(await bodies(`?organization_id=${acme}&search=fridays`, member)).toEqual(['deploys on Fridays'])
    expect((await list('')).data.map((one) => one.id)).not.toContain(id)
    const patch = (as: string, revision: number) =>
      call('PATCH', `memories/${id}`, { body: 'never on Fridays', revision }, as)
    expect(await patch(colleague, 1)).toMatchObject(error(403, 'not_permitted_for_role'))
    expect(await call('DELETE', `memories/${id}?revision=1`, undefined, colleague)).toMatchObject(
      error(403, 'not_permitted_for_role'),
    )
    expect((await patch(token, 1)).status).toBe(200)
    expect((await patch(await berth.token('adam', 'acme', 'admin'), 2)).status).toBe(200)
    expect(await patch(stranger, 3)).toMatchObject(error(404, 'not_found'))
    expect(await call('GET', `memories?organization_id=${acme}`, undefined, stranger)).toMatchObject(
      error(403, 'forbidden'),
    )
    expect(
      await call('POST', 'memories', { body: 'x', idempotency_key: 'x', organization_id: acme }, stranger),
    ).toMatchObject(error(403, 'forbidden'))
    expect(await call('GET', 'memories?organization_id=org_x')).toMatchObject(error(403, 'forbidden'))
  })

  test('a viewer reads and does not write, and nobody comes in without a token or with a key', async () => {
    const viewer = await berth.token('victor', 'acme', 'viewer')
    expect(await call('POST', 'memories', { body: 'x', idempotency_key: 'v' }, viewer)).toMatchObject(
      error(403, 'not_permitted_for_role'),
    )
    expect((await call('GET', 'memories', undefined, viewer)).status).toBe(200)
    const { id } = await make()
    await berth.token('alice', 'elsewhere', 'owner') // what she may do there makes her no more than a viewer here
    const herself = await berth.token('alice', 'acme', 'viewer')
    expect((await call('GET', `memories/${id}`, undefined, herself)).status).toBe(200)
    for (const [method, path, body] of [
      ['PATCH', `memories/${id}`, { body: 'x', revision: 1 }],
      ['DELETE', `memories/${id}?revision=1`, undefined],
    ] as const)
      expect(await call(method, path, body, herself)).toMatchObject(error(403, 'not_permitted_for_role'))
    for (const [method, path] of [
      ['GET', 'memories'],
      ['POST', 'memories'],
      ['GET', 'memories/mem_x'],
      ['PATCH', 'memories/mem_x'],
      ['DELETE', 'memories/mem_x?revision=1'],
      ['GET', 'memory-settings'],
      ['PATCH', 'memory-settings'],
    ] as const)
      for (const nobody of [null, 'rubbish'])
        expect(await call(method, path, undefined, nobody)).toMatchObject(error(401, 'unauthorized'))
  })
})

test('there are as many as the limits allow, of a person and of an organization', async () => {
  const as = await berth.token('hoarder', 'hoard', 'owner')
  const { organizationId } = idsOf(as)
  const first = await make({}, as)
  const pretend = (count: number) =>
    sql`update memory_spaces set memory_count = ${count} where organization_id = ${organizationId}`.execute(
      berth.services.db,
    )
  const refused = error(429, 'rate_limited')
  await pretend(memoryLimits.perPersonMax)
  expect(await call('POST', 'memories', { body: 'x', idempotency_key: 'more' }, as)).toMatchObject(refused)
  await pretend(memoryLimits.perOrganizationMax)
  const other = await berth.token('neighbour', 'hoard', 'member')
  expect(await call('POST', 'memories', { body: 'x', idempotency_key: 'more' }, other)).toMatchObject(refused)
  await pretend(1)
  await call('DELETE', `memories/${first.id}?revision=1`, undefined, as)
  await make({}, as)
})

test('the settings are a person’s own in each organization, and on at first', async () => {
  type Settings = { use_memories: boolean }
  const as = await berth.token('sam', 'acme', 'member')
  const settings = (method: string, body?: unknown, who = as) => call<Settings>(method, 'memory-settings', body, who)
  expect(await settings('GET')).toMatchObject({ status: 200, body: { use_memories: true } })
  expect((await settings('PATCH', { use_memories: false })).body).toEqual({ use_memories: false })
  expect((await settings('GET')).body).toEqual({ use_memories: false })
  expect((await settings('GET', undefined, colleague)).body).toEqual({ use_memories: true })
  for (const body of [{}, { use_memories: null }, { use_memories: 'no' }, { use: true }])
    expect(await settings('PATCH', body)).toMatchObject(error(400, 'invalid_request'))
  await make({}, as) // what is kept can still be managed
  expect((await settings('PATCH', { use_memories: true })).body).toEqual({ use_memories: true })
})

test('it is a node of the graph, beside its organization', async () => {
  const { id } = await make({ body: 'graph', organization_id: acme })
  const { body } = await berth.ask(
    `{ node(id: "${id}") { id ... on Memory { body category organization { id } actor { type user { name } agent { id } } sourceSession { id } createdAt } }
       organization(id: "${acme}") { memories(first: 5, filter: {search: "graph"}) { totalCount nodes { id } } } memories(first: 1) { nodes { organizationId } } memorySettings { useMemories } }`,
    { token },
  )
  expect(body.data).toMatchObject({
    node: { id, body: 'graph', organization: { id: acme }, actor: { type: 'USER', agent: null }, sourceSession: null },
    organization: { memories: { totalCount: 1, nodes: [{ id }] } },
    memories: { nodes: [{ organizationId: null }] },
    memorySettings: { useMemories: true },
  })
})

test('changes are told as they happen and from a cursor on, to whoever may read the memory', async () => {
  const [watcher, other] = [await berth.token('wanda', 'acme', 'viewer'), await berth.token('walter', 'acme', 'member')]
  const follow = (as: string, args = ''): Promise<EventStream> =>
    openStream(
      `${berth.url}/graphql?${new URLSearchParams({ query: `subscription { memoryEvents${args} { ... on MemoryEvent { cursor type memoryId revision memory { body } } } }` })}`,
      { token: as },
    )
  const nextOf = async (stream: EventStream): Promise<unknown> =>
    ((await stream.next())?.data as { data: { memoryEvents: unknown } } | undefined)?.data.memoryEvents
  const shared = `organizationId: "${acme}"`
  const earlier = await make({ organization_id: acme })
  const [theirs, own, foreign] = [
    await follow(watcher, `(${shared})`),
    await follow(other),
    await follow(stranger, `(${shared})`),
  ]
  expect(JSON.stringify((await foreign.next())?.data)).toContain('FORBIDDEN')
  const { id } = await make({ body: 'followed', organization_id: acme })
  const created = { type: 'MEMORY_CREATED', memoryId: id, revision: 1, memory: { body: 'followed' } }
  expect(await nextOf(theirs)).toMatchObject(created)
  await call('PATCH', `memories/${id}`, { body: 'followed on', revision: 1 })
  const updated = (await nextOf(theirs)) as { cursor: string }
  expect(updated).toMatchObject({ type: 'MEMORY_UPDATED', memoryId: id, revision: 2, memory: { body: 'followed on' } })
  await call('DELETE', `memories/${id}?revision=2`)
  const deleted = { type: 'MEMORY_DELETED', memoryId: id, revision: 2, memory: null }
  expect(await nextOf(theirs)).toMatchObject(deleted)
  const kept = await make({ body: 'private' }, other)
  expect(await nextOf(own)).toMatchObject({ type: 'MEMORY_CREATED', memoryId: kept.id }) // and nothing of what was shared
  const resumed = await follow(watcher, `(${shared}, after: "${updated.cursor}")`)
  expect(await nextOf(resumed)).toMatchObject(deleted)
  const whole = await follow(watcher, `(${shared}, after: "0")`)
  let first = (await nextOf(whole)) as { memoryId: string }
  while (first.memoryId !== earlier.id) first = (await nextOf(whole)) as { memoryId: string }
  for (const stream of [theirs, own, foreign, resumed, whole]) stream.close()
})
