/** Sessions in browsers: what the cookie opens, for whose pages, with which roles, and how it ends. */
import { request, type IncomingHttpHeaders } from 'node:http'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ownCookieOf } from '#src/identity/browser-cookies.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { browserSessionLimits } from '#src/resources/identity/browser-sessions/limits.ts'
import { browserSessionRetention } from '#src/resources/identity/browser-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
})
afterAll(() => berth.stop())

type Answer = { status: number; headers: IncomingHttpHeaders; body: Record<string, never> | null }
type Sent = { method?: string; headers?: Record<string, string | undefined>; body?: unknown; to?: Berth }

/** Sends what our page sends, with changes; node:http, because fetch decides about Origin and cookies by itself. */
function send(path: string, { method = 'POST', headers = {}, body, to = berth }: Sent = {}): Promise<Answer> {
  const own = {
    'content-type': 'application/json',
    host: `localhost:${to.port}`,
    origin: `http://localhost:${to.port}`,
    'sec-fetch-site': 'same-origin',
  }
  const all = Object.entries({ ...own, ...headers }).filter((one): one is [string, string] => one[1] !== undefined)
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port: to.port, path, method, headers: Object.fromEntries(all) },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: text ? (JSON.parse(text) as Record<string, never>) : null,
          }),
        )
      },
    )
    asked.once('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const cookieOf = ({ headers }: Answer): string => headers['set-cookie']?.[0]?.split(';')[0] ?? ''
async function signIn(user: string, organization: string, agent = 'a browser'): Promise<string> {
  const answer = await send('/identity/session', {
    headers: { 'x-berth-sign-in': '1', 'user-agent': agent },
    body: { user, organization, create: true },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return cookieOf(answer)
}
const ask = (cookie: string, query: string, headers: Sent['headers'] = {}): Promise<Answer> =>
  send('/graphql', { headers: { cookie, ...headers }, body: { query } })
const codeOf = ({ body }: Answer): string | undefined =>
  (body as { errors?: { extensions: { code: string } }[] } | null)?.errors?.[0]?.extensions.code
const viewerOf = async (cookie: string, headers?: Sent['headers']): Promise<unknown> =>
  (await ask(cookie, '{ viewer { user { name } organization { name } role } }', headers)).body?.['data']?.['viewer']
const whoIs = (cookie: string, headers?: Sent['headers']): Promise<string | undefined> =>
  ask(cookie, '{ viewer { role } }', headers).then(codeOf)

describe('the cookie', () => {
  test('is opaque, for this site alone, and opens the graph to our own page', async () => {
    const answer = await send('/identity/session', {
      headers: { 'x-berth-sign-in': '1' },
      body: { user: 'alice', organization: 'acme', create: true },
    })
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^berth=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(JSON.stringify(answer.body)).not.toContain(cookieOf(answer).slice('berth='.length))
    expect(await viewerOf(cookieOf(answer))).toEqual({
      user: { name: 'alice' },
      organization: { name: 'acme' },
      role: 'OWNER',
    })
  })

  test('counts for no other page, no form, no other path, and beside no other credential', async () => {
    const cookie = await signIn('alice', 'acme')
    for (const headers of [
      { origin: undefined },
      { origin: 'null' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { host: 'rebound.evil.example', origin: 'http://rebound.evil.example' },
      { authorization: `Bearer ${cookie.slice('berth='.length)}` },
      { 'x-api-key': cookie.slice('berth='.length) },
      { cookie: `${cookie}; ${cookie.slice(0, -1)}x` },
      { cookie: cookie.slice(0, -1) },
      { cookie: 'berth=' },
    ])
      expect([headers, await whoIs(cookie, headers)]).toEqual([
        headers,
        headers.authorization || headers['x-api-key']
          ? expect.stringMatching(/^(?:UNAUTHORIZED|AUTHENTICATION)/)
          : 'UNAUTHORIZED',
      ])
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect((await ask(cookie, '{ viewer { role } }', { 'content-type': type })).status).toBeGreaterThanOrEqual(400)
    const read = await send('/graphql?query=%7Bviewer%7Brole%7D%7D', { method: 'GET', headers: { cookie } })
    expect(codeOf(read)).toBe('UNAUTHORIZED')
    expect((await send('/api/v1/vms', { method: 'GET', headers: { cookie } })).status).toBe(401)
    expect((await send('/agents/v1/agents', { method: 'GET', headers: { cookie } })).status).toBe(401)
    expect(await whoIs(cookie)).toBeUndefined()
  })

  test('has its secret nowhere in the database', async () => {
    const cookie = await signIn('secretive', 'acme')
    const rows = await findAll<{ text: string }>(berth.services.db, sql`select b::text as text from browser_sessions b`)
    const secret = cookie.slice('berth='.length)
    for (const { text } of rows) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('hex'))
      expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
    }
  })

  test('is taken by HTTPS alone, and from this host alone, where Berth has a public address', async () => {
    const to = await startBerth({ settings: { BERTH_PUBLIC_URL: 'https://berth.example' } })
    try {
      const headers = { origin: 'https://berth.example', host: 'berth.example' }
      const { headers: answered, status } = await send('/identity/session', { method: 'DELETE', headers, to })
      expect(status).toBe(204)
      const held = '__Host-berth=' + 'a'.repeat(43)
      const sent = { cookie: held, origin: 'https://berth.example', host: 'berth.example' }
      expect(ownCookieOf({ headers: sent }, to.services.config)).toEqual({ cookie: 'a'.repeat(43) })
      expect(
        ownCookieOf({ headers: { ...sent, cookie: held.slice('__Host-'.length) } }, to.services.config),
      ).toBeUndefined()
      expect(ownCookieOf({ headers: { ...sent, origin: 'http://berth.example' } }, to.services.config)).toBeUndefined()
      expect(answered['set-cookie']).toEqual(['__Host-berth=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure'])
    } finally {
      await to.stop()
    }
  })
})

describe('a session', () => {
  test('acts in the organization that a request names, with the role that its person has there now', async () => {
    await signIn('omar', 'first')
    const cookie = await signIn('omar', 'second')
    const boss = await berth.token('boss', 'second', 'owner')
    const { organizationId } = idsOf(boss)
    expect(await viewerOf(cookie)).toEqual({ user: { name: 'omar' }, organization: null, role: null })
    const second = { 'berth-organization': encodeId('organization', organizationId) }
    expect(await viewerOf(cookie, second)).toMatchObject({ organization: { name: 'second' }, role: 'OWNER' })
    const foreign = idsOf(await berth.token('sid', 'strangers', 'owner')).organizationId
    for (const named of [encodeId('organization', foreign), 'org_x', ''])
      expect(await whoIs(cookie, { 'berth-organization': named })).toBe('FORBIDDEN')
    const members = (await ask(cookie, '{ members { nodes { id user { name } } } }', second)).body as unknown as {
      data: { members: { nodes: { id: string; user: { name: string } }[] } }
    }
    const id = members.data.members.nodes.find(({ user }) => user.name === 'omar')?.id
    const change = `mutation { updateMember(input: { id: "${id}", role: VIEWER }) { member { role } } }`
    expect((await berth.ask(change, { token: boss })).body.errors).toBeUndefined()
    await until('the role counts', async () => {
      const seen = (await viewerOf(cookie, second)) as { role: string }
      return seen.role === 'VIEWER'
    })
    expect(
      (await berth.ask(`mutation { removeMember(input: { id: "${id}" }) { member { id } } }`, { token: boss })).body
        .errors,
    ).toBeUndefined()
    await until('who was removed is refused', async () => (await whoIs(cookie, second)) === 'FORBIDDEN')
    expect(await viewerOf(cookie)).toMatchObject({ organization: { name: 'first' } })
  })

  test('a token names an organization in the same way, over HTTP and on a socket', async () => {
    await berth.token('tess', 'one', 'owner')
    const token = await berth.token('tess', 'two', 'owner')
    const one = encodeId('organization', idsOf(await berth.token('tess', 'one', 'owner')).organizationId)
    const { body } = await berth.ask('{ viewer { organization { name } } }', {
      token,
      headers: { 'berth-organization': one },
    })
    expect(body.data).toEqual({ viewer: { organization: { name: 'one' } } })
    const firstOf = async (organization: string): Promise<unknown> => {
      const client = createClient({
        url: `ws://127.0.0.1:${berth.port}/graphql`,
        webSocketImpl: WebSocket,
        retryAttempts: 0,
        connectionParams: { authorization: `Bearer ${token}`, 'berth-organization': organization },
      })
      try {
        return (await client.iterate({ query: '{ viewer { organization { name } } }' }).next()).value
      } catch (refusal) {
        return (refusal as { code?: number }).code
      } finally {
        await client.dispose()
      }
    }
    expect(await firstOf(one)).toEqual({ data: { viewer: { organization: { name: 'one' } } } })
    expect(await firstOf('org_unknown')).toBe(4403)
  })

  test('is listed with where it began, and revoked by its person alone: what it follows ends', async () => {
    const cookie = await signIn('lena', 'listed', 'the laptop')
    const other = await signIn('lena', 'listed', 'the phone')
    const list = '{ viewer { browserSessions { id isCurrent userAgent address } } }'
    type Listed = { data: { viewer: { browserSessions: { id: string; isCurrent: boolean; userAgent: string }[] } } }
    const sessions = ((await ask(cookie, list)).body as unknown as Listed).data.viewer.browserSessions
    expect(new Map(sessions.map(({ isCurrent, userAgent }) => [userAgent, isCurrent]))).toEqual(
      new Map([
        ['the laptop', true],
        ['the phone', false],
      ]),
    )
    const phone = sessions.find(({ userAgent }) => userAgent === 'the phone')?.id
    const revoke = `mutation { revokeBrowserSession(input: { id: "${phone}" }) { browserSession { id } } }`
    const stranger = await signIn('sid', 'strangers')
    expect(codeOf(await ask(stranger, revoke))).toBe('NOT_FOUND')
    const socket = new WebSocket(`ws://localhost:${berth.port}/graphql`, 'graphql-transport-ws', {
      headers: { cookie: other, origin: `http://localhost:${berth.port}` },
    })
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send(JSON.stringify({ type: 'connection_init' }))
    await new Promise((resolve) => socket.once('message', resolve))
    expect(codeOf(await ask(cookie, revoke))).toBeUndefined()
    expect(await closed).toBe(4401)
    await until('the cookie is refused', async () => (await whoIs(other)) === 'UNAUTHORIZED')
    expect(codeOf(await ask(cookie, revoke))).toBe('NOT_FOUND')
    expect(await whoIs(cookie)).toBeUndefined()
  })

  test('that is one too many ends the one that was not used for longest', async () => {
    const oldest = await signIn('olaf', 'many')
    const { db } = berth.services
    await sql`update browser_sessions set used_at = now() - interval '2 hours' where user_id in (select id from users where name = 'olaf')`.execute(
      db,
    )
    await sql`
      insert into browser_sessions (id, user_id, secret_sha256, user_agent, address, used_at, expires_at)
      select gen_random_uuid(), id, sha256(n::text::bytea), 'made', '', now() - interval '1 hour', now() + interval '1 day'
      from users, generate_series(2, ${browserSessionLimits.perPerson}) n where name = 'olaf'`.execute(db)
    const newest = await signIn('olaf', 'many')
    await until('the oldest is refused', async () => (await whoIs(oldest)) === 'UNAUTHORIZED')
    expect(await whoIs(newest)).toBeUndefined()
    const [held] = await findAll<{ count: number }>(
      db,
      sql`select count(*)::int as count from browser_sessions where user_id in (select id from users where name = 'olaf')`,
    )
    expect(held?.count).toBe(browserSessionLimits.perPerson)
  })

  test('is not begun without a person, or for a name that is unknown', async () => {
    const headers = { 'x-berth-sign-in': '1' }
    expect((await send('/identity/session', { headers, body: { organization: 'acme' } })).status).toBe(400)
    const misspelt = { user: 'alice', organization: 'acme', creat: true }
    expect((await send('/identity/session', { headers, body: misspelt })).status).toBe(400)
    expect((await send('/identity/session', { headers, body: { user: 'a', organization: 'nowhere' } })).status).toBe(
      404,
    )
    expect((await send('/identity/session', { body: { user: 'alice', organization: 'acme' } })).status).toBe(403)
  })

  test('opens no socket to another site’s page', async () => {
    const cookie = await signIn('wanda', 'sockets')
    const socket = new WebSocket(`ws://localhost:${berth.port}/graphql`, 'graphql-transport-ws', {
      headers: { cookie, origin: 'https://evil.example' },
    })
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send(JSON.stringify({ type: 'connection_init' }))
    await new Promise((resolve) => socket.once('message', resolve))
    const said = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(String(data))))
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: '{ viewer { role } }' } }))
    expect(await said).toContain('UNAUTHORIZED')
    socket.close()
  })

  test('is looked for only so often when an address signs out again and again', async () => {
    const limited = await startBerth()
    try {
      const headers = { cookie: `berth=${'x'.repeat(43)}` }
      const out = (): Promise<Answer> => send('/identity/session', { method: 'DELETE', headers, to: limited })
      const answers: Answer[] = []
      while (answers.at(-1)?.status !== 429 && answers.length < 200) answers.push(await out())
      const last = answers.at(-1)
      expect(last).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
      expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0)
      expect(last?.headers['set-cookie']).toBeUndefined()
      expect(answers.slice(0, -1).map(({ status }) => status)).toContain(204)
    } finally {
      await limited.stop()
    }
  })

  test('ends when its person signs out, when it is not used, and when its time is over', async () => {
    const cookie = await signIn('ida', 'ending')
    expect(
      (await send('/identity/session', { method: 'DELETE', headers: { cookie, origin: 'https://evil.example' } }))
        .status,
    ).toBe(403)
    expect(await whoIs(cookie)).toBeUndefined()
    const out = await send('/identity/session', { method: 'DELETE', headers: { cookie } })
    expect([out.status, out.headers['set-cookie']]).toEqual([204, [expect.stringContaining('berth=; Max-Age=0')]])
    expect(await whoIs(cookie)).toBe('UNAUTHORIZED')
    for (const change of [sql`used_at = now() - interval '13 hours'`, sql`expires_at = now() - interval '1 second'`]) {
      const next = await signIn('ida', 'ending')
      await sql`update browser_sessions set ${change} where user_id in (select id from users where name = 'ida')`.execute(
        berth.services.db,
      )
      expect(await whoIs(next)).toBe('UNAUTHORIZED')
      await browserSessionRetention[0]?.forget(berth.services as never)
      expect(
        await findAll(
          berth.services.db,
          sql`select id from browser_sessions where user_id in (select id from users where name = 'ida')`,
        ),
      ).toEqual([])
    }
  })
})
