/** What somebody meets who knows databases from the documents only: a wrong name, a path that is not there, a slow creation. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

type Answered = { id: string; status: string; error: string; message: string }
const call = async (method: string, path: string, body?: unknown) =>
  berth.call<Answered>(method, `/api/v1/databases${path}`, { token, ...(body === undefined ? {} : { body }) })
const refusal = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const { status, body: answered } = await call(method, path, body)
  return [status, answered.message]
}
const ask = async <Data>(query: string): Promise<Data> => {
  const { body } = await berth.ask(query, { token })
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return body.data as Data
}
const make = () => makeDatabase(berth, token, node)

test('a creation that takes too long is answered with the status creating, by REST and by GraphQL', async () => {
  const usual = limits.databaseWaitSeconds
  Object.assign(limits, { databaseWaitSeconds: 0.1 })
  try {
    const made = await call('POST', '', { organization_id: organizationOf(token), name: 'slow' })
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ name: 'slow', status: 'creating' })])
    expect((await call('GET', `/${made.body.id}`)).body.status).toBe('creating')
    const created = await ask(
      `mutation { createDatabase(input: {organizationId: "${organizationOf(token)}"}) { credentials { status } } }`,
    )
    expect(created).toEqual({ createDatabase: { credentials: { status: 'CREATING' } } })
  } finally {
    Object.assign(limits, { databaseWaitSeconds: usual })
  }
})

test('a creation that is not to be waited for is answered at once, by REST and by GraphQL', async () => {
  const made = await call('POST', '', { organization_id: organizationOf(token), name: 'at-once', wait: false })
  expect([made.status, made.body.status]).toEqual([201, 'creating'])
  const created = await ask('mutation { createDatabase(input: {wait: false}) { credentials { status } } }')
  expect(created).toEqual({ createDatabase: { credentials: { status: 'CREATING' } } })
  expect(await refusal('POST', '', { organization_id: organizationOf(token), wait: 'no' })).toEqual([
    400,
    expect.stringContaining('wait'),
  ])
})

test('a list without the organization, or with it under another name, says which query parameter it takes', async () => {
  const own = organizationOf(token)
  expect((await call('GET', `?org_id=${own}`)).status).toBe(200)
  expect(await refusal('GET', '')).toEqual([400, expect.stringMatching(/^The query parameter org_id is required: /)])
  for (const name of ['organization_id', 'organizationId'])
    expect(await refusal('GET', `?${name}=${own}`)).toEqual([
      400,
      `Unknown query parameter ${name}. Did you mean org_id? Correct it or leave it out.`,
    ])
  expect(await refusal('POST', '', { org_id: own })).toEqual([
    400,
    'Unknown field org_id. Did you mean organization_id? Correct it or leave it out.',
  ])
})

test('an organization that is not the token’s is refused with the id of the one that is', async () => {
  const own = organizationOf(token)
  expect(await refusal('GET', '?org_id=acme')).toEqual([403, expect.stringContaining(own)])
  expect(await refusal('POST', '', { organization_id: 'acme' })).toEqual([400, expect.stringContaining(own)])
  const { body } = await berth.ask('{ databases(organizationId: "acme") { nodes { id } } }', { token })
  expect(body.errors?.[0]?.message).toContain(own)
  expect(body.errors?.[0]?.message).not.toContain('org_id')
})

test('what only GraphQL changes is refused by PATCH with the mutation, and changes nothing', async () => {
  const { id } = await make()
  for (const [key, value, name] of [
    ['name', 'other', 'name'],
    ['memory_mb', 2048, 'memoryMb'],
    ['sleep_after_seconds', 60, 'sleepAfterSeconds'],
  ] as const)
    for (const more of [{}, { project_id: null }])
      expect(await refusal('PATCH', `/${id}`, { ...more, [key]: value })).toEqual([
        400,
        `This path does not take the field ${key}. In GraphQL, updateDatabase takes it, as ${name}.`,
      ])
  expect(await refusal('PATCH', `/${id}`, { memoryMb: 2048 })).toEqual([
    400,
    'This path does not take the field memory_mb. In GraphQL, updateDatabase takes it, as memoryMb.',
  ])
  for (const [key, instead] of [
    ['colour', 'Leave it out'],
    ['id', 'Leave it out'],
    ['projectId', 'Did you mean project_id? Correct it or leave it out'],
  ])
    expect(await refusal('PATCH', `/${id}`, { project_id: null, [`${key}`]: 'x' })).toEqual([
      400,
      `Unknown field ${key}. ${instead}.`,
    ])
  expect(await rowOf(berth, id)).toMatchObject({
    name: expect.stringMatching(/^db-/),
    memoryMb: 1024,
    status: 'active',
  })
  expect((await call('PATCH', `/${id}`, { project_id: null })).status).toBe(200)
})

test('a path that is not there names the one that was meant', async () => {
  const { id } = await make()
  expect(await refusal('POST', `/${id}/restore`, {})).toEqual([
    404,
    'There is no POST at this path. Did you mean POST /api/v1/databases/{db_id}/backups/{backup_id}/restore? See /api/v1/openapi.json.',
  ])
  expect(await refusal('PUT', `/${id}`, {})).toEqual([
    404,
    'There is no PUT at this path, only GET, PATCH and DELETE; see /api/v1/openapi.json. In GraphQL, updateDatabase changes it.',
  ])
})

test('OpenAPI says that a restore has no conflict but that of its Idempotency-Key', async () => {
  type Described = { paths: Record<string, { post: { responses: Record<string, { description: string }> } }> }
  const { body } = await berth.call<Described>('GET', '/api/v1/openapi.json')
  const conflictOf = (path: string): string | undefined =>
    body.paths[`/api/v1/databases/{db_id}/backups${path}`]?.post.responses['409']?.description
  expect(conflictOf('/{backup_id}/restore')).toMatch(/^The Idempotency-Key was used for another request/)
  expect(conflictOf('')).toBe('Conflict')
})

test('a token that was lost is replaced by another one, which is shown once', async () => {
  const { id, token: before } = await make()
  type Rotated = { rotateDatabaseToken: { credentials: { token: string; connectionUri: string } } }
  const { rotateDatabaseToken } = await ask<Rotated>(
    `mutation { rotateDatabaseToken(input: {id: "${id}"}) { credentials { token connectionUri } } }`,
  )
  const { token: now, connectionUri } = rotateDatabaseToken.credentials
  expect(connectionUri).toBe(
    `postgresql://app_${id.slice(-6)}:${now}@127.0.0.1:${berth.services.config.postgresPort}/app`,
  )
  expect(now).not.toBe(before)
  expect((await rowOf(berth, id)).tokenHash).toEqual(sha256(now))
})

test('a database that never sleeps is made by 0, and shows null', async () => {
  const { id } = await make()
  const change = (seconds: number): Promise<unknown> =>
    ask(
      `mutation { updateDatabase(input: {id: "${id}", sleepAfterSeconds: ${seconds}}) { database { sleepAfterSeconds } } }`,
    )
  expect(await change(0)).toEqual({ updateDatabase: { database: { sleepAfterSeconds: null } } })
  expect(await change(60)).toEqual({ updateDatabase: { database: { sleepAfterSeconds: 60 } } })
  await expect(change(9)).rejects.toThrow('sleepAfterSeconds must be 0, which is never, or 10 to 2592000 seconds.')
})

test('one VM of a project that cannot be deleted is counted as one', async () => {
  type Made = { createProject: { project: { id: string } } }
  const { createProject } = await ask<Made>('mutation { createProject(input: {name: "shop"}) { project { id } } }')
  const { id } = createProject.project
  await makeVmRow(berth.services.db, token, node)
  await sql`update vms set project_id = (select id from projects) where id = (select id from vms order by id desc limit 1)`.execute(
    berth.services.db,
  )
  await expect(ask(`mutation { deleteProject(input: {id: "${id}"}) { deletedId } }`)).rejects.toThrow(
    'The project has 0 databases and 1 VM. ',
  )
})
