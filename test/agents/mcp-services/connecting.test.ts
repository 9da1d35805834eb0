/** Connecting services: the catalog, signing in, coming back, disconnecting, and the choice of tools. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { sql } from '#src/platform/postgres.ts'
import { idsOf } from '../../support/makers.ts'
import { refusal } from '../../support/agents-service.ts'
import { passBy, returnUrl, startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'

let world: ConnectorWorld
let bob: string
beforeAll(async () => {
  world = await startConnectorWorld()
  bob = await world.berth.token('bob', 'acme', 'member')
})
afterAll(() => world.stop())
afterEach(async () => {
  shiftClock(0)
  for (const as of [world.token, bob]) await world.call('DELETE', '/mcp-services/desk/connection', undefined, as)
})

test('the catalog is Berth’s own with the operator’s file over it', async () => {
  const services = await world.services()
  expect(Object.keys(services)).toEqual(
    expect.arrayContaining(['linear', 'notion', 'github', 'slack', 'sentry', 'desk']),
  )
  expect(services).not.toHaveProperty('stripe')
  expect(services['desk']).toEqual({
    id: 'desk',
    type: 'mcp_service',
    name: 'Desk',
    description: 'Sums for those who sign in',
    icon_url: 'https://desk.example.com/i.png',
    url: world.tools.url,
    auth: 'oauth',
    connected: false,
    connected_at: null,
    tools_count: 0,
  })
  expect(services['board']).toMatchObject({ auth: 'none', connected: true, connected_at: null, icon_url: null })
  const first = await world.call<{ data: { id: string }[]; has_more: boolean; next_page: string }>(
    'GET',
    '/mcp-services?limit=2',
  )
  expect(first.body).toMatchObject({ has_more: true, data: [{ id: 'linear' }, { id: 'notion' }] })
  const next = await world.call<{ data: { id: string }[] }>('GET', `/mcp-services?limit=1&page=${first.body.next_page}`)
  expect(next.body.data).toMatchObject([{ id: 'github' }])
})

test('a person signs in with PKCE for this server only, and is connected; so is nobody else', async () => {
  const { authorization_url, state } = await world.start()
  expect(state).toMatch(/^[\w-]{43}$/)
  const asked = new URL(authorization_url).searchParams
  expect(Object.fromEntries(asked)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: `${world.berth.services.config.publicUrl}/agents/v1/mcp-services/callback/desk`,
    resource: world.tools.url,
    scope: 'read',
    state,
  })
  const back = await world.authority.visit(authorization_url)
  expect(back.searchParams.get('iss')).toBe(world.authority.issuer)
  back.host = new URL(world.berth.url).host
  const onward = await passBy(back)
  expect(onward.href.startsWith(returnUrl)).toBe(true)
  const code = onward.searchParams.get('code')
  const done = await world.call('POST', '/mcp-services/connect/complete', { code, state })
  expect([done.status, done.body]).toEqual([200, { id: 'desk', connected: true }])
  expect((await world.services())['desk']).toMatchObject({
    connected: true,
    connected_at: expect.stringMatching(/Z$/),
    tools_count: 2,
  })
  expect((await world.services(bob))['desk']).toMatchObject({ connected: false, tools_count: 0 })
  expect(world.tools.tokens.filter(Boolean).length).toBeGreaterThan(0)
  const { rows } = await sql<{
    row: string
  }>`select c::text || p::text as row from mcp_connections c, mcp_people p`.execute(world.berth.services.db)
  expect(JSON.stringify(rows)).not.toContain(world.tools.tokens.at(-1))
  // A second time is refused, and a code without its state too.
  expect(await world.call('POST', '/mcp-services/connect/complete', { code, state })).toMatchObject(
    refusal(400, 'invalid_code'),
  )
  expect((await world.services())['desk']).toMatchObject({ connected: true })
})

test('the tools of a service come with those that the person does not want, and unknown names are kept', async () => {
  expect(await world.call('GET', '/mcp-services/desk/tools')).toMatchObject(refusal(400, 'provider_not_connected'))
  await world.connect()
  const before = await world.call<{ data: { name: string }[] }>('GET', '/mcp-services/desk/tools')
  expect(before).toMatchObject({ status: 200, body: { data: [{ name: 'add' }, { name: 'show' }], disabled_tools: [] } })
  const chosen = await world.call('PUT', '/mcp-services/desk/tool-selection', {
    disabled_tools: ['show', 'gone', 'show'],
  })
  expect([chosen.status, chosen.body]).toEqual([200, { id: 'desk', disabled_tools: ['gone', 'show'] }])
  expect((await world.call('GET', '/mcp-services/desk/tools')).body).toMatchObject({
    data: [{ name: 'add' }, { name: 'show' }],
    disabled_tools: ['gone', 'show'],
  })
  for (const body of [
    {},
    { disabled_tools: null },
    { disabled_tools: [''] },
    { disabled_tools: [5] },
    { disabled_tools: [], more: 1 },
  ])
    expect(await world.call('PUT', '/mcp-services/desk/tool-selection', body), JSON.stringify(body)).toMatchObject({
      status: 400,
    })
  expect((await world.call('GET', '/mcp-services/board/tools')).body).toMatchObject({ data: [{ name: 'add' }, {}] })
  await world.call('PUT', '/mcp-services/desk/tool-selection', { disabled_tools: [] })
})

test('disconnecting deletes the tokens and withdraws them where they came from', async () => {
  await world.connect()
  world.authority.requests.length = 0
  expect((await world.call('DELETE', '/mcp-services/desk/connection')).status).toBe(204)
  expect(world.authority.requests.map(({ line, form }) => [line, form['token_type_hint']])).toEqual(
    expect.arrayContaining([
      ['POST /revoke', 'access_token'],
      ['POST /revoke', 'refresh_token'],
    ]),
  )
  expect((await world.services())['desk']).toMatchObject({ connected: false, connected_at: null })
  expect(await world.call('DELETE', '/mcp-services/desk/connection')).toMatchObject(refusal(404, 'not_found'))
})

test.each([
  ['https://evil.example.com/done', 400],
  ['https://app.example.com.evil.com/done', 400],
  ['https://user@app.example.com/done', 400],
  ['https://app.example.com/done#part', 400],
  ['http://app.example.com/done', 400],
  ['//app.example.com/done', 400],
  ['javascript:alert(1)', 400],
  ['https://app.example.com:444/done', 400],
  [`https://app.example.com/${'x'.repeat(2048)}`, 400],
  ['https://app.example.com', 200],
])('return_url %s is answered %i', async (return_url, status) => {
  const answer = await world.call('POST', '/mcp-services/desk/connect/start', { return_url })
  expect(answer.status).toBe(status)
  if (status === 400) expect(answer).toMatchObject(refusal(400, 'invalid_request'))
})

test('what cannot be connected is refused, and nobody without a person gets in', async () => {
  const start = (id: string, as?: string) =>
    world.call('POST', `/mcp-services/${id}/connect/start`, { return_url: returnUrl }, as)
  expect(await start('nowhere')).toMatchObject(refusal(404, 'not_found'))
  expect(await start('board')).toMatchObject(refusal(400, 'invalid_request'))
  expect(await start('slack')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('set services.slack.client_id and client_secret_env') } },
  })
  expect(await start('desk', await world.berth.token('victor', 'acme', 'viewer'))).toMatchObject({ status: 403 })
  expect((await world.berth.call('GET', '/agents/v1/mcp-services')).status).toBe(401)
  for (const body of [{}, { return_url: 5 }, { return_url: returnUrl, scope: 'all' }])
    expect(await world.call('POST', '/mcp-services/desk/connect/start', body)).toMatchObject({ status: 400 })
  for (const body of [
    {},
    { code: 'x' },
    { code: 'x', state: 'y', more: 1 },
    { code: 'a b', state: 'y' },
    { code: 'x', state: 'y'.repeat(43) },
  ])
    expect(await world.call('POST', '/mcp-services/connect/complete', body), JSON.stringify(body)).toMatchObject({
      status: 400,
    })
  expect(await world.call('PUT', '/mcp-services/nowhere/tool-selection', { disabled_tools: [] })).toMatchObject({
    status: 404,
  })
  expect(await world.call('GET', '/mcp-services/nowhere/tools')).toMatchObject({ status: 404 })
})

test('a state of another person is refused and stays good for its own; of two at once one completes', async () => {
  const back = await world.signIn()
  expect(await world.call('POST', '/mcp-services/connect/complete', back, bob)).toMatchObject(
    refusal(400, 'invalid_code'),
  )
  const both = await Promise.all([1, 2].map(() => world.call('POST', '/mcp-services/connect/complete', back)))
  expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 400]))
  expect((await world.services())['desk']).toMatchObject({ connected: true })
})

test('a state ends after ten minutes, and only ten are open at once', async () => {
  const late = await world.signIn()
  await sql`update mcp_authorizations set expires_at = now() - interval '1 second'`.execute(world.berth.services.db)
  expect(await world.call('POST', '/mcp-services/connect/complete', late)).toMatchObject(refusal(400, 'invalid_code'))
  const oldest = await world.signIn()
  for (let more = 0; more < 10; more++) await world.start()
  expect(await world.call('POST', '/mcp-services/connect/complete', oldest)).toMatchObject(refusal(400, 'invalid_code'))
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from mcp_authorizations`.execute(
    world.berth.services.db,
  )
  expect(rows[0]?.count).toBe(10)
})

test('connecting again withdraws the tokens of before where another client has them, and leaves those of the same', async () => {
  await world.connect()
  const withdrawn = () => world.authority.requests.filter(({ line }) => line === 'POST /revoke').length
  world.authority.requests.length = 0
  await world.connect()
  expect(withdrawn()).toBe(0)
  await sql`delete from mcp_clients`.execute(world.berth.services.db)
  await world.connect()
  expect(withdrawn()).toBe(2)
  expect((await world.call('GET', '/mcp-services/desk/tools')).status).toBe(200)
})

test('scopes that another server was asked for are not asked of the one that has its place', async () => {
  await world.connect()
  const { db } = world.berth.services
  const asked = async () => new URL((await world.start()).authorization_url).searchParams.get('scope')
  await sql`update mcp_connections set scope = 'read all', missing_scope = 'more'`.execute(db)
  expect(await asked()).toBe('read all more')
  await sql`update mcp_connections set server_url = 'https://before.example.com/mcp'`.execute(db)
  expect(await asked()).toBe('read')
})

test('a person has 200 connections at most, also when sign-ins that began before come to an end', async () => {
  const back = await world.signIn()
  const { db } = world.berth.services
  await sql`
    insert into mcp_connections (id, person_id, organization_id, owner_user_id, service_id, server_url, issuer, token_endpoint, client_id, client_auth, sealed_tokens)
    select gen_random_uuid(), p.id, p.organization_id, p.owner_user_id, 'many' || n, 'https://x.example.com/', 'x', 'x', 'x', 'none', ''
    from mcp_people p, generate_series(1, 200) n where p.owner_user_id = ${idsOf(world.token).userId}`.execute(db)
  world.authority.requests.length = 0
  expect(await world.call('POST', '/mcp-services/connect/complete', back)).toMatchObject(
    refusal(400, 'invalid_request'),
  )
  expect(world.authority.requests.filter(({ line }) => line === 'POST /revoke')).toHaveLength(2)
  await sql`delete from mcp_connections where service_id like 'many%'`.execute(db)
})

test('Berth is registered once at an authorization server, and publishes what it is', async () => {
  await world.connect()
  const { size } = world.authority.clients
  await world.start()
  expect(world.authority.clients.size).toBe(size)
  const { publicUrl } = world.berth.services.config
  expect((await world.berth.call('GET', '/agents/v1/mcp-services/desk/client.json')).body).toMatchObject({
    client_id: `${publicUrl}/agents/v1/mcp-services/desk/client.json`,
    redirect_uris: [`${publicUrl}/agents/v1/mcp-services/callback/desk`],
    token_endpoint_auth_method: 'none',
    client_name: 'Berth (Desk)',
  })
  expect((await world.berth.call('GET', '/agents/v1/mcp-services/nowhere/client.json')).status).toBe(404)
})
