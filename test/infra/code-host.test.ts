/** Code hosting: connecting an account, what it shows and makes, and taking it away. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../support/code-host/code-host.ts'
import { idsOf, makeKey } from '../support/makers.ts'

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

type Body = { error?: string; message: string; [key: string]: unknown }
const call = (method: string, path: string, body?: unknown, as: string = token) =>
  berth.call<Body>(method, `/api/v1/codehost${path}`, { token: as, ...(body === undefined ? {} : { body }) })
const connect = (login: string, as: string = token, code = host.code(login)) =>
  call('POST', '/save-token', { code }, as)
const stored = async (): Promise<string> =>
  JSON.stringify((await sql`select * from code_host_links`.execute(berth.services.db)).rows)

test('an account is connected by a code, shown without its token, and disconnected, which withdraws the token', async () => {
  expect((await call('GET', '/status')).body).toEqual({ connected: false, installed: false, username: null })
  expect(await call('GET', '/token-info')).toMatchObject({ status: 404, body: { error: 'not_found' } })
  expect(await connect('octocat')).toMatchObject({
    status: 200,
    body: { message: 'The account octocat is connected.' },
  })
  const [secret = ''] = host.tokensOf('octocat')
  expect((await call('GET', '/status')).body).toEqual({ connected: true, installed: true, username: 'octocat' })
  expect((await call('GET', '/token-info')).body).toEqual({
    scopes: 'repo,gist',
    token_preview: `${secret.slice(0, 4)}…${secret.slice(-4)}`,
  })
  expect(await stored()).not.toContain(secret)
  expect((await call('DELETE', '/disconnect')).body).toEqual({ message: 'The account is disconnected.' })
  expect(host.accepts(secret)).toBe(false)
  expect((await call('DELETE', '/disconnect')).body).toEqual({ message: 'No account was connected.' })
  expect(await stored()).toBe('[]')
})

test('the app is described, also under the word github', async () => {
  for (const word of ['codehost', 'github'])
    expect((await berth.call('GET', `/api/v1/${word}/app-info`, { token })).body).toEqual({
      app_name: 'berth-test',
      client_id: 'Iv1.8a61f9b3a7aba766',
      installation_url: `http://127.0.0.1:${host.port}/github-apps/berth-test/installations/new`,
    })
  expect((await berth.call('GET', '/api/v1/github/status', { token })).body['connected']).toBe(false)
  expect((await berth.call('GET', '/api/v1/github/app-info')).status).toBe(401)
})

test('repositories are listed by pages, with ids beyond 32 bits, and branches all of them', async () => {
  const account = host.account('lister')
  account.repositories = Array.from({ length: 35 }, (_, at) => `repo-${at}`)
  account.branches = ['main', ...Array.from({ length: 130 }, (_, at) => `branch-${at}`)]
  await connect('lister')
  const first = await call('GET', '/repos')
  expect(first.body).toMatchObject({ page: 1, per_page: 30 })
  expect(first.body['repos']).toHaveLength(30)
  expect((first.body['repos'] as unknown[])[0]).toEqual({
    id: 5_000_000_000,
    name: 'repo-0',
    full_name: 'lister/repo-0',
  })
  expect((await call('GET', '/repos?page=2&per_page=34')).body['repos']).toHaveLength(1)
  const { body } = await call('GET', '/repos/lister/repo-1/branches')
  expect(body).toMatchObject({ owner: 'lister', repo: 'repo-1' })
  expect(body['branches']).toHaveLength(131)
  expect((body['branches'] as unknown[]).slice(0, 2)).toEqual([
    { name: 'main', protected: true },
    { name: 'branch-0', protected: false },
  ])
  expect(await call('GET', '/repos/lister/none/branches')).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  })
})

test('a repository is created, private unless asked otherwise, and a name that is taken is refused in the code host’s words', async () => {
  await connect('maker')
  const made = await call('POST', '/repositories/create', { name: 'fresh', description: 'A first one' })
  expect(made).toMatchObject({
    status: 201,
    body: { id: 5_000_000_000, name: 'fresh', html_url: `http://127.0.0.1:${host.port}/maker/fresh` },
  })
  const sent = host.asked.find(({ method, path }) => method === 'POST' && path === '/api/v3/user/repos')
  expect(JSON.parse(sent?.body ?? '{}')).toEqual({ name: 'fresh', description: 'A first one', private: true })
  expect(await call('POST', '/repositories/create', { name: 'fresh', private: false })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', message: 'The code host refused it: name already exists on this account.' },
  })
})

test.each([
  ['GET', '/repos?per_page=101', undefined],
  ['GET', '/repos?per_page=0', undefined],
  ['GET', '/repos?page=0', undefined],
  ['GET', '/repos?page=many', undefined],
  ['GET', '/repos?colour=red', undefined],
  ['GET', `/repos/${'o'.repeat(101)}/r/branches`, undefined],
  ['GET', '/repos/o/a%20b/branches', undefined],
  ['GET', '/repos/o/a%2Fb/branches', undefined],
  ['POST', '/repositories/create', {}],
  ['POST', '/repositories/create', { name: 'a b' }],
  ['POST', '/repositories/create', { name: '..' }],
  ['POST', '/repositories/create', { name: 'x'.repeat(101) }],
  ['POST', '/repositories/create', { name: 'x', private: 'yes' }],
  ['POST', '/repositories/create', { name: 'x', description: 'two\nlines' }],
  ['POST', '/repositories/create', { name: 'x', colour: 'red' }],
  ['POST', '/save-token', {}],
  ['POST', '/save-token', { code: 5 }],
])('%s %s with %j is refused, and the code host hears nothing of it', async (method, path, body) => {
  expect(await call(method, path, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(host.asked).toEqual([])
})

test('without an account, what needs one answers with the code alone', async () => {
  for (const [method, path, body] of [
    ['GET', '/repos', undefined],
    ['GET', '/repos/o/r/branches', undefined],
    ['POST', '/repositories/create', { name: 'x' }],
  ] as const)
    expect(await call(method, path, body)).toMatchObject({ status: 400, body: { error: 'provider_not_connected' } })
  expect((await call('GET', '/repos')).body).toEqual({ error: 'provider_not_connected' })
})

test('a code that is wrong or was used connects nothing', async () => {
  const code = host.code('octocat')
  expect((await connect('octocat', token, code)).status).toBe(200)
  for (const bad of [code, 'never-given', 'with space', 'x'.repeat(513), ''])
    expect(await connect('octocat', token, bad)).toMatchObject({ status: 400, body: { error: 'invalid_code' } })
  expect((await call('GET', '/status')).body['username']).toBe('octocat')
})

test('another account takes the place of the first, whose token is withdrawn', async () => {
  await connect('first')
  const [before = ''] = host.tokensOf('first')
  await connect('second')
  expect(host.accepts(before)).toBe(false)
  expect((await call('GET', '/status')).body['username']).toBe('second')
})

test('an account is its person’s alone: colleagues and strangers have none, keys and the token inside a VM no access', async () => {
  await connect('octocat')
  const { organizationId } = idsOf(token)
  expect(organizationId).not.toBe('')
  for (const other of [await berth.token('carol', 'acme', 'owner'), await berth.token('eve', 'evil')]) {
    expect((await call('GET', '/status', undefined, other)).body).toEqual({
      connected: false,
      installed: false,
      username: null,
    })
    expect((await call('GET', '/token-info', undefined, other)).status).toBe(404)
    expect((await call('GET', '/repos', undefined, other)).status).toBe(400)
  }
  const { key } = await makeKey(berth, token)
  for (const path of ['/app-info', '/status', '/repos', '/token-info'])
    expect((await call('GET', path, undefined, key)).status).toBe(401)
  const { body } = await berth.ask('{ viewer { codeHostAccount { id username tokenPreview } } }', { token })
  const id = (body.data as { viewer: { codeHostAccount: { id: string } } }).viewer.codeHostAccount.id
  expect(id).toMatch(/^chl_/)
  const asked = await berth.ask(`{ node(id: "${id}") { id } viewer { codeHostAccount { id } } }`, {
    token: await berth.token('carol', 'acme', 'owner'),
  })
  expect(asked.body.data).toEqual({ node: null, viewer: { codeHostAccount: null } })
  expect((await berth.ask('{ viewer { codeHostAccount { id } } }', { token: key })).body.data).toEqual({
    viewer: { codeHostAccount: null },
  })
})

test('in GraphQL an authorization begins with a state that completes it once, for the person who began it', async () => {
  const begin = async (as: string): Promise<{ authorizationUrl: string; state: string }> =>
    (
      (
        await berth.ask(
          'mutation { startCodeHostAuthorization(input: { redirectUrl: "https://app.example/back" }) { authorizationUrl state expiresAt } }',
          { token: as },
        )
      ).body.data as { startCodeHostAuthorization: { authorizationUrl: string; state: string } }
    ).startCodeHostAuthorization
  const complete = (as: string, state: string) =>
    berth.ask(
      'mutation ($code: String!, $state: String) { connectCodeHost(input: { code: $code, state: $state }) { account { username scopes installed user { name } } } }',
      { token: as, variables: { code: host.code('octocat'), state } },
    )
  const begun = await begin(token)
  const url = new URL(begun.authorizationUrl)
  expect([
    url.pathname,
    url.searchParams.get('state'),
    url.searchParams.get('client_id'),
    url.searchParams.get('redirect_uri'),
  ]).toEqual(['/login/oauth/authorize', begun.state, 'Iv1.8a61f9b3a7aba766', 'https://app.example/back'])
  const refused = { errors: [{ extensions: { code: 'INVALID_CODE', field: 'state' } }] }
  expect((await complete(await berth.token('carol', 'acme'), begun.state)).body).toMatchObject(refused)
  expect((await complete(token, `${begun.state.slice(0, -1)}_`)).body).toMatchObject(refused)
  expect((await complete(token, 'x'.repeat(5_000))).body).toMatchObject(refused)
  expect((await complete(token, begun.state)).body.data).toMatchObject({
    connectCodeHost: { account: { username: 'octocat', scopes: ['repo', 'gist'], installed: true } },
  })
  expect((await complete(token, begun.state)).body).toMatchObject(refused)
  const old = await begin(token)
  await sql`update code_host_states set expires_at = now() - interval '1 second'`.execute(berth.services.db)
  expect((await complete(token, old.state)).body).toMatchObject(refused)
  const first = await begin(token)
  for (let more = 0; more < 10; more++) await begin(token)
  expect((await complete(token, first.state)).body).toMatchObject(refused)
})
