/** Idempotency keys: a POST runs once for a caller and key, whatever happens to the process that ran it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createIdempotency } from '#src/platform/idempotency.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { canary, makeCallers, type Callers } from './callers.ts'
import { startSecondProcess, type SecondProcess } from './second-process.ts'
import { startStubNode, type StubNode } from './stub-node.ts'

let berth: Berth
let second: SecondProcess
let callers: Callers
let node: StubNode
let path: string
let keysUsed = 0
const newKey = (): string => `key-${++keysUsed}`
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  second = await startSecondProcess(berth)
  callers = await makeCallers(berth)
  node = await startStubNode(berth.services.db)
})
beforeEach(async () => {
  path = `/api/v1/vms/${await makeVmRow(berth.services.db, callers.owner, node.id)}/envd/exec`
  node.asked.length = 0
  node.answer = { stdout: canary }
})
afterAll(async () => {
  await second.stop()
  await berth.stop()
  await node.stop()
})

type Answer = {
  status: number
  replayed: string | null
  retryAfter: string | null
  text: string
  error: string | undefined
}
async function post(
  key: string,
  {
    body = { command: 'true' },
    token = callers.owner,
    url = berth.url,
    at = path,
  }: { body?: unknown; token?: string | undefined; url?: string; at?: string } = {},
): Promise<Answer> {
  const answer = await fetch(url + at, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    replayed: answer.headers.get('idempotent-replayed'),
    retryAfter: answer.headers.get('retry-after'),
    text,
    error: (JSON.parse(text) as { error?: string }).error,
  }
}

test('the same request again gets the same bytes, is marked as replayed, and runs nothing', async () => {
  const key = newKey()
  const first = await post(key)
  expect(first).toMatchObject({ status: 200, replayed: null })
  for (const url of [berth.url, second.url, berth.url])
    expect(await post(key, { url })).toMatchObject({ status: 200, replayed: 'true', text: first.text })
  expect(node.asked).toHaveLength(1)
})

test('another body, or another path, under the same key answers 409 and runs nothing', async () => {
  const key = newKey()
  await post(key)
  for (const other of [
    { body: { command: 'false' } },
    { body: { command: 'true', timeout: 5 } },
    { at: path.replace('exec', 'delete'), body: { path: '/home/user/x' } },
    { url: second.url, body: {} },
  ]) {
    expect(await post(key, other)).toMatchObject({ status: 409, error: 'idempotency_conflict' })
  }
  expect(node.asked).toHaveLength(1)
})

test('while the first one runs, the same request answers 409 with Retry-After, in every process', async () => {
  const key = newKey()
  const release = node.hold()
  const first = post(key)
  expect(await pollUntil(() => node.asked.length === 1, { limitMs: 5_000, everyMs: 5 })).toBe(true)
  for (const url of [berth.url, second.url])
    expect(await post(key, { url })).toMatchObject({ status: 409, error: 'idempotency_in_progress', retryAfter: '2' })
  release()
  expect((await first).status).toBe(200)
  expect(await post(key)).toMatchObject({ status: 200, replayed: 'true' })
  expect(node.asked).toHaveLength(1)
})

test('ten at once through two processes run once; the others are replayed or told to wait', async () => {
  const key = newKey()
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => post(key, { url: index % 2 === 0 ? berth.url : second.url })),
  )
  expect(node.asked).toHaveLength(1)
  expect(answers.filter(({ status, replayed }) => status === 200 && replayed === null)).toHaveLength(1)
  for (const { status, error } of answers) expect(status === 200 || error === 'idempotency_in_progress').toBe(true)
})

test('a request that failed may be tried again with its key', async () => {
  const key = newKey()
  node.answer = { refuse: 502, code: 'vm_unreachable' }
  expect((await post(key)).status).toBe(502)
  node.answer = { stdout: 'now' }
  expect(await post(key)).toMatchObject({ status: 200, replayed: null })
  expect(await post(key)).toMatchObject({ status: 200, replayed: 'true' })
  expect(node.asked).toHaveLength(2)
})

test('many at once of a request that fails are refused or told to wait, never broken', async () => {
  node.answer = { refuse: 502, code: 'vm_unreachable' }
  const key = newKey()
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => post(key, { url: index % 2 === 0 ? berth.url : second.url })),
    )
    for (const { error } of answers) expect(['vm_unreachable', 'idempotency_in_progress']).toContain(error)
  }
})

test('the claim of a killed process is free again once it expires, for the same request only', async () => {
  const key = newKey()
  const { db, sealer, database } = berth.services
  const killed = createIdempotency(db, sealer) // claims, and is never heard of again
  const body = JSON.stringify({ command: 'true' })
  const name = await nameOfOwner()
  await killed.begin(name, key, sha256(`POST ${path}\n${sha256(body).toString('base64')}`))
  killed.close()
  expect(await post(key)).toMatchObject({ status: 409, error: 'idempotency_in_progress' })
  const { rowCount } = await database.pool.query(
    "update idempotency_keys set in_progress_until = now() - interval '1 second' where key = $1",
    [key],
  )
  expect(rowCount).toBe(1)
  expect(await post(key, { body: { command: 'false' } })).toMatchObject({ status: 409, error: 'idempotency_conflict' })
  expect(await post(key)).toMatchObject({ status: 200, replayed: null })
  expect(await post(key)).toMatchObject({ status: 200, replayed: 'true' })
})

test('after 24 hours a key is free for any request', async () => {
  const key = newKey()
  await post(key)
  await berth.services.database.pool.query(
    "update idempotency_keys set created_at = now() - interval '25 hours' where key = $1",
    [key],
  )
  expect(await post(key, { body: { command: 'other' } })).toMatchObject({ status: 200, replayed: null })
  expect(node.asked).toHaveLength(2)
})

test('a key belongs to its caller: another user, another organization and an organization key each run their own', async () => {
  const key = newKey()
  await post(key)
  for (const token of [callers.member, callers.keyWith])
    expect(await post(key, { token })).toMatchObject({ status: 200, replayed: null })
  expect(await post(key, { token: callers.stranger })).toMatchObject({ status: 404 })
  expect(node.asked).toHaveLength(3)
})

test.each([
  ['255 characters', 'k'.repeat(255), 200],
  ['256 characters', 'k'.repeat(256), 400],
  ['nothing', '', 400],
])('a key of %s answers %s', async (_what, key, status) => {
  expect((await post(key)).status).toBe(status)
})

test('a key on anything but a POST means nothing', async () => {
  const key = newKey()
  for (const token of [callers.owner, callers.stranger]) {
    const answer = await berth.call('GET', '/api/v1/vms', { token, headers: { 'idempotency-key': key } })
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, null])
  }
  const { rows } = await berth.services.database.pool.query('select from idempotency_keys where key = $1', [key])
  expect(rows).toHaveLength(0)
})

test('stored responses are sealed: nothing of them can be read from the table', async () => {
  const key = newKey()
  expect((await post(key)).text).toContain(canary)
  const { rows } = await berth.services.database.pool.query<{ row: string; sealed: Buffer }>(
    'select k::text as row, sealed_response as sealed from idempotency_keys k where key = $1',
    [key],
  )
  expect(rows[0]?.sealed.includes(canary)).toBe(false)
  expect(rows[0]?.row).not.toContain(canary)
})

/** How the owner is called in the table: the only caller that has used a key there yet under this name. */
async function nameOfOwner(): Promise<string> {
  const key = newKey()
  await post(key)
  const { rows } = await berth.services.database.pool.query<{ caller: string }>(
    'select caller from idempotency_keys where key = $1',
    [key],
  )
  return rows[0]?.caller ?? ''
}

test('a GraphQL mutation also runs once for a key, and one that did nothing may be sent again', async () => {
  const mutation = (name: string): object => ({
    query: 'mutation ($name: String!) { createVault(input: {displayName: $name}) { vault { id displayName } } }',
    variables: { name },
  })
  const at = '/graphql'
  const [key, failing] = [newKey(), newKey()]
  const first = await post(key, { at, body: mutation('one') })
  expect([first.status, first.replayed, first.text]).toEqual([200, null, expect.stringContaining('"one"') as string])
  expect(await post(key, { at, body: mutation('one') })).toEqual({ ...first, replayed: 'true' })
  expect(await post(key, { at, body: mutation('two') })).toMatchObject({ status: 409 })
  const others = await post(key, { at, body: mutation('one'), token: callers.member })
  expect([others.replayed, others.text === first.text]).toEqual([null, false])
  const together = await Promise.all(Array.from({ length: 10 }, () => post('together', { at, body: mutation('once') })))
  expect(new Set(together.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)

  expect((await post(failing, { at, body: mutation('') })).text).toContain('INVALID_REQUEST')
  expect((await post(failing, { at, body: mutation('three') })).text).toContain('"three"')
  const query = { query: '{ vaults { totalCount } }' }
  expect([(await post(key, { at, body: query })).replayed, (await post(key, { at, body: query })).status]).toEqual([
    null,
    200,
  ])
  expect(await post(newKey(), { at, body: [mutation('four')] })).toMatchObject({ status: 400 })
  const { rows } = await berth.services.database.pool.query(
    'select display_name, count(*)::int from vaults group by 1 order by 1',
  )
  expect(rows).toEqual([
    { display_name: 'once', count: 1 },
    { display_name: 'one', count: 2 }, // one of them the member's
    { display_name: 'three', count: 1 },
  ])
})
