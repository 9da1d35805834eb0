/** A code host that fails: slow, broken, strict, or with tokens that end. */
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { codeHostApp, codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { badCredentials, rateLimitExceeded } from '../../support/code-host/recorded.ts'

/** How long a request may take: long, so that a busy machine is no fault, but short where no answer ever ends. */
const patience = vi.hoisted(() => ({ ms: 10_000 }))
const shortMs = 200
const longMs = patience.ms
vi.mock('#src/platform/limits/code-host.ts', async (original) => {
  const { codeHostLimits } = await original<typeof import('#src/platform/limits/code-host.ts')>()
  return {
    codeHostLimits: {
      ...codeHostLimits,
      requestsPerMinute: 1000,
      get requestMs() {
        return patience.ms
      },
      get revokeMs() {
        return patience.ms
      },
    },
  }
})

let berth: Berth
let host: CodeHost
let token: string
beforeAll(async () => {
  host = await startCodeHost()
  berth = await startBerth({ settings: codeHostSettings(host) })
  token = await berth.token()
})
afterAll(async () => {
  await berth.stop()
  host.close()
})
beforeEach(async () => {
  await call('DELETE', '/disconnect')
  host.asked.length = 0
})
afterEach(heal)

type Body = { error?: string; message?: string; [key: string]: unknown }
const call = (method: string, path: string, body?: unknown) =>
  berth.call<Body>(method, `/api/v1/codehost${path}`, { token, ...(body === undefined ? {} : { body }) })
const connect = (login: string, expiresIn?: number) =>
  call('POST', '/save-token', { code: host.code(login, expiresIn === undefined ? {} : { expiresIn }) })
const json =
  (status: number, value: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

/** Ways to fail, each at a path of its own choice. */
const faults: Record<string, (response: ServerResponse) => void> = {
  'never answers': () => undefined,
  'answers half': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('[{"id":')
    setImmediate(() => response.destroy())
  },
  'begins, and goes on for ever': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('[')
  },
  'sends garbage': (response) => void response.end('<html>it works</html>'),
  'sends another shape': json(200, { repositories: 'none' }),
  'sends more entries than asked for': json(
    200,
    Array.from({ length: 31 }, () => ({})),
  ),
  'sends 5 MiB': (response) => void response.end(`["${'x'.repeat(5 * 1024 * 1024)}"]`),
  fails: json(503, { message: 'Service Unavailable' }),
  closes: (response) => void response.destroy(),
  'redirects to another host': (response) =>
    void response.writeHead(302, { location: 'http://203.0.113.9/user/repos' }).end(),
  'redirects in a circle': (response) => void response.writeHead(302, { location: '/api/v3/user/repos' }).end(),
}

/** Has it fail so from now on. */
function fail(path: string, name: string): void {
  patience.ms = name === 'never answers' || name === 'begins, and goes on for ever' ? shortMs : longMs
  host.fail(path, faults[name]!) // of the table's names
}

function heal(): void {
  patience.ms = longMs
  host.heal()
}

test.each(Object.keys(faults))(
  'a code host that %s is answered with 500 and a sentence; in GraphQL with 502 or 504',
  async (name) => {
    await connect('octocat')
    fail('/api/v3/user/repos', name)
    const { status, body } = await call('GET', '/repos')
    expect([status, body.error]).toEqual([500, 'internal_error'])
    expect(body.message).toMatch(/code host/i)
    const asked = await berth.ask('{ codeHostRepositories { page } }', { token })
    expect(asked.body).toMatchObject({
      errors: [{ extensions: { code: expect.stringMatching(/^(UPSTREAM_ERROR|TIMEOUT)$/) } }],
    })
    heal()
    expect((await call('GET', '/repos')).status).toBe(200)
  },
)

test.each(Object.keys(faults))(
  'while it %s, an account that is being connected is not, and its token is withdrawn',
  async (name) => {
    fail('/api/v3/user', name)
    expect((await connect('newcomer')).status).toBe(500)
    expect((await call('GET', '/status')).body['connected']).toBe(false)
    expect(host.tokensOf('newcomer')).toEqual([])
  },
)

test('where the exchange of the code fails, nothing is connected', async () => {
  for (const name of Object.keys(faults)) {
    fail('/login/oauth/access_token', name)
    expect((await connect('octocat')).status).toBe(500)
  }
  heal()
  host.fail('/login/oauth/access_token', json(200, { error: 'incorrect_client_credentials' }))
  expect((await connect('octocat')).body.message).toContain('BERTH_CODEHOST_CLIENT_SECRET')
  expect((await call('GET', '/status')).body['connected']).toBe(false)
})

test('the status of a connected account needs no answer: the app counts as installed as before', async () => {
  await connect('octocat')
  host.installed = false
  expect((await call('GET', '/status')).body).toMatchObject({ connected: true, installed: false })
  host.installed = true
  expect((await call('GET', '/status')).body).toMatchObject({ connected: true, installed: true })
  fail('/api/v3/user/installations', 'never answers')
  expect((await call('GET', '/status')).body).toMatchObject({ connected: true, installed: true, username: 'octocat' })
  heal()
  host.fail(
    '/api/v3/user/installations',
    json(403, { message: 'You must authenticate with an access token authorized to a GitHub App.' }),
  )
  expect((await call('GET', '/status')).body).toMatchObject({ connected: true, installed: false })
})

test('used-up requests are a 429 that says when to come back', async () => {
  await connect('octocat')
  const reset = String(Math.floor(Date.now() / 1000) + 90)
  host.fail(
    '/api/v3/user/repos',
    json(403, rateLimitExceeded, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }),
  )
  const { status, body, headers } = await call('GET', '/repos')
  expect([status, body.error]).toEqual([429, 'rate_limited'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(80)
  host.fail('/api/v3/user/repos', json(429, {}, { 'retry-after': '999999999' }))
  expect((await call('GET', '/repos')).headers.get('retry-after')).toBe('3600')
})

test('a renamed repository is found where the code host says, on the same host', async () => {
  host.account('octocat').repositories = ['new-name']
  await connect('octocat')
  host.fail(
    '/api/v3/repos/octocat/old-name',
    (response) => void response.writeHead(301, { location: '/api/v3/repos/octocat/new-name/branches?page=1' }).end(),
  )
  expect((await call('GET', '/repos/octocat/old-name/branches')).body['branches']).toHaveLength(1)
})

test('a token that the code host no longer accepts is a 401 with the code alone, everywhere', async () => {
  await connect('octocat')
  for (const one of host.tokensOf('octocat')) host.revoke(one)
  for (const [method, path, body] of [
    ['GET', '/repos', undefined],
    ['GET', '/status', undefined],
    ['GET', '/repos/o/r/branches', undefined],
    ['POST', '/repositories/create', { name: 'x' }],
  ] as const)
    expect(await call(method, path, body)).toMatchObject({ status: 401, body: { error: 'provider_token_invalid' } })
  expect((await call('GET', '/repos')).body).toEqual({ error: 'provider_token_invalid' })
  expect((await call('GET', '/token-info')).status).toBe(200)
})

describe('tokens that end', () => {
  const renewals = (): number =>
    host.asked.filter(({ path, body }) => path === '/login/oauth/access_token' && body.includes('refresh_token')).length
  const expire = () =>
    sql`update code_host_links set expires_at = now() - interval '1 second'`.execute(berth.services.db)

  test('are renewed before they do, once for all requests at the same time', async () => {
    await connect('octocat', 30)
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('GET', '/repos')))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect(renewals()).toBe(1)
  })

  test('are renewed when the code host refuses them early', async () => {
    await connect('octocat', 8 * 3600)
    for (const one of host.tokensOf('octocat')) host.revoke(one)
    expect((await call('GET', '/repos')).status).toBe(200)
    expect(renewals()).toBe(1)
    expect((await call('GET', '/repos')).status).toBe(200)
    expect(renewals()).toBe(1)
  })

  test('and cannot be renewed any more are a 401, and the code host is asked once only', async () => {
    await connect('octocat', 30)
    await expire()
    host.fail('/login/oauth/access_token', json(200, { error: 'bad_refresh_token' }))
    expect(await call('GET', '/repos')).toMatchObject({ status: 401, body: { error: 'provider_token_invalid' } })
    expect((await call('GET', '/repos')).status).toBe(401)
    expect(renewals()).toBe(1)
    heal()
    expect((await connect('octocat', 8 * 3600)).status).toBe(200)
    expect((await call('GET', '/repos')).status).toBe(200)
  })

  test('stay in use for their last minute while they cannot be renewed, and are an error after it', async () => {
    await connect('octocat', 30)
    const neverRenewed = (): void => {
      patience.ms = shortMs
      host.fail('/login/oauth/access_token', () => (patience.ms = longMs)) // what is asked next is answered
    }
    neverRenewed()
    expect((await call('GET', '/repos')).status).toBe(200)
    await expire()
    neverRenewed()
    expect((await call('GET', '/repos')).status).toBe(500)
    heal()
    expect((await call('GET', '/repos')).status).toBe(200)
  })
})

test('a token that is renewed while its account is disconnected is withdrawn too', async () => {
  await connect('octocat', 30)
  await sql`update code_host_links set expires_at = now() - interval '1 second'`.execute(berth.services.db)
  const late = { access_token: 'gho_late', refresh_token: 'ghr_late', expires_in: 28_800, scope: '' }
  host.fail('/login/oauth/access_token', (response) => {
    const disconnect = sql`delete from code_host_links`.execute(berth.services.db) // what a disconnect does here, at once
    void disconnect.then(() => json(200, late)(response))
  })
  expect(await call('GET', '/repos')).toMatchObject({ status: 401, body: { error: 'provider_token_invalid' } })
  const withdrawn = host.asked.filter(({ path }) => path.startsWith('/api/v3/applications/')).map(({ body }) => body)
  expect(withdrawn).toEqual([JSON.stringify({ access_token: 'gho_late' })])
})

test('no answer, and no stored row, has the token, the refresh token or the client secret, whatever the code host repeats', async () => {
  await connect('octocat', 8 * 3600)
  const [secret = ''] = host.tokensOf('octocat')
  host.fail('/api/v3/user/repos', (response, request) =>
    json(422, { message: `Refused ${request.headers.authorization}` })(response),
  )
  const { body } = await call('POST', '/repositories/create', { name: 'x' })
  expect(body.message).toBe('The code host refused it: Refused Bearer ***.')
  const tables = ['code_host_links', 'code_host_states', 'idempotency_keys']
  for (const table of tables) {
    const text = JSON.stringify((await sql`select t::text from ${sql.table(table)} t`.execute(berth.services.db)).rows)
    for (const one of [secret, codeHostApp.secret]) expect(text).not.toContain(one)
  }
  expect(badCredentials.message).toBe('Bad credentials')
})

test('an account of a code host that the settings no longer name is not there, and its token is not sent to the new one', async () => {
  await connect('octocat')
  await sql`update code_host_links set url = 'https://elsewhere.example'`.execute(berth.services.db)
  expect((await call('GET', '/status')).body['connected']).toBe(false)
  expect((await call('GET', '/repos')).body).toEqual({ error: 'provider_not_connected' })
  host.asked.length = 0
  expect((await call('DELETE', '/disconnect')).status).toBe(200)
  expect(host.asked).toEqual([])
})
