/** Vaults: what they answer, whose they are, and what archiving and deleting them does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'

type Vault = {
  id: string
  type: string
  display_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  archived_at: string | null
}
type List = { data: Vault[]; has_more: boolean; next_page: string | null }

let berth: Berth
let token: string
let colleague: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
  colleague = await berth.token('martha', 'acme', 'member')
})
afterAll(() => berth.stop())

const call = <Body = Vault>(
  method: string,
  path: string,
  body?: unknown,
  as = token,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1/vaults${path}`, { token: as, headers, ...(body === undefined ? {} : { body }) })
const make = async (as = token, displayName = 'keys'): Promise<Vault> =>
  (await call('POST', '', { display_name: displayName }, as)).body
const error = (status: number, code: string): object => ({
  status,
  body: { type: 'error', error: { code, message: expect.any(String) }, request_id: expect.stringMatching(/^req_/) },
})

test('a new vault has every documented key, and reads as it was made', async () => {
  const { status, body } = await call('POST', '', { display_name: 'keys', metadata: { team: 'core' } })
  expect(status).toBe(201)
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(body).toEqual({
    id: expect.stringMatching(/^vlt_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    type: 'vault',
    display_name: 'keys',
    metadata: { team: 'core' },
    created_at: moment,
    updated_at: moment,
    archived_at: null,
  })
  expect((await call('GET', `/${body.id}`)).body).toEqual(body)
})

test.each([
  {},
  { display_name: null },
  { display_name: '' },
  { display_name: 'x'.repeat(256) },
  { display_name: 5 },
  { display_name: 'x', metadata: { a: 1 } },
  { display_name: 'x', metadata: [] },
])('making one of %j is refused', async (body) => {
  expect(await call('POST', '', body)).toMatchObject(error(400, 'invalid_request'))
})

describe('the list', () => {
  test('is newest first, pages, and has archived ones only on request', async () => {
    const as = await berth.token('lister', 'acme', 'member')
    const made = []
    for (let i = 0; i < 5; i++) made.unshift((await make(as, `v${i}`)).id)
    await call('POST', `/${made[1]}/archive`, undefined, as)
    const list = async (query = ''): Promise<List> => (await call<List>('GET', query, undefined, as)).body
    expect((await list()).data.map(({ id }) => id)).toEqual(made.filter((_, index) => index !== 1))
    const first = await list('?limit=2&include_archived=true')
    expect([first.data.map(({ id }) => id), first.has_more]).toEqual([made.slice(0, 2), true])
    const second = await list(`?limit=3&include_archived=true&page=${first.next_page}`)
    expect([second.data.map(({ id }) => id), second.has_more, second.next_page]).toEqual([made.slice(2), false, null])
  })

  test.each(['?limit=0', '?limit=101', '?limit=x', '?page=x', `?page=${newId('vm')}`, '?include_archived=maybe'])(
    'with %s is refused',
    async (query) => {
      expect(await call('GET', query)).toMatchObject(error(400, 'invalid_request'))
    },
  )

  test('shows nobody else’s', async () => {
    const { id } = await make()
    expect((await call<List>('GET', '', undefined, colleague)).body.data.map((one) => one.id)).not.toContain(id)
  })
})

describe('changing one', () => {
  test.each(['PUT', 'POST'])(
    'by %s sets what is given and keeps the rest; a null in metadata deletes its key',
    async (method) => {
      const { id } = (await call('POST', '', { display_name: 'a', metadata: { one: '1', two: '2' } })).body
      expect((await call(method, `/${id}`, { metadata: { one: null, three: '3' } })).body).toMatchObject({
        display_name: 'a',
        metadata: { two: '2', three: '3' },
      })
      expect((await call(method, `/${id}`, { display_name: 'b' })).body).toMatchObject({
        display_name: 'b',
        metadata: { two: '2', three: '3' },
      })
      expect(await call(method, `/${id}`, { display_name: null })).toMatchObject(error(400, 'invalid_request'))
      expect(await call(method, `/${id}`, { metadata: { k: 'x'.repeat(513) } })).toMatchObject(
        error(400, 'invalid_request'),
      )
      expect((await call('GET', `/${id}`)).body).toMatchObject({
        display_name: 'b',
        metadata: { two: '2', three: '3' },
      })
    },
  )

  test('when it is archived answers 409 and changes nothing', async () => {
    const { id } = await make()
    const archived = (await call('POST', `/${id}/archive`)).body
    expect(archived.archived_at).not.toBeNull()
    for (const method of ['PUT', 'POST'])
      expect(await call(method, `/${id}`, { display_name: 'other' })).toMatchObject(error(409, 'vault_archived'))
    expect(
      await call('POST', `/${id}/credentials`, {
        auth: { type: 'static_bearer', mcp_server_url: 'https://a.test', token: 'x' },
      }),
    ).toMatchObject(error(409, 'vault_archived'))
    expect((await call('POST', `/${id}/archive`)).body).toEqual(archived) // again: as it is
    expect((await call('GET', `/${id}`)).body).toEqual(archived)
  })
})

test('a deleted one is gone, and its answer is the one that Anthropic’s client expects when it asks', async () => {
  const [one, other] = [await make(), await make()]
  expect(await call('DELETE', `/${one.id}`)).toMatchObject({ status: 204, body: null })
  expect(await call('DELETE', `/${other.id}`, undefined, token, { 'anthropic-beta': 'managed-agents' })).toMatchObject({
    status: 200,
    body: { id: other.id, type: 'vault_deleted' },
  })
  for (const { id } of [one, other]) expect(await call('GET', `/${id}`)).toMatchObject(error(404, 'not_found'))
  expect(await call('DELETE', `/${one.id}`)).toMatchObject(error(404, 'not_found'))
})

test('the events of a vault can be followed from any position, until it is deleted', async () => {
  const { id } = await make()
  await call('POST', `/${id}/credentials`, {
    auth: { type: 'static_bearer', mcp_server_url: 'https://a.test', token: 'x' },
  })
  await call('PUT', `/${id}`, { display_name: 'other' })
  const follow = async (after: string): Promise<string[]> => {
    const answer = await fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        query: `subscription { vaultEvents(id: "${id}", after: "${after}") { ... on VaultEvent { cursor type credentialId } } }`,
      }),
    })
    const seen = []
    let rest = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const data of parts.map((part) => /^data: ?(\{.*)$/m.exec(part)?.[1])) {
        const event =
          data && (JSON.parse(data) as { data: { vaultEvents: { cursor: string; type: string } } }).data.vaultEvents
        if (event) seen.push(`${event.cursor} ${event.type}`)
        if (event && event.cursor === '4') await call('DELETE', `/${id}`)
      }
      if (seen.at(-1)?.startsWith('3 ')) await call('POST', `/${id}/archive`)
    }
    return seen
  }
  expect(await follow('1')).toEqual(['2 VAULT_CREDENTIAL_CREATED', '3 VAULT_UPDATED', '4 VAULT_ARCHIVED'])
})
