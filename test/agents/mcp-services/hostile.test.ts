/** Tool servers and authorization servers that lie, mix up, redirect, flood and hang; and browsers that bring anything. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import type { Answer } from '../../support/berth.ts'
import { refusal } from '../../support/agents-service.ts'
import { passBy, returnUrl, startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'
import { freePort } from '../../support/ports.ts'

let world: ConnectorWorld
let canary: Server
let canaryUrl: string
let reached = 0
beforeAll(async () => {
  const port = await freePort()
  canary = createServer((_req, res) => {
    reached++
    res.end('{}')
  }).listen(port, '127.0.0.1')
  await once(canary, 'listening')
  canaryUrl = `http://127.0.0.1:${port}` // a private address that nobody listed
  const twin = (url: string): string => `  twin: {name: Twin, description: x, url: "${url}"}\n`
  world = await startConnectorWorld({}, { more: twin })
})
afterAll(async () => {
  await world.stop()
  canary.close()
  expect(reached).toBe(0)
})
let usual: Record<string, unknown>
beforeAll(() => {
  usual = world.tools.metadata
})
afterEach(async () => {
  Object.assign(world.authority, { metadata: {}, intercept: null, expiresIn: 3600 })
  Object.assign(world.tools, { metadata: usual, before: null })
  await world.call('DELETE', '/mcp-services/desk/connection')
  await sql`delete from mcp_clients`.execute(world.berth.services.db)
  world.authority.requests.length = 0
})

const begin = (): Promise<Answer<Record<string, unknown>>> =>
  world.call('POST', '/mcp-services/desk/connect/start', { return_url: returnUrl })
const complete = (body: object): Promise<Answer<Record<string, unknown>>> =>
  world.call('POST', '/mcp-services/connect/complete', body)
const exchanges = () => world.authority.requests.filter(({ line }) => line === 'POST /token')
const withoutStrangersWords = (answer: Answer<unknown>): void =>
  expect(JSON.stringify(answer.body)).not.toContain('canary-words')

test('a browser that comes back from another authorization server goes on without the code, and the state ends', async () => {
  const { authorization_url, state } = await world.start()
  const back = await world.authority.visit(authorization_url)
  const code = back.searchParams.get('code')
  back.searchParams.set('iss', 'https://honest.example.com')
  const onward = await passBy(back)
  expect(onward.href).toBe(`${returnUrl}&error=wrong_issuer&state=${state}`)
  expect(await complete({ code, state })).toMatchObject(refusal(400, 'invalid_code'))
  expect(exchanges()).toEqual([])
})

test('a code that a lying service got from another one’s server, which names no issuer, is sent nowhere', async () => {
  world.authority.metadata = { authorization_response_iss_parameter_supported: null }
  const honest = await world.start('twin')
  const lying = await world.start('desk')
  // The lying service sends the browser on to the honest one's server, as Berth's client there, with its own state.
  const relayed = new URL(honest.authorization_url)
  for (const name of ['state', 'code_challenge'])
    relayed.searchParams.set(name, new URL(lying.authorization_url).searchParams.get(name) ?? '')
  const back = await world.authority.visit(relayed.href)
  expect((await passBy(back)).href).toBe(`${returnUrl}&error=wrong_issuer&state=${lying.state}`)
  expect(await complete({ code: back.searchParams.get('code'), state: lying.state })).toMatchObject(
    refusal(400, 'invalid_code'),
  )
  // With the lying service's own address the server does not know the client.
  relayed.searchParams.set('redirect_uri', new URL(lying.authorization_url).searchParams.get('redirect_uri') ?? '')
  await expect(world.authority.visit(relayed.href)).rejects.toThrow(/answered 400/)
  expect(exchanges()).toEqual([])
})

test('a code that comes with another issuer, or without the one that its server sends, is sent nowhere', async () => {
  for (const iss of ['https://honest.example.com', undefined]) {
    const { authorization_url, state } = await world.start()
    const back = await world.authority.visit(authorization_url) // not by Berth
    expect(await complete({ code: back.searchParams.get('code'), state, iss })).toMatchObject(
      refusal(400, 'invalid_code'),
    )
  }
  expect(exchanges()).toEqual([])
  const { authorization_url, state } = await world.start()
  const back = (await world.authority.visit(authorization_url)).searchParams
  expect((await complete({ code: back.get('code'), state, iss: back.get('iss') })).status).toBe(200)
})

test('a server that sends no issuer may leave it out', async () => {
  world.authority.metadata = { authorization_response_iss_parameter_supported: null }
  expect((await complete(await world.signIn())).status).toBe(200)
})

test.each<[string, () => void]>([
  [
    'says that it is another issuer',
    () => Object.assign(world.authority.metadata, { issuer: 'https://honest.example.com' }),
  ],
  ['is for another resource', () => (world.tools.metadata = { ...usual, resource: 'https://bank.example.com/mcp' })],
  ['is at a private address', () => (world.tools.metadata = { ...usual, authorization_servers: [canaryUrl] })],
  [
    'is at the address of a cloud’s metadata',
    () => (world.tools.metadata = { ...usual, authorization_servers: ['http://169.254.169.254'] }),
  ],
  [
    'has its token endpoint at a private address',
    () => Object.assign(world.authority.metadata, { token_endpoint: `${canaryUrl}/token` }),
  ],
  [
    'has its registration at a private address',
    () => Object.assign(world.authority.metadata, { registration_endpoint: `${canaryUrl}/register` }),
  ],
  [
    'has its revocation at a private address',
    () => Object.assign(world.authority.metadata, { revocation_endpoint: `${canaryUrl}/revoke` }),
  ],
  [
    'would run a script in the browser',
    () => Object.assign(world.authority.metadata, { authorization_endpoint: 'javascript:alert(1)' }),
  ],
  [
    'would have people sign in without TLS',
    () => Object.assign(world.authority.metadata, { authorization_endpoint: 'http://login.example.com/' }),
  ],
  [
    'has a password in an address',
    () => Object.assign(world.authority.metadata, { authorization_endpoint: 'https://a:b@login.example.com/' }),
  ],
  [
    'does not know PKCE',
    () => Object.assign(world.authority.metadata, { code_challenge_methods_supported: ['plain'] }),
  ],
  ['says nothing of PKCE', () => Object.assign(world.authority.metadata, { code_challenge_methods_supported: null })],
  ['takes no registrations', () => Object.assign(world.authority.metadata, { registration_endpoint: null })],
  [
    'sends its metadata round and round',
    () => {
      world.authority.intercept = (req, res) =>
        req.url?.startsWith('/.well-known/') === true && Boolean(res.writeHead(302, { location: req.url }).end())
    },
  ],
  [
    'sends its metadata elsewhere',
    () => {
      world.authority.intercept = (req, res) =>
        req.url?.startsWith('/.well-known/') === true &&
        Boolean(res.writeHead(302, { location: `${canaryUrl}/` }).end())
    },
  ],
  [
    'sends its registration elsewhere',
    () => {
      world.authority.intercept = (req, res) =>
        req.url === '/register' && Boolean(res.writeHead(307, { location: `${canaryUrl}/register` }).end())
    },
  ],
  [
    'refuses to register',
    () => {
      world.authority.intercept = (req, res) =>
        req.url === '/register' && Boolean(res.writeHead(400).end('{"error":"canary-words"}'))
    },
  ],
])('a service whose authorization server %s is not connected', async (what, lie) => {
  lie()
  const answer = await begin()
  const mayAnswerLater = /is at a private|of a cloud’s metadata|run a script/.test(what) // as if it were away
  expect(answer, JSON.stringify(answer.body)).toMatchObject(
    mayAnswerLater ? refusal(503, 'service_unavailable') : refusal(400, 'invalid_request'),
  )
  expect(answer.headers.get('retry-after')).toBe(mayAnswerLater ? '2' : null)
  withoutStrangersWords(answer)
})

test('metadata of 100 MB is not read to its end, and registers nothing', async () => {
  let sent = 0
  world.authority.intercept = (req, res) => {
    if (!req.url?.startsWith('/.well-known/')) return false
    res.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (sent < 100 * 1024 * 1024) {
        sent += 64 * 1024
        if (!res.write(' '.repeat(64 * 1024))) return void res.once('drain', more)
      }
      res.end()
    }
    more()
    return true
  }
  expect(await begin()).toMatchObject(refusal(503, 'service_unavailable'))
  expect(sent).toBeLessThan(20 * 1024 * 1024)
})

test('a service that hangs is given up after 10 s', { timeout: 30_000 }, async () => {
  world.tools.before = () => true
  expect(await begin()).toMatchObject(refusal(504, 'timeout'))
})

test.each<[string, string]>([
  ['{"error":"invalid_grant","error_description":"canary-words"}', 'invalid_code'],
  ['{"error":"server_error"}', 'service_unavailable'],
  ['{"access_token":"","token_type":"Bearer"}', 'service_unavailable'],
  ['{"access_token":"a\\u0000b","token_type":"Bearer"}', 'service_unavailable'],
  ['{"access_token":"a\\r\\nX: y","token_type":"Bearer"}', 'service_unavailable'],
  ['{"access_token":"abc","token_type":"mac"}', 'service_unavailable'],
  [`{"access_token":"${'x'.repeat(20_000)}","token_type":"Bearer"}`, 'service_unavailable'],
  ['not json', 'service_unavailable'],
])('of a token endpoint that answers %.60s nothing is kept', async (body, code) => {
  const back = await world.signIn()
  world.authority.intercept = (req, res) =>
    req.url === '/token' &&
    Boolean(res.writeHead(body.includes('error') ? 400 : 200, { 'content-type': 'application/json' }).end(body))
  const answer = await complete(back)
  expect(answer).toMatchObject({ body: { error: { code } } })
  withoutStrangersWords(answer)
  expect((await world.services())['desk']).toMatchObject({ connected: false })
})

test('a token endpoint that redirects gets no code sent on', async () => {
  const back = await world.signIn()
  world.authority.intercept = (req, res) =>
    req.url === '/token' && Boolean(res.writeHead(307, { location: `${canaryUrl}/token` }).end())
  expect((await complete(back)).status).toBeGreaterThanOrEqual(400)
})

test('a token for another audience opens nothing, and is refreshed once only', async () => {
  const { authorization_url, state } = await world.start()
  const elsewhere = new URL(authorization_url)
  elsewhere.searchParams.set('resource', 'https://bank.example.com/')
  world.authority.intercept = (_req, _res, form) => {
    if (form.has('code_verifier')) form.set('resource', 'https://bank.example.com/')
    return false
  }
  const onward = (await passBy(await world.authority.visit(elsewhere.href))).searchParams
  expect((await complete({ code: onward.get('code'), state })).status).toBe(200)
  world.authority.requests.length = 0
  expect(await world.call('GET', '/mcp-services/desk/tools')).toMatchObject(refusal(400, 'provider_not_connected'))
  expect(exchanges().length).toBeLessThanOrEqual(1)
})

test('a token goes to the server for which it was given, and to no other that the catalog names later', async () => {
  await world.connect()
  world.tools.tokens.length = 0
  await sql`update mcp_connections set server_url = 'https://before.example.com/mcp'`.execute(world.berth.services.db)
  expect((await world.services())['desk']).toMatchObject({ connected: false, connected_at: null })
  expect(await world.call('GET', '/mcp-services/desk/tools')).toMatchObject(refusal(400, 'provider_not_connected'))
  expect(world.tools.tokens).toEqual([])
})

test('a server that hangs when a token is withdrawn does not hang a disconnection', async () => {
  await world.connect()
  world.authority.intercept = (req) => req.url === '/revoke'
  expect((await world.call('DELETE', '/mcp-services/desk/connection')).status).toBe(204)
})

test('a browser is sent on only to where its sign-in began, whatever it brings', async () => {
  const callback = (query: string) =>
    fetch(`${world.berth.url}/agents/v1/mcp-services/callback/desk${query}`, { redirect: 'manual' })
  for (const query of [
    '',
    '?state=x',
    `?state=${'x'.repeat(43)}&code=y`,
    '?state=a&state=b',
    `?return_url=${canaryUrl}`,
  ])
    expect((await callback(query)).status, query).toBe(400)
  const { state } = await world.start()
  const bring = async (query: string): Promise<string | null> =>
    (await callback(`?state=${state}&${query}`)).headers.get('location')
  expect(await bring('error=access_denied&error_description=canary-words')).toBe(
    `${returnUrl}&error=access_denied&state=${state}`,
  )
  expect(await bring('error=%3Cscript%3E')).toBe(`${returnUrl}&error=no_code&state=${state}`)
  expect(await bring(`code=c&return_url=${canaryUrl}&redirect_uri=${canaryUrl}`)).toBe(
    `${returnUrl}&code=c&state=${state}`,
  )
  expect(await bring(`code=${'c'.repeat(5000)}`)).toBe(`${returnUrl}&error=no_code&state=${state}`)
})
