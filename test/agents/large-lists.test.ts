/** Lists of what may be megabytes each: a page ends early instead of holding them all. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Listed = { data: { id: string; version: number }[]; has_more: boolean; next_page: string | null }
const list = async (path: string, page?: string | null): Promise<Listed> => {
  const query = page ? `?page=${encodeURIComponent(page)}` : ''
  const { status, body } = await berth.call<Listed>('GET', `/agents/v1${path}${query}`, { token })
  expect(status).toBe(200)
  return body
}
const make = async (path: string, body: object): Promise<string> =>
  (await berth.call<{ id: string }>('POST', `/agents/v1${path}`, { token, body })).body.id

/** Two of this size make a page, and a third does not. */
const systemLength = Math.floor(limits.pageBytes / 2.5)
const inflated = sql`jsonb_set(definition::jsonb, '{system}', to_jsonb(repeat('x', ${systemLength})))`

/** The newest first. The newest has three versions, and each has a session. */
let agents: string[]
let agent: string
beforeAll(async () => {
  const { db } = berth.services
  agents = []
  for (const name of ['one', 'two', 'three']) agents.unshift(await make('/agents', { name, model: 'berth/demo' }))
  agent = agents[0] ?? ''
  for (const name of ['four', 'five']) await berth.call('POST', `/agents/v1/agents/${agent}`, { token, body: { name } })
  for (const _ of agents) await make('/sessions', { agent: { type: 'agent', id: agent } })
  await sql`update agents set definition = ${inflated}`.execute(db)
  await sql`update agent_versions set definition = ${inflated} where agent_id = ${decodeId('agent', agent)}`.execute(db)
  await sql`update sessions set agent_definition = jsonb_set(agent_definition::jsonb, '{system}', to_jsonb(repeat('x', ${systemLength})))`.execute(
    db,
  )
})

test('a page of sessions holds so many bytes and no more', async () => {
  const { data, has_more: hasMore } = await list('/sessions')
  expect([data.length, hasMore]).toEqual([2, true])
})

test('a page of the versions of an agent holds so many bytes and no more', async () => {
  const { data, has_more: hasMore } = await list(`/agents/${agent}/versions`)
  expect([data.length, hasMore]).toEqual([2, true])
})

test('a page of agents holds so many bytes and no more, and the next goes on behind it', async () => {
  const first = await list('/agents')
  const rest = await list('/agents', first.next_page)
  expect([first.data.length, first.has_more, rest.has_more]).toEqual([2, true, false])
  expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(agents)
})

test('agents that are named by their ids are refused where they have more bytes together', async () => {
  const asked = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Agent { name } } }'
  const { body } = await berth.ask(asked, { token, variables: { ids: agents } })
  expect(body.errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
  expect(body.errors?.[0]?.message).toMatch(`more than ${limits.pageBytes / 1024 / 1024} MiB together`)
})
