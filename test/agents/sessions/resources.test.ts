/** What is put into the VMs of sessions: what callers may ask for, whose it is, and that tokens are never shown. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, newId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { findRepositoryHosts, findRepositorySecrets } from '#src/resources/agents/sessions/resources/tokens.ts'
import { sessionMasker } from '#src/resources/agents/sessions/secrets.ts'
import { findSessionRow } from '#src/resources/agents/sessions/rows.ts'
import { message } from '../../support/agent-sessions.ts'
import { makeAgent } from '../../support/agents-service.ts'
import { startBerth, type Answer, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'

type Resource = { id: string; type: string; mount_path: string } & Record<string, unknown>
type Session = { id: string; resources: Resource[]; agent: unknown }
type Failure = { error: { type: string; code?: string; message: string } }

let berth: Berth
let token: string
let agent: string
let environment: string
let file: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'member')
  agent = await makeAgent(berth, token)
  environment = (await call<{ id: string }>('POST', '/environments', { name: 'place' })).body.id
  file = await upload(token)
})
afterAll(() => berth.stop())

const call = <Body = Resource & Failure>(
  method: string,
  path: string,
  body?: unknown,
  as = token,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1${path}`, { token: as, headers, ...(body === undefined ? {} : { body }) })
const upload = async (as: string): Promise<string> => {
  const form = new FormData()
  form.set('file', new Blob(['a,b\n1,2\n']), 'table.csv')
  const answer = await fetch(`${berth.url}/agents/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}` },
    body: form,
  })
  return ((await answer.json()) as { id: string }).id
}
const begin = (resources: unknown, fields: object = {}): Promise<Answer<Session & Failure>> =>
  call<Session & Failure>('POST', '/sessions', { agent, environment_id: environment, resources, ...fields })
const session = async (resources: unknown = []): Promise<Session> => (await begin(resources)).body
const repository = { type: 'github_repository', url: 'https://github.com/octocat/hello' }
const secretToken = 'ghp_canary-token-of-a-repository'
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('a session shows what it was given, with the usual paths, and never a token', async () => {
  const commit = 'a'.repeat(40)
  const { status, body } = await begin([
    { type: 'file', file_id: file },
    { ...repository, authorization_token: secretToken, checkout: { type: 'branch', name: 'main' } },
    { ...repository, url: `${repository.url}.git`, checkout: { type: 'commit', sha: commit }, mount_path: '/srv/old/' },
  ])
  expect(status).toBe(201)
  const id = expect.stringMatching(/^sesrsc_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  const times = { created_at: moment, updated_at: moment }
  const shown = [
    { id, type: 'file', file_id: file, mount_path: `/mnt/session/uploads/${file}`, ...times },
    { id, ...repository, checkout: { type: 'branch', name: 'main' }, mount_path: '/workspace/hello', ...times },
    {
      id,
      type: 'github_repository',
      url: `${repository.url}.git`,
      checkout: { type: 'commit', sha: commit },
      mount_path: '/srv/old',
      ...times,
    },
  ]
  expect(body.resources).toEqual(shown)
  expect((await call<Session>('GET', `/sessions/${body.id}`)).body.resources).toEqual(body.resources)
  const list = await call<{ data: Resource[] }>('GET', `/sessions/${body.id}/resources`)
  expect(list.body).toEqual({ data: body.resources, has_more: false, next_page: null })
  for (const one of body.resources)
    expect((await call('GET', `/sessions/${body.id}/resources/${one.id}`)).body).toEqual(one)
  const everything = await berth.services.database.pool.query(
    'select row_to_json(r)::text as row from session_resources r union all select row_to_json(e)::text from session_events e union all select row_to_json(j)::text from pgboss.job j',
  )
  expect(JSON.stringify([body, list.body, everything.rows])).not.toContain('canary')
})

test('a list has pages, oldest first', async () => {
  const made = await session([1, 2, 3].map((at) => ({ ...repository, mount_path: `/workspace/${at}` })))
  const first = await call<{ data: Resource[]; next_page: string }>('GET', `/sessions/${made.id}/resources?limit=2`)
  expect(first.body.data.map(({ mount_path: path }) => path)).toEqual(['/workspace/1', '/workspace/2'])
  const rest = await call<{ data: Resource[]; has_more: boolean }>(
    'GET',
    `/sessions/${made.id}/resources?limit=2&page=${first.body.next_page}`,
  )
  expect(rest.body).toMatchObject({ data: [{ mount_path: '/workspace/3' }], has_more: false })
})

test('resources are added, get a new token, and are deleted while the session lives; its subscribers are told', async () => {
  const { id } = await session()
  const added = await call('POST', `/sessions/${id}/resources`, {
    type: 'file',
    file_id: file,
    mount_path: '/srv/t.csv',
  })
  expect(added).toMatchObject({ status: 200, body: { type: 'file', file_id: file, mount_path: '/srv/t.csv' } })
  const { body: clone } = await call('POST', `/sessions/${id}/resources`, {
    ...repository,
    authorization_token: 'old-token',
  })
  const path = `/sessions/${id}/resources/${clone.id}`
  const changed = await call('POST', path, { authorization_token: 'new-token' })
  expect(changed).toMatchObject({ status: 200, body: { id: clone.id, url: repository.url } })
  const log = await call<{ data: { type: string }[] }>('GET', `/sessions/${id}/events`)
  expect(log.body.data.map(({ type }) => type)).toEqual(Array.from({ length: 3 }, () => 'session.updated'))
  const row = await findSessionRow(berth.services.db, decodeId('session', id) ?? '')
  if (!row) throw new Error('the session was just made')
  const masker = await sessionMasker(berth.services, row)
  expect(masker.text('old-token and new-token')).toBe('*** and ***')
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('DELETE', path)).status).toBe(404)
  const gone = await call('DELETE', `/sessions/${id}/resources/${added.body.id}`, undefined, token, {
    'anthropic-beta': 'x',
  })
  expect(gone).toMatchObject({ status: 200, body: { id: added.body.id, type: 'session_resource_deleted' } })
  expect((await call<Session>('GET', `/sessions/${id}`)).body.resources).toEqual([])
  expect((await sessionMasker(berth.services, { ...row, keepsSecrets: true })).text('new-token')).toBe('***')
})

describe('a session is not started', () => {
  const full = Array.from({ length: 101 }, (_, at) => ({ ...repository, mount_path: `/workspace/${at}` }))
  test.each<[string, unknown, RegExp]>([
    ['with a memory store', [{ type: 'memory_store', memory_store_id: 'x' }], /remember and recall/],
    ['with something unknown', [{ type: 'volume' }], /type/],
    ['with what is no list', { type: 'file' }, /resources/],
    ['with too many', full, /100/],
    ['with a file that is not there', [{ type: 'file', file_id: newId('file') }], /file of yours/],
    ['with a file id that is none', [{ type: 'file', file_id: 'x' }], /resources\[0\]\.file_id/],
    ['with an unknown key', [{ ...repository, branch: 'main' }], /branch/],
    [
      'with a credential in the URL',
      [{ ...repository, url: 'https://me:canary@github.com/a/b' }],
      /authorization_token/,
    ],
    ['with an ssh URL', [{ ...repository, url: 'git@github.com:a/b.git' }], /https:/],
    [
      'with a token over plain HTTP',
      [{ ...repository, url: 'http://host.berth.internal/a/b', authorization_token: 'x' }],
      /https:/,
    ],
    [
      'with a token for no repository',
      [{ ...repository, url: 'https://github.com/b', authorization_token: 'x' }],
      /owner\/name/,
    ],
    ['with a token of two lines', [{ ...repository, authorization_token: 'canary\nHost: x' }], /authorization_token/],
    ['with a query in the URL', [{ ...repository, url: `${repository.url}?x=1` }], /without \?/],
    [
      'with a branch that is none',
      [{ ...repository, checkout: { type: 'branch', name: '--upload-pack=x' } }],
      /branch/,
    ],
    ['with half a SHA', [{ ...repository, checkout: { type: 'commit', sha: 'abc' } }], /full SHA/],
    ['at a relative path', [{ ...repository, mount_path: 'app' }], /mount_path/],
    ['at a path that leads elsewhere', [{ ...repository, mount_path: '/workspace/../etc' }], /mount_path/],
    ['at the root', [{ ...repository, mount_path: '/' }], /mount_path/],
    ['in a folder of the system', [{ ...repository, mount_path: '/proc/1' }], /folder of the system/],
    ['at a path with a line break', [{ ...repository, mount_path: '/srv/a\nb' }], /mount_path/],
    ['at one path twice', [repository, repository], /same mount_path/],
  ])('%s', async (_, resources, sentence) => {
    const { status, body } = await begin(resources)
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(body.error.message).toMatch(sentence)
    expect(JSON.stringify(body)).not.toContain('canary')
  })

  test('with something below a file', async () => {
    const { body } = await begin([
      { type: 'file', file_id: file, mount_path: '/srv/a' },
      { ...repository, mount_path: '/srv/a/b/c' },
    ])
    expect(body.error.message).toMatch(/below that of a file/)
  })

  test.each<[string, () => Promise<string | null>, RegExp]>([
    ['without a VM', () => Promise.resolve(null), /has none\. Start it in an environment/],
    [
      'in a self-hosted environment',
      async () =>
        (await call<{ id: string }>('POST', '/environments', { name: 'own', config: { type: 'self_hosted' } })).body.id,
      /self-hosted/,
    ],
  ])('%s', async (_, place, sentence) => {
    const { status, body } = await begin([repository], { environment_id: await place() })
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(body.error.message).toMatch(sentence)
  })

  test('with a colleague’s file', async () => {
    const theirs = await upload(await berth.token('bob', 'acme', 'member'))
    expect((await begin([{ type: 'file', file_id: theirs }])).body.error.message).toMatch(/file of yours/)
  })
})

test('adding and changing is refused for what a session cannot have', async () => {
  const made = await session([{ type: 'file', file_id: file }])
  const path = `/sessions/${made.id}/resources`
  const [first] = made.resources
  for (const body of [
    { type: 'file', file_id: file }, // its path is taken
    { type: 'file', file_id: file, mount_path: `/mnt/session/uploads/${file}/below` },
    { type: 'file' },
    { type: 'file', file_id: file, url: 'https://github.com/a/b', mount_path: '/srv/x' },
    { type: 'memory_store', memory_store_id: 'x' },
    {},
  ])
    expect(await call('POST', path, body), JSON.stringify(body)).toMatchObject({ status: 400 })
  const noToken = await call('POST', `${path}/${first?.id}`, { authorization_token: 'x' })
  expect([noToken.status, noToken.body.error.message]).toEqual([400, expect.stringMatching(/only a github_repository/)])
  const plain = await call('POST', path, { ...repository, url: 'http://host.berth.internal:80/a/b' })
  expect(await call('POST', `${path}/${plain.body.id}`, { authorization_token: 'x' })).toMatchObject({ status: 400 })
  expect(await call('POST', `${path}/${plain.body.id}`, { authorization_token: '' })).toMatchObject({ status: 400 })
})

test('nobody else has them: 401 without a token, 403 for a viewer, 404 for everybody else', async () => {
  const made = await session([repository])
  const [{ id } = { id: '' }] = made.resources
  const path = `/sessions/${made.id}/resources`
  const other = await session([repository])
  expect((await call('GET', `/sessions/${other.id}/resources/${id}`)).status, 'of another session').toBe(404)
  expect((await berth.call('GET', `/agents/v1${path}`)).status).toBe(401)
  const viewer = await berth.token('victor', 'acme', 'viewer')
  expect((await call('POST', path, repository, viewer)).status).toBe(403)
  for (const as of [await berth.token('bob', 'acme', 'owner'), await berth.token('eve', 'evil')])
    for (const [method, at, body] of [
      ['GET', path, undefined],
      ['POST', path, repository],
      ['GET', `${path}/${id}`, undefined],
      ['POST', `${path}/${id}`, { authorization_token: 'x' }],
      ['DELETE', `${path}/${id}`, undefined],
    ] as const)
      expect((await call(method, at, body, as)).status, `${method} ${at}`).toBe(404)
})

test('an archived session keeps its list and forgets its tokens; nothing is changed in it', async () => {
  const made = await session([{ ...repository, authorization_token: secretToken }])
  const [one] = made.resources
  expect((await call('POST', `/sessions/${made.id}/archive`)).status).toBe(200)
  expect((await call<Session>('GET', `/sessions/${made.id}`)).body.resources).toMatchObject([{ id: one?.id }])
  const path = `/sessions/${made.id}/resources`
  for (const [method, at, body] of [
    ['POST', path, { ...repository, mount_path: '/srv/x' }],
    ['POST', `${path}/${one?.id}`, { authorization_token: 'x' }],
    ['DELETE', `${path}/${one?.id}`, undefined],
  ] as const)
    expect((await call(method, at, body)).status, `${method} ${at}`).toBe(409)
  const kept = await berth.services.database.pool.query(
    'select 1 from session_resources where id = $1 and sealed_token is not null',
    [decodeId('sessionResource', one?.id ?? '')],
  )
  expect(kept.rows).toEqual([])
})

test('a token is masked in what the session begins with', async () => {
  const started = await begin([{ ...repository, authorization_token: secretToken }], {
    initial_events: [message(`use ${secretToken}`)],
  })
  const log = await call<{ data: unknown[] }>('GET', `/sessions/${started.body.id}/events`)
  expect(JSON.stringify(log.body)).toContain('use ***')
})

test('the way out of a VM has a token for its own repository alone, while its owner is there and the session goes on', async () => {
  const { userId, organizationId } = idsOf(token)
  const vmId = newUuid()
  const made = await session([
    { ...repository, url: 'https://github.com/octocat/hello.git', authorization_token: secretToken },
    { ...repository, url: 'https://example.com/no/token', mount_path: '/srv/x' },
  ])
  await sql`update session_resources set vm_id = ${vmId} where session_id = ${decodeId('session', made.id)}`.execute(
    berth.services.db,
  )
  const secrets = () => findRepositorySecrets(berth.services, vmId)
  expect(await secrets()).toEqual([
    {
      credentialId: decodeId('sessionResource', made.resources[0]?.id ?? ''),
      secret: secretToken,
      hosts: ['github.com'],
      inHeaders: true,
      inBody: false,
      git: { port: 443, repository: 'octocat/hello', mayPush: true },
    },
  ])
  expect(await findRepositoryHosts(berth.services, vmId)).toEqual([['github.com']])
  expect(await findRepositorySecrets(berth.services, newUuid())).toEqual([])
  const leave = (at: string | null) =>
    berth.services.database.pool.query(
      'update memberships set deactivated_at = $1 where organization_id = $2 and user_id = $3',
      [at, organizationId, userId],
    )
  await leave('2026-01-01')
  expect(await secrets()).toEqual([])
  await leave(null)
  expect(await secrets()).toHaveLength(1)
  await call('POST', `/sessions/${made.id}/archive`)
  expect(await secrets()).toEqual([])
})

test('in GraphQL they are below their session, with the file as an object', async () => {
  const { body } = await berth.ask(
    `mutation ($agent: ID!, $environment: ID!, $file: ID!) { createSession(input: {agentId: $agent, environmentId: $environment, resources: [
      {file: {fileId: $file}}, {githubRepository: {url: "https://github.com/octocat/hello", authorizationToken: "canary", checkout: {branch: {name: "main"}}}}
    ]}) { session { id resources { id mountPath placedAt session { id } ... on SessionFile { file { filename } } ... on SessionRepository { url hasToken checkout { ... on BranchCheckout { name } } } } } } }`,
    { token, variables: { agent, environment, file } },
  )
  expect(body.data).toMatchObject({
    createSession: {
      session: {
        resources: [
          { mountPath: `/mnt/session/uploads/${file}`, placedAt: null, file: { filename: 'table.csv' } },
          { url: repository.url, hasToken: true, checkout: { name: 'main' } },
        ],
      },
    },
  })
  const { id, resources } = (body.data as { createSession: { session: Session } }).createSession.session
  const added = await berth.ask(
    `mutation ($id: ID!, $gone: ID!, $first: ID!) { addSessionResource(input: {sessionId: $id, type: GITHUB_REPOSITORY, url: "https://example.com/a/b", checkout: {commit: {sha: "${'b'.repeat(40)}"}}}) { resource { mountPath } }
      updateSessionResource(input: {sessionId: $id, id: $gone, authorizationToken: "x"}) { resource { id } } removeSessionResource(input: {sessionId: $id, id: $first}) { deletedId } }`,
    { token, variables: { id, gone: resources[1]?.id, first: resources[0]?.id } },
  )
  expect(added.body).toMatchObject({ data: { addSessionResource: { resource: { mountPath: '/workspace/b' } } } })
  const { body: read } = await berth.ask(
    `query ($id: ID!) { sessionResources(sessionId: $id, first: 5, order: DESC) { totalCount nodes { mountPath } } }`,
    { token, variables: { id } },
  )
  expect(read.data).toEqual({
    sessionResources: { totalCount: 2, nodes: [{ mountPath: '/workspace/b' }, { mountPath: '/workspace/hello' }] },
  })
})
