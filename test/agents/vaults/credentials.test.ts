/** Credentials: what they answer, what is refused, how they are rotated, and that a refusal changes nothing. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId, decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { findCredentialRow, openSecrets } from '#src/resources/agents/vaults/credentials/rows.ts'
import { startBerth, type Answer, type Berth } from '../../support/berth.ts'

type Credential = {
  id: string
  type: string
  vault_id: string
  display_name: string | null
  auth: Record<string, unknown>
  metadata: Record<string, string>
  archived_at: string | null
}
type List = { data: Credential[]; has_more: boolean; next_page: string | null }

let berth: Berth
let token: string
let vault: string
beforeAll(async () => {
  berth = await startBerth({
    settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_PRIVATE_HOSTS: 'tools.internal:8080' },
  })
  token = await berth.token('alice', 'acme', 'owner')
})
beforeEach(async () => {
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } }))
    .body.id
})
afterAll(() => berth.stop())

const call = <Body = Credential>(
  method: string,
  path: string,
  body?: unknown,
  { as = token, within = vault, headers = {} }: { as?: string; within?: string; headers?: Record<string, string> } = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1/vaults/${within}/credentials${path}`, {
    token: as,
    headers,
    ...(body === undefined ? {} : { body }),
  })
const make = async (auth: unknown = bearer(), rest: Record<string, unknown> = {}): Promise<Credential> => {
  const made = await call('POST', '', { auth, ...rest })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const error = (status: number, code: string): object => ({
  status,
  body: { type: 'error', error: { code, message: expect.any(String) }, request_id: expect.stringMatching(/^req_/) },
})
const secretsOf = async (id: string): Promise<unknown> => {
  const row = (await findCredentialRow(berth.services.db, decodeId('credential', id)!))!
  return row.sealedSecrets && openSecrets(berth.services.sealer, row)
}

let serial = 0
const bearer = (changes: object = {}) => ({
  type: 'static_bearer',
  mcp_server_url: `https://mcp-${++serial}.example.com/x`,
  token: 'secret-token',
  ...changes,
})
const oauth = (changes: object = {}) => ({
  type: 'mcp_oauth',
  mcp_server_url: `https://mcp-${++serial}.example.com/x`,
  access_token: 'secret-access',
  expires_at: '2030-01-02T03:04:05+02:00',
  refresh: refresh(),
  ...changes,
})
const refresh = (changes: object = {}) => ({
  client_id: 'me',
  refresh_token: 'secret-refresh',
  token_endpoint: 'https://auth.example.com/token',
  token_endpoint_auth: { type: 'client_secret_post', client_secret: 'secret-client' },
  scope: 'read write',
  ...changes,
})
const variable = (changes: object = {}) => ({
  type: 'environment_variable',
  secret_name: `NAME_${++serial}`,
  secret_value: 'secret value',
  ...changes,
})

describe('creating one', () => {
  test('of each kind returns everything except its secrets, which are stored', async () => {
    const moment = expect.stringMatching(/Z$/)
    const common = {
      id: expect.stringMatching(/^vcrd_/),
      type: 'vault_credential',
      vault_id: vault,
      metadata: {},
      display_name: null,
      created_at: moment,
      updated_at: moment,
      archived_at: null,
    }
    const b = bearer()
    expect(await make(b)).toEqual({ ...common, auth: { type: 'static_bearer', mcp_server_url: b.mcp_server_url } })
    const o = oauth()
    const made = await make(o, { display_name: 'docs', metadata: { a: 'b' } })
    expect(made).toEqual({
      ...common,
      display_name: 'docs',
      metadata: { a: 'b' },
      auth: {
        type: 'mcp_oauth',
        mcp_server_url: o.mcp_server_url,
        expires_at: '2030-01-02T01:04:05.000Z',
        refresh: {
          client_id: 'me',
          token_endpoint: 'https://auth.example.com/token',
          token_endpoint_auth: { type: 'client_secret_post' },
          scope: 'read write',
          resource: null,
        },
      },
    })
    const v = variable()
    expect((await make(v)).auth).toEqual({
      type: 'environment_variable',
      secret_name: v.secret_name,
      networking: null,
      injection_location: null,
    })
    expect(
      (await make(variable({ networking: { type: 'limited', allowed_hosts: ['API.example.com', '*.example.org'] } })))
        .auth,
    ).toMatchObject({
      networking: { type: 'limited', allowed_hosts: ['api.example.com', '*.example.org'] },
      injection_location: { header: true, body: false },
    })
    expect((await make(oauth({ expires_at: null, refresh: null }))).auth).toMatchObject({
      expires_at: null,
      refresh: null,
    })
    expect(await secretsOf(made.id)).toEqual({
      access_token: 'secret-access',
      refresh_token: 'secret-refresh',
      client_secret: 'secret-client',
    })
    expect((await call('GET', `/${made.id}`)).body).toEqual(made)
    expect(
      (await make({ type: 'static_bearer', mcp_server_url: 'http://tools.internal:8080/', token: 'x' })).auth[
        'mcp_server_url'
      ],
    ).toBe('http://tools.internal:8080/')
  })

  const wrong: readonly (readonly [string, unknown])[] = [
    ['nothing', null],
    ['text', 'x'],
    ['no type', {}],
    ['another type', { type: 'password' }],
    ['no token', bearer({ token: undefined })],
    ['an empty token', bearer({ token: '' })],
    ['a token with a line break', bearer({ token: 'secret\nX-Evil: 1' })],
    ['a token that is too long', bearer({ token: 'x'.repeat(limits.tokenLength + 1) })],
    ['a token that is a number', bearer({ token: 5 })],
    ['no address', bearer({ mcp_server_url: undefined })],
    ['a path for an address', bearer({ mcp_server_url: '/x' })],
    ['http', bearer({ mcp_server_url: 'http://mcp.example.com' })],
    ['http at another port of an open host', bearer({ mcp_server_url: 'http://tools.internal:81' })],
    ['file', bearer({ mcp_server_url: 'file:///etc/passwd' })],
    ['a password in the address', bearer({ mcp_server_url: 'https://a:secret-b@mcp.example.com' })],
    ['a fragment', bearer({ mcp_server_url: 'https://mcp.example.com/#x' })],
    ['a long address', bearer({ mcp_server_url: `https://a.example.com/${'x'.repeat(2048)}` })],
    ['no access token', oauth({ access_token: undefined })],
    ['a day that is none', oauth({ expires_at: 'tomorrow' })],
    ['no refresh token', oauth({ refresh: refresh({ refresh_token: undefined }) })],
    ['no client id', oauth({ refresh: refresh({ client_id: undefined }) })],
    ['a token endpoint without TLS', oauth({ refresh: refresh({ token_endpoint: 'http://auth.example.com/token' }) })],
    ['an unknown way to identify', oauth({ refresh: refresh({ token_endpoint_auth: { type: 'private_key_jwt' } }) })],
    ['no client secret', oauth({ refresh: refresh({ token_endpoint_auth: { type: 'client_secret_basic' } }) })],
    ['an unknown policy', variable({ networking: { type: 'none' } })],
    ['no hosts', variable({ networking: { type: 'limited', allowed_hosts: [] } })],
    ['17 hosts', variable({ networking: { type: 'limited', allowed_hosts: Array(17).fill('a.example.com') } })],
    ['a host with a port', variable({ networking: { type: 'limited', allowed_hosts: ['a.example.com:443'] } })],
    ['every host by a star', variable({ networking: { type: 'limited', allowed_hosts: ['*'] } })],
    ['a place without networking', variable({ injection_location: { header: true } })],
    [
      'no place',
      variable({ networking: { type: 'unrestricted' }, injection_location: { header: false, body: false } }),
    ],
  ]
  test.each(wrong)('with %s is refused, and the refusal repeats no secret', async (_what, auth) => {
    const refused = await call('POST', '', { auth })
    expect(refused).toMatchObject(error(400, 'invalid_request'))
    expect(JSON.stringify(refused.body)).not.toMatch(/secret-|xxxx/)
    expect((await call<List>('GET', '')).body.data).toEqual([])
  })

  test.each([
    ['1A', 'x', 'invalid_env_key'],
    ['PATH', 'x', 'invalid_env_key'],
    ['LD_PRELOAD', 'x', 'invalid_env_key'],
    ['BERTH_X', 'x', 'invalid_env_key'],
    ['A B', 'x', 'invalid_env_key'],
    ['A', '', 'invalid_env_value'],
    ['A', '() { :;}; x', 'invalid_env_value'],
    ['A', 'x'.repeat(32 * 1024 + 1), 'invalid_env_value'],
  ])('of the variable %j with the value %.10j is refused', async (secret_name, secret_value, code) => {
    expect(await call('POST', '', { auth: variable({ secret_name, secret_value }) })).toMatchObject(error(400, code))
  })

  test.each([
    [{ display_name: '' }],
    [{ display_name: 5 }],
    [{ metadata: { a: 1 } }],
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }],
  ])('with %j is refused', async (rest) => {
    expect(await call('POST', '', { auth: bearer(), ...rest })).toMatchObject(error(400, 'invalid_request'))
  })

  test('for a server or variable that the vault already has answers 409, however the URL is spelt, until the first is archived', async () => {
    const first = await make(bearer({ mcp_server_url: 'https://mcp.example.com/x' }))
    for (const auth of [
      bearer({ mcp_server_url: 'https://MCP.example.com:443/x/' }),
      oauth({ mcp_server_url: 'https://mcp.example.com/x' }),
    ])
      expect(await call('POST', '', { auth })).toMatchObject(error(409, 'credential_key_taken'))
    const named = await make(variable({ secret_name: 'API_KEY' }))
    expect(await call('POST', '', { auth: variable({ secret_name: 'API_KEY' }) })).toMatchObject(
      error(409, 'credential_key_taken'),
    )
    await make(variable({ secret_name: 'api_key' }))
    for (const { id } of [first, named]) await call('POST', `/${id}/archive`)
    await make(oauth({ mcp_server_url: 'https://mcp.example.com/x' }))
    await make(variable({ secret_name: 'API_KEY' }))
  })

  test('ten times concurrently for one server creates one', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, () =>
        call('POST', '', { auth: bearer({ mcp_server_url: 'https://race.example.com' }) }),
      ),
    )
    expect(made.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201,
      ...Array<number>(9).fill(409),
    ])
  })

  test('is refused when twenty are in use, also when requests are concurrent', async () => {
    const made = await Promise.all(Array.from({ length: 25 }, () => call('POST', '', { auth: bearer() })))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(made.find(({ status }) => status !== 201)).toMatchObject(error(400, 'invalid_request'))
    await call('POST', `/${made.find(({ status }) => status === 201)!.body.id}/archive`)
    await make()
  })
})

describe('changing one', () => {
  test.each(['PUT', 'POST'])('by %s renames any, and gives a static_bearer a new token', async (method) => {
    const made = await make()
    const renamed = (await call(method, `/${made.id}`, { display_name: 'other', metadata: { a: 'b' } })).body
    expect(renamed).toMatchObject({ display_name: 'other', metadata: { a: 'b' }, auth: made.auth })
    expect(await secretsOf(made.id)).toEqual({ token: 'secret-token' })
    const rotated = await call(method, `/${made.id}`, { auth: { ...made.auth, token: 'new-secret' } })
    expect(rotated).toMatchObject({ status: 200, body: { display_name: 'other', auth: made.auth } })
    expect(JSON.stringify(rotated.body)).not.toContain('new-secret')
    expect(await secretsOf(made.id)).toEqual({ token: 'new-secret' })
    expect((await call(method, `/${made.id}`, { display_name: null })).body.display_name).toBeNull()
    expect((await call(method, `/${(await make(oauth())).id}`, { display_name: 'x' })).body.display_name).toBe('x')
  })

  const refused: readonly (readonly [string, () => object, unknown, string])[] = [
    [
      'another mcp_server_url of a static_bearer',
      bearer,
      { mcp_server_url: 'https://other.example.com' },
      'mcp_server_url_immutable',
    ],
    [
      'another mcp_server_url with a new token',
      bearer,
      { type: 'static_bearer', mcp_server_url: 'https://other.example.com', token: 'new' },
      'mcp_server_url_immutable',
    ],
    [
      'another mcp_server_url of an mcp_oauth',
      oauth,
      { mcp_server_url: 'https://other.example.com' },
      'mcp_server_url_immutable',
    ],
    [
      'a mcp_server_url for a variable',
      variable,
      { mcp_server_url: 'https://other.example.com' },
      'mcp_server_url_immutable',
    ],
    ['another secret_name', variable, { secret_name: 'OTHER' }, 'secret_name_immutable'],
    ['a secret_name for a static_bearer', bearer, { secret_name: 'OTHER' }, 'secret_name_immutable'],
    ['another type', bearer, { type: 'mcp_oauth', access_token: 'x' }, 'invalid_request'],
    ['new tokens of an mcp_oauth', oauth, { type: 'mcp_oauth', access_token: 'x' }, 'invalid_request'],
    ['a new value of a variable', variable, { type: 'environment_variable', secret_value: 'x' }, 'invalid_request'],
    ['a token that is none', bearer, { token: 'a b' }, 'invalid_request'],
    ['text for auth', bearer, 'x', 'invalid_request'],
  ]
  test.each(refused)('to %s is refused and changes nothing', async (_what, auth, change, code) => {
    const made = await make(auth())
    const secrets = await secretsOf(made.id)
    expect(await call('PUT', `/${made.id}`, { display_name: 'new', auth: change })).toMatchObject(error(400, code))
    expect((await call('GET', `/${made.id}`)).body).toEqual(made)
    expect(await secretsOf(made.id)).toEqual(secrets)
  })

  test('when it is archived answers 409', async () => {
    const made = await make()
    await call('POST', `/${made.id}/archive`)
    expect(await call('PUT', `/${made.id}`, { display_name: 'x' })).toMatchObject(error(409, 'resource_archived'))
    const other = await make()
    await berth.call('POST', `/agents/v1/vaults/${vault}/archive`, { token })
    expect(await call('PUT', `/${other.id}`, { display_name: 'x' })).toMatchObject(error(409, 'vault_archived'))
  })
})

describe('the end of one', () => {
  test('archiving purges its secrets, repeating it changes nothing, and lists show it only on request', async () => {
    const made = await make(oauth())
    const archived = (await call('POST', `/${made.id}/archive`)).body
    expect(archived).toEqual({ ...made, archived_at: expect.any(String), updated_at: expect.any(String) })
    expect(await secretsOf(made.id)).toBeNull()
    expect((await call('POST', `/${made.id}/archive`)).body).toEqual(archived)
    expect((await call<List>('GET', '')).body.data).toEqual([])
    expect((await call<List>('GET', '?include_archived=true')).body.data).toEqual([archived])
  })

  test('archiving the vault purges the secrets of all, and deleting it leaves none', async () => {
    const made = [await make(), await make(oauth()), await make(variable())]
    await berth.call('POST', `/agents/v1/vaults/${vault}/archive`, { token })
    for (const { id } of made) expect(await secretsOf(id)).toBeNull()
    expect((await call('GET', `/${made[0]!.id}`)).body.archived_at).not.toBeNull()
    await berth.call('DELETE', `/agents/v1/vaults/${vault}`, { token })
    const { rows } = await sql`select from vault_credentials where vault_id = ${decodeId('vault', vault)}`.execute(
      berth.services.db,
    )
    expect(rows).toEqual([])
  })

  test('a deleted one is gone, and answers as Anthropic’s client expects when it asks', async () => {
    const [one, other] = [await make(), await make()]
    expect(await call('DELETE', `/${one.id}`)).toMatchObject({ status: 204, body: null })
    expect(await call('DELETE', `/${other.id}`, undefined, { headers: { 'anthropic-beta': 'x' } })).toMatchObject({
      status: 200,
      body: { id: other.id, type: 'vault_credential_deleted' },
    })
    expect((await call<List>('GET', '?include_archived=true')).body.data).toEqual([])
  })
})

test('the list is newest first and pages', async () => {
  const made = []
  for (let i = 0; i < 4; i++) made.unshift((await make()).id)
  const first = (await call<List>('GET', '?limit=3')).body
  expect([first.data.map(({ id }) => id), first.has_more]).toEqual([made.slice(0, 3), true])
  expect((await call<List>('GET', `?page=${first.next_page}`)).body).toMatchObject({
    data: [{ id: made[3] }],
    has_more: false,
    next_page: null,
  })
  for (const query of ['?limit=0', '?limit=101', '?page=x'])
    expect(await call('GET', query)).toMatchObject(error(400, 'invalid_request'))
})

test.each([
  ['GET', ''],
  ['PUT', ''],
  ['POST', ''],
  ['DELETE', ''],
  ['POST', '/archive'],
  ['POST', '/mcp_oauth_validate'],
])('%s of one%s: another’s, absent, malformed and another vault’s are answered alike', async (method, path) => {
  const made = await make(oauth())
  const other = (
    await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'other' } })
  ).body.id
  const stranger = await berth.token('mallory', 'evil', 'owner')
  const body = method === 'GET' || method === 'DELETE' ? undefined : {}
  const said = await Promise.all([
    call(method, `/${made.id}${path}`, body, { as: stranger }),
    call(method, `/${newId('credential')}${path}`, body),
    call(method, `/vcrd_x${path}`, body),
    call(method, `/${newId('vault')}${path}`, body),
    call(method, `/${made.id}${path}`, body, { within: other }),
    call(method, `/${made.id}${path}`, body, { within: newId('vault') }),
    call(method, `/${made.id}${path}`, body, { as: await berth.token('martha', 'acme', 'member') }),
  ])
  for (const answer of said)
    expect({ status: answer.status, body: { ...answer.body, request_id: '' } }).toEqual({
      status: 404,
      body: { ...said[0]!.body, request_id: '' },
    })
  expect((await call('GET', `/${made.id}`)).body).toEqual(made)
})
