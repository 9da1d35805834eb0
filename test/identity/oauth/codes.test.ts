/** Programs that a person lets in by a browser: what they get, for how long, and what nobody else can do with it. */
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import { authorizationLimits } from '#src/resources/identity/authorizations/limits.ts'
import { authorizationRetention } from '#src/resources/identity/authorizations/retention.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { loopback, startOAuthWorld, type Browser, type OAuthWorld } from './world.ts'

let world: OAuthWorld
let alice: Browser
beforeAll(async () => {
  world = await startOAuthWorld({ BERTH_TRUSTED_PROXIES: '127.0.0.0/8' })
  alice = await world.signIn()
})
afterAll(() => world.stop())

const db = () => world.berth.services.db
const error = ({ body }: { body: Record<string, unknown> }): unknown => body['error']
/** A code that waits to be exchanged. */
async function codeFor(changes?: Record<string, string>): Promise<{ code: string; verifier: string }> {
  const { url, verifier } = await world.begin(changes)
  const code = (await world.allow(alice, await world.requestAt(url))).searchParams.get('code') ?? ''
  return { code, verifier }
}
const exchange = ({ code, verifier }: { code: string; verifier: string }, changes: Record<string, string> = {}) =>
  world.token({
    grant_type: 'authorization_code',
    client_id: 'berth-cli',
    redirect_uri: loopback,
    code,
    code_verifier: verifier,
    ...changes,
  })
const refresh = (token: string, changes: Record<string, string> = {}) =>
  world.token({ grant_type: 'refresh_token', client_id: 'berth-cli', refresh_token: token, ...changes })

describe('a program', () => {
  test('of a library finds its way by the metadata, and acts for whoever let it in', async () => {
    const client = await world.client()
    const verifier = oidc.randomPKCECodeVerifier()
    const state = oidc.randomState()
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: loopback,
      scope: 'read write',
      state,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: `${world.origin}/mcp`,
    })
    const back = await world.allow(alice, await world.requestAt(url))
    expect(back.href.split('?')[0]).toBe(loopback)
    const checks = { pkceCodeVerifier: verifier, expectedState: state }
    const tokens = await oidc.authorizationCodeGrant(client, back, checks, { resource: `${world.origin}/mcp` })
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'read write' })
    const { body } = await world.berth.ask('{ viewer { role user { name } organization { name } } }', {
      token: tokens.access_token,
    })
    expect(body).toEqual({
      data: { viewer: { role: 'MEMBER', user: { name: 'alice' }, organization: { name: 'acme' } } },
    })
    const again = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '')
    expect(await world.ask(again.access_token)).toBe('200')
    await oidc.tokenRevocation(client, again.refresh_token ?? '')
    expect(await world.ask(again.access_token)).toBe('UNAUTHORIZED')
  })

  test('is shown to the person before they answer, and never again after', async () => {
    const { url } = await world.begin({ scope: 'admin offline_access' })
    const request = await world.requestAt(url)
    const look = () => alice.post('/identity/authorization', { request })
    expect((await look()).body).toMatchObject({
      client_name: 'Berth’s command line',
      client_host: null,
      scope: 'admin',
      is_device: false,
      returns_to: null,
    })
    const denied = await alice.post('/identity/authorization/answer', { request, allow: false })
    const back = new URL(String(denied.body['to']))
    expect([back.searchParams.get('error'), back.searchParams.get('iss')]).toEqual(['access_denied', world.origin])
    expect((await look()).status).toBe(404)
    const late = await alice.post('/identity/authorization/answer', {
      request,
      allow: true,
      organization_id: alice.organizationId,
    })
    expect(late.status).toBe(404)
  })

  test('may do what its scope says, and no more than the person', async () => {
    const create = 'mutation { createProject(input: {name: "of a program"}) { project { id } } }'
    const keys = 'mutation { createApiKey(input: {name: "ci"}) { key } }'
    const outcomes: Record<string, string[]> = {}
    for (const scope of ['read', 'write', 'admin']) {
      const { access_token: token } = await world.letIn(alice, { scope })
      outcomes[scope] = await Promise.all([world.ask(token), world.ask(token, create), world.ask(token, keys)])
    }
    expect(outcomes).toEqual({
      read: ['200', 'MISSING_SCOPE', 'MISSING_SCOPE'],
      write: ['200', '200', 'NOT_PERMITTED_FOR_ROLE'],
      admin: ['200', '200', '200'],
    })
  })

  test('acts in the one organization that it was let in to, and for the person in nothing that is theirs alone', async () => {
    const both = await world.signIn('alice', 'second')
    const { access_token: token } = await world.letIn(both, { scope: 'admin' })
    const query =
      '{ viewer { organizations(first: 5) { nodes { name } } browserSessions { id } authorizations { id } } }'
    const { body } = await world.berth.ask(query, { token })
    expect(body.data).toEqual({
      viewer: { organizations: { nodes: [{ name: 'second' }] }, browserSessions: null, authorizations: null },
    })
    const elsewhere = await world.berth.ask('{ viewer { role } }', {
      token,
      headers: { 'berth-organization': alice.organizationId },
    })
    expect(elsewhere.body.errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(await world.ask(token, 'mutation { createOrganization(input: {name: "x"}) { organization { id } } }')).toBe(
      'FORBIDDEN',
    )
  })

  test('keeps no secret of its own in the database', async () => {
    const { url } = await world.begin()
    const request = await world.requestAt(url)
    const { code, verifier } = await codeFor()
    const tokens = (await exchange({ code, verifier })).body
    const rows = await findAll<{ text: string }>(
      db(),
      sql`select t::text as text from authorization_tokens t union all select r::text from authorization_requests r`,
    )
    const stored = rows.map(({ text }) => text).join()
    for (const secret of [request, code, tokens.access_token ?? '', tokens.refresh_token ?? '']) {
      expect(secret.length).toBeGreaterThan(40)
      expect(stored).not.toContain(secret)
    }
  })
})

describe('a code', () => {
  test('is exchanged by its own program, for its own address and verifier, within its time', async () => {
    const other = oidc.randomPKCECodeVerifier()
    expect(error(await exchange({ ...(await codeFor()), verifier: other }))).toBe('invalid_grant')
    expect(error(await exchange(await codeFor(), { redirect_uri: 'http://127.0.0.1:1/callback' }))).toBe(
      'invalid_grant',
    )
    expect(error(await exchange(await codeFor(), { client_id: 'another' }))).toBe('invalid_grant')
    expect(error(await exchange({ ...(await codeFor()), code: 'a'.repeat(43) }))).toBe('invalid_grant')
    expect(error(await exchange(await codeFor(), { resource: 'https://other.example/' }))).toBe('invalid_target')
    const late = await codeFor()
    await change(db(), sql`update authorization_requests set code_expires_at = now() where exchanged_at is null`)
    expect(error(await exchange(late))).toBe('invalid_grant')
  })

  test('that comes twice ends what came of it the first time', async () => {
    const held = await codeFor()
    const { body, headers } = await exchange(held)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(await world.ask(body.access_token ?? '')).toBe('200')
    expect(error(await exchange(held, { client_id: 'another' }))).toBe('invalid_grant')
    expect(await world.ask(body.access_token ?? '')).toBe('200')
    expect(error(await exchange(held))).toBe('invalid_grant')
    expect(await world.ask(body.access_token ?? '')).toBe('UNAUTHORIZED')
    expect(error(await refresh(body.refresh_token ?? ''))).toBe('invalid_grant')
  })

  test('is exchanged once, however many ask at the same moment', async () => {
    const held = await codeFor()
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(held)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('a request', () => {
  const page = async (
    changes: Record<string, string | undefined>,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; to: string | null }> => {
    const answer = await fetch((await world.begin(changes)).url, { redirect: 'manual', headers })
    return { status: answer.status, to: answer.headers.get('location') }
  }

  test.each([
    ['another host', { redirect_uri: 'https://evil.example/callback' }],
    ['another path', { redirect_uri: 'http://127.0.0.1:52123/other' }],
    ['a host that begins alike', { redirect_uri: 'http://127.0.0.1.evil.example/callback' }],
    ['a host behind a name', { redirect_uri: 'http://127.0.0.1@evil.example/callback' }],
    ['a script', { redirect_uri: 'javascript:alert(1)' }],
    ['no address', { redirect_uri: undefined }],
    ['an unknown program', { client_id: 'oac_00000000000000000000000000' }],
    ['no program', { client_id: undefined }],
  ])('for %s goes nowhere', async (_what, changes) => {
    expect(await page(changes)).toEqual({ status: 400, to: null })
  })

  test.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for a token at once', { response_type: 'token' }, 'unsupported_response_type'],
    ['for scopes that nobody knows', { scope: 'openid' }, 'invalid_scope'],
    ['for another server', { resource: 'https://other.example/mcp' }, 'invalid_target'],
  ])('%s is told to the program on this machine', async (_what, changes, code) => {
    const { to } = await page(changes)
    const back = new URL(to ?? '')
    expect([back.host, back.searchParams.get('error'), back.searchParams.has('code')]).toEqual([
      '127.0.0.1:52123',
      code,
      false,
    ])
  })

  test('is answered by our own page alone, with the cookie of a session, as JSON', async () => {
    const { url } = await world.begin()
    const request = await world.requestAt(url)
    const yes = { request, allow: true, organization_id: alice.organizationId }
    const answer = (headers: Record<string, string | undefined>, body: unknown = yes) =>
      alice.post('/identity/authorization/answer', body, headers)
    const { access_token: program } = await world.letIn(alice, { scope: 'admin' })
    const person = await world.berth.token('alice', 'acme', 'owner')
    for (const headers of [
      { origin: undefined },
      { origin: 'null' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { cookie: undefined },
      { cookie: undefined, authorization: `Bearer ${person}` },
      { cookie: undefined, authorization: `Bearer ${program}` },
    ])
      expect([headers, (await answer(headers)).status]).toEqual([headers, 401])
    const form = new URLSearchParams({ request, allow: 'true', organization_id: alice.organizationId }).toString()
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])
      expect((await answer({ 'content-type': type }, form)).status).toBe(400)
    expect((await answer({ 'content-type': 'text/plain' })).status).toBe(400)
    expect((await answer({})).status).toBe(200)
  })

  const { requestsMax, requestsPerAddress } = authorizationLimits
  /** Requests that wait: `made 1`, `made 2`, …, the oldest first. */
  async function fill(count: number, address: (n: ReturnType<typeof sql>) => ReturnType<typeof sql>): Promise<void> {
    await change(db(), sql`delete from authorization_requests`)
    await change(
      db(),
      sql`
      insert into authorization_requests (id, secret_sha256, client_id, client_name, scope, redirect_uri, code_challenge, address,
        created_at, expires_at)
      select gen_random_uuid(), sha256(n::text::bytea), 'made ' || n, 'made', 'read', ${loopback}, ${'a'.repeat(43)}, ${address(sql`n`)},
        now() - interval '1 minute' + n * interval '1 millisecond', now() + interval '1 minute'
      from generate_series(1, ${count}::integer) n`,
    )
  }
  const waiting = async (): Promise<string[]> =>
    (
      await findAll<{ clientId: string }>(db(), sql`select client_id from authorization_requests order by created_at`)
    ).map(({ clientId }) => clientId)

  test('finds room when very many wait: the oldest of the address that has the most gives way, or all that are over', async () => {
    await fill(
      requestsMax,
      (n) => sql`case when ${n} between 101 and 300 then 'busy' else 'address ' || ${n} % 100 end`,
    )
    expect((await page({})).status).toBe(303)
    const left = await waiting()
    expect([left.length, left[0], left[99], left[100], left.at(-1)]).toEqual([
      requestsMax,
      'made 1',
      'made 100',
      'made 102',
      'berth-cli',
    ])
    await change(db(), sql`update authorization_requests set expires_at = now() where address <> 'busy'`)
    expect((await page({})).status).toBe(303)
    expect(await waiting()).toHaveLength(199 + 1)
  })

  test('takes the place of the oldest of its own address when many from there wait: an IPv6 /64 is one address', async () => {
    await fill(requestsPerAddress, () => sql`'2001:db8:1:2::/64'`)
    const from = (address: string) => page({}, { 'x-forwarded-for': address })
    expect((await from('2001:db8:1:3::1')).status).toBe(303)
    expect(await waiting()).toHaveLength(requestsPerAddress + 1)
    expect((await from('2001:db8:1:2:ffff::9')).status).toBe(303)
    const left = await waiting()
    expect([left.length, left[0]]).toEqual([requestsPerAddress + 1, 'made 2'])
    // What was answered does not count.
    await change(db(), sql`update authorization_requests set denied_at = now() where client_id = 'made 2'`)
    expect((await from('2001:db8:1:2::10')).status).toBe(303)
    expect(await waiting()).toHaveLength(requestsPerAddress + 2)
  })

  test('lets a program in to no organization that the person does not belong to', async () => {
    const { url } = await world.begin()
    const request = await world.requestAt(url)
    const mallory = await world.signIn('mallory', 'evil')
    const given = { request, allow: true, organization_id: alice.organizationId }
    expect((await mallory.post('/identity/authorization/answer', given)).status).toBe(403)
    expect((await alice.post('/identity/authorization/answer', given)).status).toBe(200)
  })
})

describe('a refresh token', () => {
  test('is exchanged once; whoever uses it again ends the program’s access, for both', async () => {
    const first = await world.letIn(alice)
    const second = (await refresh(first.refresh_token)).body
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await world.ask(second.access_token ?? '')).toBe('200')
    expect(error(await refresh(second.refresh_token ?? '', { client_id: 'another' }))).toBe('invalid_grant')
    expect(error(await refresh(second.refresh_token ?? '', { scope: 'admin' }))).toBe('invalid_scope')
    expect(error(await refresh(first.refresh_token))).toBe('invalid_grant')
    expect(await Promise.all([first, second].map((one) => world.ask(one.access_token ?? '')))).toEqual([
      'UNAUTHORIZED',
      'UNAUTHORIZED',
    ])
    expect(error(await refresh(second.refresh_token ?? ''))).toBe('invalid_grant')
  })

  test('makes no more access tokens than may hold at once, of which the oldest ends', async () => {
    const first = await world.letIn(alice)
    let last = first
    for (let more = 0; more < authorizationLimits.accessTokensMax; more++)
      last = (await refresh(last.refresh_token)).body as typeof last // what the specification says
    expect(await Promise.all([first, last].map((one) => world.ask(one.access_token)))).toEqual(['UNAUTHORIZED', '200'])
  })
})

describe('an authorization', () => {
  const list = async (): Promise<{ id: string; clientName: string; scope: string }[]> => {
    const { body } = await alice.post('/graphql', {
      query: '{ viewer { authorizations { id clientName scope organization { name } } } }',
    })
    return (body['data'] as { viewer: { authorizations: never } }).viewer.authorizations
  }

  test('is listed to its person, and ended by them at once, also what it follows', async () => {
    const { access_token: token, refresh_token: next } = await world.letIn(alice, { scope: 'read' })
    expect(await world.ask(token)).toBe('200')
    const [newest] = await list()
    expect(newest).toMatchObject({ clientName: 'Berth’s command line', scope: 'READ', organization: { name: 'acme' } })
    const revoke = { query: `mutation { revokeAuthorization(input: {id: "${newest?.id}"}) { authorization { id } } }` }
    const mallory = await world.signIn('mallory', 'evil')
    expect(JSON.stringify((await mallory.post('/graphql', revoke)).body)).toContain('NOT_FOUND')
    expect(await world.ask(token)).toBe('200')
    expect((await alice.post('/graphql', revoke)).body).toMatchObject({
      data: { revokeAuthorization: { authorization: { id: newest?.id } } },
    })
    expect(await world.ask(token)).toBe('UNAUTHORIZED')
    expect(error(await refresh(next))).toBe('invalid_grant')
    expect((await list()).map(({ id }) => id)).not.toContain(newest?.id)
  })

  test('is in the audit when it begins and when it ends, whoever ends it', async () => {
    const { refresh_token: token } = await world.letIn(alice)
    await fetch(`${world.origin}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'berth-cli', token }),
    })
    const events = await findAll<{ operation: string; change: string; actorKind: string }>(
      db(),
      sql`select operation, change, actor_kind from audit_events where object_type = 'Authorization' order by id desc limit 2`,
    )
    expect(events).toEqual([
      { operation: 'revokeToken', change: 'deleted', actorKind: 'person' },
      { operation: 'allowProgram', change: 'created', actorKind: 'person' },
    ])
  })

  test('is in the audit with what its program does, also when it has ended', async () => {
    const { access_token: token } = await world.letIn(alice)
    const [newest] = await list()
    const create = 'mutation { createProject(input: {name: "traced"}) { project { id } } }'
    expect(await world.ask(token, create)).toBe('200')
    await alice.post('/graphql', {
      query: `mutation { revokeAuthorization(input: {id: "${newest?.id}"}) { authorization { id } } }`,
    })
    const owner = await world.berth.token('alice', 'acme', 'owner')
    const query = '{ auditEvents(first: 2) { nodes { operation actor { kind name program authorizationId } } } }'
    const { body } = await world.berth.ask(query, { token: owner })
    const actor = { kind: 'PERSON', name: 'alice' }
    expect(body.data).toEqual({
      auditEvents: {
        nodes: [
          { operation: 'revokeAuthorization', actor: { ...actor, program: null, authorizationId: null } },
          {
            operation: 'createProject',
            actor: { ...actor, program: 'Berth’s command line', authorizationId: newest?.id },
          },
        ],
      },
    })
  })

  test('ends when its person leaves the organization, and stays ended when they come back', async () => {
    const bob = await world.signIn('bob', 'acme')
    const { access_token: token, refresh_token: next } = await world.letIn(bob)
    const owner = await world.berth.token('alice', 'acme', 'owner')
    const { body } = await world.berth.ask('{ members(first: 10) { nodes { id user { name } } } }', { token: owner })
    const members = (body.data as { members: { nodes: { id: string; user: { name: string } }[] } }).members.nodes
    const id = members.find(({ user }) => user.name === 'bob')?.id
    await world.berth.ask(`mutation { removeMember(input: {id: "${id}"}) { member { id } } }`, { token: owner })
    await until('the token is refused', async () => (await world.ask(token)) === 'UNAUTHORIZED')
    await world.signIn('bob', 'acme')
    expect([await world.ask(token), error(await refresh(next))]).toEqual(['UNAUTHORIZED', 'invalid_grant'])
  })

  test('is of no use in an organization that is deactivated', async () => {
    const carol = await world.signIn('carol', 'closing')
    const { access_token: token, refresh_token: next } = await world.letIn(carol)
    const { organizationId } = idsOf(await world.berth.token('carol', 'closing', 'owner'))
    await change(db(), sql`update organizations set deactivated_at = now() where id = ${organizationId}`)
    await until('the token is refused', async () => (await world.ask(token)) === 'UNAUTHORIZED')
    expect(error(await refresh(next))).toBe('invalid_grant')
  })

  test('goes by itself when it was not used for long, as do its tokens and what was asked for', async () => {
    const { access_token: token, refresh_token: next } = await world.letIn(alice)
    const [newest] = await list()
    await change(
      db(),
      sql`update authorizations set used_at = now() - ${authorizationLimits.unusedDays + 1} * interval '1 day'`,
    )
    await change(db(), sql`update authorization_requests set created_at = now() - interval '2 hours'`)
    expect(error(await refresh(next))).toBe('invalid_grant')
    expect((await list()).map(({ id }) => id)).not.toContain(newest?.id)
    for (const { forget } of authorizationRetention) await forget(world.berth.services)
    const left = await findAll<{ id: string }>(db(), sql`select id from authorizations`)
    expect(left.map(({ id }) => encodeId('authorization', id))).not.toContain(newest?.id)
    expect(await findAll(db(), sql`select id from authorization_requests`)).toEqual([])
    await until('the token is refused', async () => (await world.ask(token)) === 'UNAUTHORIZED')
  })
})
