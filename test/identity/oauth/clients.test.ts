/** Programs that say who they are: those that register, those with a metadata document, and how many there may be. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRegistered, mayRedirectTo } from '#src/identity/oauth/redirects.ts'
import { readConfig } from '#src/platform/config.ts'
import { decodeId } from '#src/platform/ids.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import { clientLimits } from '#src/resources/identity/authorizations/limits.ts'
import { authorizationRetention } from '#src/resources/identity/authorizations/retention.ts'
import { isDocumentAddress } from '#src/identity/oauth/documents.ts'
import { loopback, startOAuthWorld, type Browser, type OAuthAnswer, type OAuthWorld } from './world.ts'

let world: OAuthWorld
let alice: Browser
let site: Server
let documents: Record<string, { status?: number; body: string; headers?: Record<string, string> }>
let at: string
let fetched: string[]
beforeAll(async () => {
  documents = {}
  fetched = []
  site = createServer(({ url = '' }, answer) => {
    fetched.push(url)
    const { status = 200, body, headers = {} } = documents[url] ?? { status: 404, body: '' }
    answer.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo // it listens
  at = `http://127.0.0.1:${port}`
  world = await startOAuthWorld({ BERTH_PRIVATE_HOSTS: `127.0.0.1:${port}` })
  alice = await world.signIn()
})
afterAll(async () => {
  await world.stop()
  site.close()
})

const db = () => world.berth.services.db
async function register(
  body: unknown,
  type = 'application/json',
  to = world,
  more: Record<string, string> = {},
): Promise<OAuthAnswer> {
  const answer = await fetch(`${to.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': type, ...more },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as OAuthAnswer['body'] }
}
const callback = 'https://app.example/callback'

describe('a program that registers', () => {
  test('is told what holds, and is let in to its own address alone', async () => {
    const { status, body } = await register({
      redirect_uris: [callback, 'http://localhost/cb'],
      client_name: ' Tool ',
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code'],
      logo_uri: 'https://app.example/logo.png',
    })
    expect([status, body]).toEqual([
      201,
      {
        client_id: expect.stringMatching(/^oac_/),
        client_id_issued_at: expect.any(Number),
        client_name: 'Tool',
        redirect_uris: [callback, 'http://localhost/cb'],
        grant_types: expect.arrayContaining(['authorization_code', 'refresh_token']),
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ])
    const id = String(body['client_id'])
    const tokens = await world.letIn(alice, { client_id: id, redirect_uri: callback })
    expect(await world.ask(tokens.access_token)).toBe('200')
    const other = await world.letIn(alice, { client_id: id, redirect_uri: 'http://localhost:7777/cb' })
    expect(await world.ask(other.access_token)).toBe('200')
    const { url } = await world.begin({ client_id: id, redirect_uri: 'https://app.example/callback/more' })
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(400)
    // A link with a mistake in it sends nobody to a host that anybody may register.
    const wrong = await world.begin({ client_id: id, redirect_uri: callback, scope: 'openid' })
    const page = await fetch(wrong.url, { redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
  })

  test.each([
    ['without an address', {}, 'invalid_redirect_uri'],
    ['with a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with one of many that is wrong', { redirect_uris: [callback, 'http://app.example/'] }, 'invalid_redirect_uri'],
    ['with too many', { redirect_uris: Array<string>(11).fill(callback) }, 'invalid_redirect_uri'],
    ['with a long one', { redirect_uris: [`${callback}/${'a'.repeat(600)}`] }, 'invalid_redirect_uri'],
    ['with a long name', { redirect_uris: [callback], client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    ['with a name that is none', { redirect_uris: [callback], client_name: 7 }, 'invalid_client_metadata'],
    ['with a name that cannot be stored', { redirect_uris: [callback], client_name: 'a\0' }, 'invalid_request'],
    ['with a list', [], 'invalid_client_metadata'],
    ['with half of a body', '{', 'invalid_request'],
    ['with too much', { redirect_uris: [callback], client_uri: 'x'.repeat(20_000) }, 'invalid_request'],
  ])('%s is refused in the words of OAuth', async (_what, body, code) => {
    const answer = await register(body)
    expect([answer.body['error'], typeof answer.body['error_description']]).toEqual([code, 'string'])
    expect(answer.status).toBeGreaterThanOrEqual(400)
  })

  test('does so some times a minute, and has few registrations that nobody let in', async () => {
    const strict = await startOAuthWorld({ BERTH_RATE_LIMIT_FACTOR: '1', BERTH_TRUSTED_PROXIES: '127.0.0.0/8' })
    const toStrict = (address: string): Promise<OAuthAnswer> =>
      register({ redirect_uris: [callback] }, 'application/json', strict, { 'x-forwarded-for': address })
    try {
      const statuses: number[] = []
      for (let tries = 0; tries <= clientLimits.registrationsPerMinute; tries++)
        statuses.push((await toStrict(`2001:db8:1:2::${tries}`)).status) // one customer’s
      expect(statuses).toEqual([...Array<number>(clientLimits.registrationsPerMinute).fill(201), 429])
      expect((await toStrict('2001:db8:1:3::1')).status).toBe(201)
    } finally {
      await strict.stop()
    }
    await change(db(), sql`update oauth_clients set used_at = now()`)
    for (let more = 0; more < clientLimits.clientsPerAddress; more++)
      expect((await register({ redirect_uris: [callback] })).status).toBe(201)
    const { status, headers } = await register({ redirect_uris: [callback] })
    expect([status, headers.get('retry-after')]).toEqual([429, '3600'])
  })

  test('goes by itself when nobody lets it in, and stays while it acts for somebody', async () => {
    const names = async () =>
      (await findAll<{ name: string }>(db(), sql`select name from oauth_clients order by name`)).map(({ name }) => name)
    await change(db(), sql`delete from oauth_clients`)
    const used = await register({ redirect_uris: [callback], client_name: 'used' })
    for (const client_name of ['idle', 'new']) await register({ redirect_uris: [callback], client_name })
    await world.letIn(alice, { client_id: String(used.body['client_id']), redirect_uri: callback })
    await change(
      db(),
      sql`update oauth_clients set created_at = now() - interval '1 year', used_at = used_at - interval '1 year' where name <> 'new'`,
    )
    for (const { forget } of authorizationRetention) await forget(world.berth.services)
    expect(await names()).toEqual(['new', 'used'])
    await change(db(), sql`delete from authorizations`)
    for (const { forget } of authorizationRetention) await forget(world.berth.services)
    expect(await names()).toEqual(['new'])
  })
})

describe('when no more may register', () => {
  const { clientsMax, clientsPerPerson } = clientLimits
  /** Programs that somebody has let in, the oldest first: `made 1`, `made 2`, … */
  const fill = async (count: number): Promise<void> => {
    await change(db(), sql`delete from authorizations`)
    await change(db(), sql`delete from oauth_clients`)
    await change(
      db(),
      sql`
      insert into oauth_clients (client_id, name, redirect_uris, address, created_at, used_at)
      select 'made ' || n, 'made', array['https://app.example/'], '', now() - (10000 - n) * interval '1 second', now()
      from generate_series(1, ${count}::integer) n`,
    )
  }
  /** Alice lets in these, the last one most recently. */
  const act = async (first: number, last: number): Promise<void> => {
    const organizationId = decodeId('organization', alice.organizationId)
    await change(
      db(),
      sql`
      insert into authorizations (id, user_id, organization_id, client_id, client_name, scope, used_at, expires_at)
      select gen_random_uuid(), (select id from users where name = 'alice'), ${organizationId}::uuid, 'made ' || n, 'made', 'read',
        now() - (10000 - n) * interval '1 second', now() + interval '1 day'
      from generate_series(${first}::integer, ${last}::integer) n`,
    )
  }
  const isThere = async (n: number): Promise<boolean> =>
    (await findAll(db(), sql`select from oauth_clients where client_id = ${`made ${n}`}`)).length === 1

  test('the oldest that acts for nobody gives way, whoever has let it in before', async () => {
    await fill(clientsMax)
    await act(1, 3)
    expect((await register({ redirect_uris: [callback] })).status).toBe(201)
    expect(await Promise.all([1, 2, 3, 4, 5].map(isThere))).toEqual([true, true, true, false, true])
    await act(5, clientsMax)
    expect((await register({ redirect_uris: [callback] })).status).toBe(201) // in the place of the one before
    await fill(clientsMax)
    await act(1, clientsMax)
    expect((await register({ redirect_uris: [callback] })).status).toBe(429)
  })

  test('a person keeps few of them: what let in those that were not used for longest ends', async () => {
    await fill(clientsPerPerson + 2)
    await act(1, clientsPerPerson + 2)
    const { body } = await register({ redirect_uris: [callback] })
    await world.letIn(alice, { client_id: String(body['client_id']), redirect_uri: callback })
    const acting = await findAll<{ clientId: string }>(db(), sql`select client_id from authorizations order by used_at`)
    expect(acting.map(({ clientId }) => clientId)).toEqual([
      ...Array.from({ length: clientsPerPerson - 1 }, (_, at) => `made ${at + 4}`),
      body['client_id'],
    ])
    await world.letIn(alice, { client_id: String(body['client_id']), redirect_uri: callback })
    expect(await findAll(db(), sql`select from authorizations`)).toHaveLength(clientsPerPerson + 1) // the same program
  })
})

describe('a program with a document', () => {
  const document = (id: string, more: object = {}): string =>
    JSON.stringify({ client_id: id, client_name: 'Documented', redirect_uris: [callback], ...more })
  const page = async (id: string): Promise<number> => {
    const { url } = await world.begin({ client_id: id, redirect_uri: callback })
    return (await fetch(url, { redirect: 'manual' })).status
  }

  test('is what its document says, with the host that vouches for it, and is asked once for several requests', async () => {
    const id = `${at}/client.json`
    documents['/client.json'] = { body: document(id) }
    const { url } = await world.begin({ client_id: id, redirect_uri: callback })
    const request = await world.requestAt(url)
    const { body } = await alice.post('/identity/authorization', { request })
    expect(body).toMatchObject({
      client_name: 'Documented',
      client_host: new URL(at).host,
      returns_to: 'app.example',
    })
    const tokens = await world.letIn(alice, { client_id: id, redirect_uri: callback })
    expect(await world.ask(tokens.access_token)).toBe('200')
    expect(fetched.filter((path) => path === '/client.json')).toHaveLength(1)
  })

  test.each([
    ['is not there', undefined],
    ['is another’s', { body: document('https://other.example/client.json') }],
    ['is no JSON', { body: '<html>' }],
    ['is too long', { body: 'x'.repeat(clientLimits.documentBytes + 1) }],
    ['is elsewhere', { status: 302, body: '', headers: { location: '/client.json' } }],
    ['returns to a script', { body: document('?', { redirect_uris: ['javascript:alert(1)'] }) }],
    ['has a secret', { body: document('?', { token_endpoint_auth_method: 'client_secret_basic' }) }],
  ])('that %s is not known', async (what, answer) => {
    const path = `/${encodeURIComponent(what)}.json`
    if (answer) documents[path] = { ...answer, body: answer.body.replace('"?"', `"${at}${path}"`) }
    expect(await page(at + path)).toBe(400)
  })

  test('that could not be had is not fetched again at once', async () => {
    const path = '/late.json'
    expect(await page(at + path)).toBe(400)
    documents[path] = { body: document(at + path) }
    expect(await page(at + path)).toBe(400)
    expect(fetched.filter((one) => one === path)).toHaveLength(1)
  })

  test('is had whatever somebody else names: they use up what is theirs, and what is their host’s', async () => {
    const other = createServer((_request, answer) => void answer.writeHead(404).end())
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
    const elsewhere = `127.0.0.1:${(other.address() as AddressInfo).port}` // it listens
    const strict = await startOAuthWorld({
      BERTH_RATE_LIMIT_FACTOR: '1',
      BERTH_TRUSTED_PROXIES: '127.0.0.0/8',
      BERTH_PRIVATE_HOSTS: `${new URL(at).host},${elsewhere}`,
    })
    const statusFor = async (id: string, address: string): Promise<number> => {
      const { url } = await strict.begin({ client_id: id, redirect_uri: callback })
      return (await fetch(url, { redirect: 'manual', headers: { 'x-forwarded-for': address } })).status
    }
    const empty = (bucket: string) =>
      change(
        strict.berth.services.db,
        sql`
        insert into rate_buckets (bucket, tokens, granted, refilled_at) values (${bucket}, -1000000, 0, now())
        on conflict (bucket) do update set tokens = excluded.tokens`,
      )
    try {
      for (const path of ['/known.json', '/new.json']) documents[path] = { body: document(at + path) }
      const statuses: number[] = []
      for (let tries = 0; tries < 25; tries++)
        statuses.push(await statusFor(`http://${elsewhere}/${tries}`, `2001:db8:1:2::${tries}`))
      expect(new Set(statuses)).toEqual(new Set([400, 429])) // all were refused, some of them by the limit of the address
      expect(await statusFor(`${at}/known.json`, '198.51.100.1')).toBe(303)
      await empty(`oauth-documents-at:${elsewhere}`)
      expect(await statusFor(`http://${elsewhere}/more`, '198.51.100.2')).toBe(429)
      expect(await statusFor(`${at}/new.json`, '198.51.100.2')).toBe(303)
    } finally {
      await strict.stop()
      other.close()
    }
  })

  test('is not fetched from private addresses, nor without TLS, unless the operator lists them', () => {
    const { privateHosts } = readConfig({ BERTH_PRIVATE_HOSTS: '10.0.0.1:8080' })
    const ids = ['https://app.example/c', 'http://app.example/c', 'http://10.0.0.1:8080/c', 'https://app.example/']
    const more = [
      'https://app.example/c#x',
      'https://u:p@app.example/c',
      'https://app.example/a/../c',
      'ftp://a.example/c',
    ]
    expect([...ids, ...more].filter((id) => isDocumentAddress(privateHosts, id))).toEqual([ids[0], ids[2]])
  })

  test('at a private address is refused, whatever it says', async () => {
    expect(await page('https://127.0.0.1:1/client.json')).toBe(400)
    expect(await page('https://localhost:1/client.json')).toBe(400)
  })
})

test.each([
  [callback, true],
  [loopback, true],
  ['http://[::1]:1/cb', true],
  ['com.example.app:/callback', true],
  ['cursor://anysphere.cursor-mcp/oauth/callback', true],
  ['http://app.example/cb', false],
  ['http://localhost.evil.example/cb', false],
  ['https://u:p@app.example/cb', false],
  ['https://app.example/cb#x', false],
  ['https://app.example/\n', false],
  ['data:text/html,x', false],
  ['file:///etc/passwd', false],
  ['ms-msdt:/id', false],
  ['/callback', false],
  ['', false],
])('a program may return to %s: %s', (address, may) => {
  expect(mayRedirectTo(address)).toBe(may)
})

test('only the port of a loopback address is free', () => {
  const registered = ['http://127.0.0.1/cb', 'https://app.example/cb']
  const given = ['http://127.0.0.1:9/cb', 'http://127.0.0.1/cb', 'https://app.example/cb']
  const refused = [
    'http://localhost:9/cb',
    'http://127.0.0.1:9/cb?x=1',
    'https://app.example:444/cb',
    'https://app.example/CB',
  ]
  expect([...given, ...refused].filter((one) => isRegistered(registered, one))).toEqual(given)
})

test('pages of any origin may ask what programs ask, without any cookie, and nothing else', async () => {
  const headers = { origin: 'https://page.example' }
  const preflight = { ...headers, 'access-control-request-method': 'POST' }
  const open = async (path: string, init: RequestInit): Promise<string | null> =>
    (await fetch(world.origin + path, init)).headers.get('access-control-allow-origin')
  for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke', '/oauth/device_authorization']) {
    expect([path, await open(path, { method: 'OPTIONS', headers: preflight })]).toEqual([path, '*'])
    expect([path, await open(path, { method: 'POST', headers })]).toEqual([path, '*'])
  }
  for (const path of ['authorization-server', 'protected-resource', 'protected-resource/mcp'])
    expect([path, await open(`/.well-known/oauth-${path}`, { headers })]).toEqual([path, '*'])
  for (const path of ['/identity/authorization', '/identity/authorization/answer', '/graphql'])
    expect([path, await open(path, { method: 'POST', headers })]).toEqual([path, null])
})
