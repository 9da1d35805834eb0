/** Databases over REST and GraphQL, without a worker: rows are moved by the states' own functions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { acknowledgeChange, forgetEdge, reportEdge } from '#src/resources/infra/databases/edges.ts'
import { findDatabaseForLogin } from '#src/resources/infra/databases/rows.ts'
import { moveDatabase } from '#src/resources/infra/databases/states.ts'
import { purgeDatabases } from '#src/resources/infra/databases/upkeep.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { databaseUuid, makeDatabase, rowOf, type DatabaseAnswer, type MadeDatabase } from '../support/databases.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`.execute(berth.services.db)
})
afterAll(() => berth.stop())

type Refusal = { error: string; message: string }
const call = <Body = DatabaseAnswer & Refusal>(method: string, path = '', body?: unknown, as: string | null = token) =>
  berth.call<Body>(method, `/api/v1/databases${path}`, {
    ...(as === null ? {} : { token: as }),
    ...(body === undefined ? {} : { body }),
  })
const make = (given?: MadeDatabase) => makeDatabase(berth, token, node, given)
const ask = async <Data>(query: string, as = token): Promise<Data> => {
  const { body } = await berth.ask(query, { token: as })
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return body.data as Data
}
const codeOf = async (query: string, as = token): Promise<unknown> =>
  (await berth.ask(query, { token: as })).body.errors?.[0]?.extensions?.['code']

/** The disk of a database's data; its stored id. */
async function makeDataFolder(): Promise<string> {
  const id = newUuid()
  await sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) select ${id}, id, 'data', ${node}, 10240, 'database' from organizations where name = 'acme'`.execute(
    berth.services.db,
  )
  return id
}

/** Asks for a database, and makes it active as its node would. */
async function create(input: Record<string, unknown> = {}, key?: string) {
  const asked = berth.call<DatabaseAnswer & { token: string }>('POST', '/api/v1/databases', {
    token,
    body: { organization_id: organizationOf(token), ...input },
    ...(key ? { headers: { 'idempotency-key': key } } : {}),
  })
  await settleNew()
  return asked
}

/** Makes the database that is being created active, as its node would; ends when there is none. */
async function settleNew(): Promise<void> {
  const { db } = berth.services
  const creating = async () =>
    (
      await sql<{
        id: string
      }>`select d.id from databases d join vms v on v.id = d.vm_id where d.status = 'creating' and v.status = 'creating'`.execute(
        db,
      )
    ).rows
  await until('a database is being created', async () => (await creating()).length > 0)
  for (const { id } of await creating()) await moveDatabase(db, berth.services, id, 'active')
}

describe('a database', () => {
  test('is created with a token that is shown once and kept as verifier and hash, read, listed and deleted', async () => {
    const { status, body: made } = await create({ name: 'first', client_mode_enabled: true })
    expect(status).toBe(201)
    const { token: secret, ...shown } = made
    expect(secret).toMatch(/^bdb_[A-Za-z0-9_-]{43}$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^db_[0-9a-z]{26}$/),
      name: 'first',
      organization_id: organizationOf(token),
      host: `${made.id.slice(3)}.db.berth.localhost`,
      status: 'active',
      client_mode_enabled: true,
    })
    const row = await rowOf(berth, made.id)
    expect(row.tokenHash).toEqual(sha256(secret))
    expect(row.tokenVerifier).toMatch(/^SCRAM-SHA-256\$4096:/)
    const { rows } = await sql<{ stored: string }>`
      select d::text as stored from databases d union all select data::text from pgboss.job union all select e::text from database_events e`.execute(
      berth.services.db,
    )
    expect(rows.map(({ stored }) => stored).join('\n')).not.toContain(secret)

    const { body: read } = await call('GET', `/${made.id}`)
    expect(read).toEqual({
      id: made.id,
      name: 'first',
      organization_id: organizationOf(token),
      function_id: null,
      host: made.host,
      pg_database: 'app',
      pg_user: `app_${made.id.slice(-6)}`,
      status: 'active',
      client_mode_enabled: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
      project_id: null,
      network_name: null,
      native_credential_generation: 1,
    })
    const listed = await call<DatabaseAnswer[]>('GET', `?org_id=${organizationOf(token)}`)
    expect(listed.body).toContainEqual(read)

    expect(await call('DELETE', `/${made.id}`)).toMatchObject({ status: 200, body: { message: 'Database deleted' } })
    expect((await call('DELETE', `/${made.id}`)).status).toBe(200) // repeating it changes nothing
    await moveDatabase(berth.services.db, berth.services, databaseUuid(made.id), 'deleted')
    expect((await call('GET', `/${made.id}`)).status).toBe(404)
    expect((await call('DELETE', `/${made.id}`)).status).toBe(404)
    expect((await call<DatabaseAnswer[]>('GET', `?org_id=${organizationOf(token)}`)).body).not.toContainEqual(
      expect.objectContaining({ id: made.id }),
    )
  })

  test('is named after its id without a name, and its answer is repeated under an Idempotency-Key', async () => {
    const { body: made } = await create({}, 'once')
    expect(made.name).toBe(`db-${made.id.slice(-6)}`)
    const again = await berth.call('POST', '/api/v1/databases', {
      token,
      body: { organization_id: organizationOf(token) },
      headers: { 'idempotency-key': 'once' },
    })
    expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([201, 'true', made])
  })

  const refused: [string, Record<string, unknown>][] = [
    ['without an organization', { organization_id: undefined }],
    ['of another organization', { organization_id: 'org_01h455vb4pex5vsknk084sn02q' }],
    ['for a function that is not there', { function_id: 'fn_01h455vb4pex5vsknk084sn02q' }],
    ...['', 'Upper', '1st', 'with space', 'a'.repeat(64), 'ü'].map((name): [string, Record<string, unknown>] => [
      `named ${JSON.stringify(name)}`,
      { name },
    ]),
    ['with a key that nothing takes', { colour: 'red' }],
    ['with too little memory', { memory_mb: 1 }],
    ['with a smaller disk', { disk_mb: 1 }],
    ['with a setting of the server', { settings: { shared_preload_libraries: 'x' } }],
    ['with a setting that does not fit', { settings: { work_mem: '1TB' } }],
    ['that sleeps at once', { sleep_after_seconds: 1 }],
    ['of no project, with a name of its network', { network_name: 'backend' }],
    ['of an empty project', { project_id: '' }],
    ['of a project that is not there', { project_id: 'prj_01h455vb4pex5vsknk084sn02q' }],
  ]
  test.each(refused)('%s is refused with 400, and changes nothing', async (_, body) => {
    const before = await countDatabases()
    const answer = await call('POST', '', { organization_id: organizationOf(token), ...body })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    expect(await countDatabases()).toBe(before)
  })

  test('of a name that another one has is 409, until that one is deleted', async () => {
    const { id } = await make({ name: 'taken' })
    const body = { organization_id: organizationOf(token), name: 'taken' }
    expect(await call('POST', '', body)).toMatchObject({ status: 409, body: { error: 'database_name_taken' } })
    const other = await make()
    expect(
      await codeOf(`mutation { updateDatabase(input: {id: "${other.id}", name: "taken"}) { database { id } } }`),
    ).toBe('DATABASE_NAME_TAKEN')
    await call('DELETE', `/${id}`)
    expect((await create({ name: 'taken' })).status).toBe(201)
  })

  test('is nobody’s without a token, not a member’s to change, and not there for another organization', async () => {
    const { id } = await make()
    const eve = await berth.token('eve', 'evil')
    expect((await call('GET', `/${id}`, undefined, null)).status).toBe(401)
    const member = await berth.token('martha', 'acme', 'member')
    expect(await call('DELETE', `/${id}`, undefined, member)).toMatchObject({
      status: 403,
      body: { error: 'not_permitted_for_role' },
    })
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/client-access/enable'],
      ['POST', '/client-access/disable'],
    ] as const) {
      const foreign = await call(method, `/${id}${path}`, undefined, eve)
      const absent = await call(method, `/db_01h455vb4pex5vsknk084sn02q${path}`, undefined, eve)
      const malformed = await call(method, `/x${path}`, undefined, eve)
      expect([foreign.status, absent.status, malformed.status]).toEqual([404, 404, 404])
      expect(foreign.body).toEqual(absent.body)
    }
    expect(await call('PATCH', `/${id}`, { project_id: null }, eve)).toMatchObject({ status: 404 })
  })

  test('is listed for the organization of the token alone', async () => {
    expect(await call('GET', '')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    for (const other of ['org_01h455vb4pex5vsknk084sn02q', 'x'])
      expect(await call('GET', `?org_id=${other}`)).toMatchObject({ status: 403, body: { error: 'org_mismatch' } })
  })

  test('is found by the user that is its own', async () => {
    const { id } = await make()
    const { db } = berth.services
    expect((await findDatabaseForLogin(db, `app_${id.slice(-6)}`))?.id).toBe(databaseUuid(id))
    expect(await findDatabaseForLogin(db, 'anon')).toBeUndefined()
    await call('DELETE', `/${id}`)
    expect(await findDatabaseForLogin(db, `app_${id.slice(-6)}`)).toBeUndefined()
  })
})

async function countDatabases(): Promise<number> {
  return (await sql<{ id: string }>`select id from databases`.execute(berth.services.db)).rows.length
}

test('the VM and the disk of a database are seen through it, and by no operation on VMs or folders', async () => {
  const folderId = await makeDataFolder()
  const { id } = await make({ folderId })
  type Seen = { database: { vm: { id: string; status: string; folderId: string; folder: null } } }
  const { database } = await ask<Seen>(`{ database(id: "${id}") { vm { id status folderId folder { id } } } }`)
  const vm = database.vm.id
  expect(database.vm).toMatchObject({ status: 'RUNNING', folder: null })
  const paths = ['', '/env', '/events', '/envd/processes']
  for (const path of paths)
    expect([403, 404]).toContain((await berth.call('GET', `/api/v1/vms/${vm}${path}`, { token })).status)
  for (const path of ['exec', 'read', 'write', 'list', 'delete'])
    expect([400, 403, 404]).toContain(
      (await berth.call('POST', `/api/v1/vms/${vm}/envd/${path}`, { token, body: { command: 'id' } })).status,
    )
  expect((await berth.call('DELETE', `/api/v1/vms/${vm}`, { token })).status).toBe(404)
  expect((await berth.call<{ vm_id: string }[]>('GET', '/api/v1/vms', { token })).body).not.toContainEqual(
    expect.objectContaining({ vm_id: vm }),
  )
  expect(await ask(`{ node(id: "${vm}") { id } nodes(ids: ["${database.vm.folderId}"]) { id } }`)).toEqual({
    node: null,
    nodes: [null],
  })
  for (const change of ['startVm', 'stopVm', 'pauseVm', 'resumeVm', 'deleteVm', 'syncVmSession'])
    expect(
      await codeOf(
        `mutation { ${change}(input: {${change === 'syncVmSession' ? 'vmId' : 'id'}: "${vm}"}) { __typename } }`,
      ),
    ).toBe('NOT_FOUND')
  expect(await codeOf(`mutation { deleteFolder(input: {id: "${database.vm.folderId}"}) { deletedId } }`)).toBe(
    'NOT_FOUND',
  )
  expect(await codeOf(`mutation { createVm(input: {templateId: "postgres"}) { vm { id } } }`)).toBe('INVALID_TEMPLATE')
  expect(await codeOf(`mutation { createVm(input: {folderId: "${database.vm.folderId}"}) { vm { id } } }`)).toBe(
    'INVALID_REQUEST',
  )
})

describe('a project', () => {
  const makeProject = async (as = token): Promise<string> =>
    (
      await ask<{ createProject: { project: { id: string } } }>(
        'mutation { createProject(input: {name: "shop"}) { project { id } } }',
        as,
      )
    ).createProject.project.id

  test('takes a database in and lets it go; each real change counts a generation', async () => {
    const { id } = await make()
    const project = await makeProject()
    const moved = await call('PATCH', `/${id}`, { project_id: project })
    const network = `prj-${project.slice(4)}`
    expect(moved).toMatchObject({
      status: 200,
      body: { project_id: project, network_name: network, native_credential_generation: 2, status: 'active' },
    })
    expect((await call('PATCH', `/${id}`, { project_id: project })).body).toEqual(moved.body)
    const { body: renamed } = await call('PATCH', `/${id}`, { project_id: project, network_name: 'backend' })
    expect(renamed).toMatchObject({ network_name: 'backend', native_credential_generation: 3 })
    type Seen = { project: { databases: { nodes: { id: string; vm: { id: string } }[] }; vms: { nodes: unknown[] } } }
    const { project: seen } = await ask<Seen>(
      `{ project(id: "${project}") { databases(first: 5) { nodes { id vm { id } } } vms(first: 5) { nodes { id } } } }`,
    )
    expect(seen.databases.nodes.map((one) => one.id)).toEqual([id])
    expect(seen.vms.nodes).toEqual([])
    const { rows } = await sql<{
      status: string
    }>`select status from database_events where database_id = ${databaseUuid(id)} order by position`.execute(
      berth.services.db,
    )
    expect(rows.map(({ status }) => status)).toEqual(['active', 'updating', 'active', 'updating', 'active'])

    expect(await codeOf(`mutation { deleteProject(input: {id: "${project}"}) { deletedId } }`)).toBe(
      'INVALID_TRANSITION',
    )
    const { body: out } = await call('PATCH', `/${id}`, { project_id: null })
    expect(out).toMatchObject({ project_id: null, network_name: null, native_credential_generation: 4 })
    expect((await call('PATCH', `/${id}`, { project_id: null })).body).toEqual(out)
    await ask(`mutation { deleteProject(input: {id: "${project}"}) { deletedId } }`)
    expect(await codeOf(`{ project(id: "${project}") { id } }`)).toBe('NOT_FOUND')
  })

  test('has the VMs that are made in it, and cannot be deleted before them', async () => {
    const project = await makeProject()
    const vm = await makeVmRow(berth.services.db, token, node)
    await sql`update vms set project_id = (select id from projects order by id desc limit 1) where name = 'made' and id = (select id from vms order by id desc limit 1)`.execute(
      berth.services.db,
    )
    type Seen = { vm: { project: { id: string; vms: { nodes: { id: string }[] } } } }
    expect(
      (await ask<Seen>(`{ vm(id: "${vm}") { project { id vms(first: 5) { nodes { id } } } } }`)).vm.project,
    ).toEqual({
      id: project,
      vms: { nodes: [{ id: vm }] },
    })
    expect(await codeOf(`mutation { deleteProject(input: {id: "${project}"}) { deletedId } }`)).toBe(
      'INVALID_TRANSITION',
    )
    expect(
      await codeOf('mutation { createVm(input: {projectId: "prj_01h455vb4pex5vsknk084sn02q"}) { vm { id } } }'),
    ).toBe('INVALID_REQUEST')
  })

  test('has four refusals for a database: 400, 403, 404 and 409', async () => {
    const { id } = await make()
    const evil = await makeProject(await berth.token('eve', 'evil'))
    for (const body of [
      {},
      { project_id: {} },
      { project_id: null, network_name: 'x' },
      { project_id: null, name: 'x' },
    ])
      expect(await call('PATCH', `/${id}`, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    const project = await makeProject()
    expect(await call('PATCH', `/${id}`, { project_id: project, network_name: 'UPPER' })).toMatchObject({ status: 400 })
    expect(await call('PATCH', `/${id}`, { project_id: evil })).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    })
    for (const absent of ['prj_01h455vb4pex5vsknk084sn02q', 'x'])
      expect(await call('PATCH', `/${id}`, { project_id: absent })).toMatchObject({ status: 404 })
    for (const status of ['creating', 'updating', 'restoring', 'error'] as const)
      expect(await call('PATCH', `/${(await make({ status })).id}`, { project_id: null })).toMatchObject({
        status: 409,
        body: { error: 'database_not_ready' },
      })
  })
})

describe('client access', () => {
  const toggle = (id: string, to: 'enable' | 'disable') => call('POST', `/${id}/client-access/${to}`)

  test('is switched on and off, and stays as it is when it is so already', async () => {
    const { id } = await make()
    for (const [to, isOn] of [
      ['enable', true],
      ['enable', true],
      ['disable', false],
      ['disable', false],
    ] as const)
      expect(await toggle(id, to)).toMatchObject({ status: 200, body: { client_mode_enabled: isOn, status: 'active' } })
    const { rows } = await sql`select 1 from database_events where database_id = ${databaseUuid(id)}`.execute(
      berth.services.db,
    )
    expect(rows).toHaveLength(5)
  })

  test('is 409 unless the database is active', async () => {
    for (const to of ['enable', 'disable'] as const) {
      for (const status of ['creating', 'restoring', 'deleting', 'error'] as const)
        expect(await toggle((await make({ status })).id, to)).toMatchObject({
          status: 409,
          body: { error: 'database_not_ready' },
        })
      expect(await toggle((await make({ status: 'updating' })).id, to)).toMatchObject({
        status: 409,
        body: { error: 'client_access_in_transition' },
      })
    }
  })

  test('is answered once every process of the edge has carried it out', async () => {
    const { id } = await make()
    const edge = newUuid()
    await reportEdge(berth.services.db, edge)
    const asked = toggle(id, 'enable')
    await until('it is being changed', async () => (await rowOf(berth, id)).status === 'updating')
    await acknowledgeChange(berth.services.db, edge, await rowOf(berth, id))
    expect(await asked).toMatchObject({ status: 200, body: { client_mode_enabled: true } })
    await forgetEdge(berth.services.db, edge)
  })

  test('is as it was, and 500, when a process of the edge does not answer', async () => {
    const { id } = await make()
    const edge = newUuid()
    await reportEdge(berth.services.db, edge)
    expect(await toggle(id, 'enable')).toMatchObject({ status: 500, body: { error: 'internal_error' } })
    expect(await rowOf(berth, id)).toMatchObject({ status: 'active', clientModeEnabled: false })
    await forgetEdge(berth.services.db, edge)
  })
})

test('a deleted database comes back with its token, unless another one has its name or its data is gone', async () => {
  const { db } = berth.services
  const folderId = await makeDataFolder()
  const { id } = await make({ name: 'phoenix', folderId })
  await sql`update databases set client_mode_enabled = true where id = ${databaseUuid(id)}`.execute(db)
  const back = `mutation { undeleteDatabase(input: {id: "${id}"}) { database { id status } } }`
  const remove = async (): Promise<void> => {
    await call('DELETE', `/${id}`)
    expect(await codeOf(back)).toBe('DATABASE_NOT_READY')
    const { vmId } = await rowOf(berth, id)
    await moveVm(db, berth.services, vmId ?? '', 'deleted')
    await moveDatabase(db, berth.services, databaseUuid(id), 'deleted')
  }
  const { tokenHash } = await rowOf(berth, id)
  await remove()
  type Listed = { databases: { nodes: { id: string; status: string }[] } }
  expect(
    (await ask<Listed>('{ databases(filter: {statuses: [DELETED]}) { nodes { id status } } }')).databases.nodes,
  ).toContainEqual({ id, status: 'DELETED' })
  const asked = ask(back)
  await settleNew()
  expect(await asked).toEqual({ undeleteDatabase: { database: { id, status: 'ACTIVE' } } })
  expect(await rowOf(berth, id)).toMatchObject({ tokenHash, deletedAt: null, clientModeEnabled: true })

  await remove()
  const other = await make({ name: 'phoenix' })
  expect(await codeOf(back)).toBe('DATABASE_NAME_TAKEN')
  await call('DELETE', `/${other.id}`)
  await sql`update databases set purge_after = now() - interval '1 second' where id = ${databaseUuid(id)}`.execute(db)
  await purgeDatabases(berth.services)
  expect(await codeOf(back)).toBe('NOT_FOUND')
  expect(await rowOf(berth, id)).toMatchObject({
    tokenHash: null,
    tokenVerifier: null,
    sealedLogins: null,
    folderId: null,
  })
  const { rows } = await sql<{
    gone: boolean
  }>`select deleted_at is not null as gone from folders where id = ${folderId}`.execute(db)
  expect(rows).toEqual([{ gone: true }])
})

test('a change of the size is for the node; a smaller disk and a size without room are refused', async () => {
  const { id } = await make()
  const change = (fields: string): string =>
    `mutation { updateDatabase(input: {id: "${id}", ${fields}}) { database { status memoryMb sleepAfterSeconds settings } } }`
  expect(await ask(change('sleepAfterSeconds: 0'))).toEqual({
    updateDatabase: { database: { status: 'ACTIVE', memoryMb: 1024, sleepAfterSeconds: null, settings: {} } },
  })
  expect(await codeOf(change('diskMb: 5000'))).toBe('INVALID_REQUEST')
  expect(await codeOf(change('name: ""'))).toBe('INVALID_REQUEST')
  await sql`update nodes set disk_mb = 1 where id = ${node}`.execute(berth.services.db)
  expect(await codeOf(change('diskMb: 20480'))).toBe('CAPACITY_UNAVAILABLE')
  await sql`update nodes set disk_mb = null where id = ${node}`.execute(berth.services.db)
  expect(await ask(change('memoryMb: 2048, settings: {work_mem: "16MB"}'))).toMatchObject({
    updateDatabase: { database: { status: 'UPDATING', memoryMb: 2048, settings: { work_mem: '16MB' } } },
  })
  expect(await codeOf(change('memoryMb: 4096'))).toBe('DATABASE_NOT_READY')
})

test('what happens to a database is followed from a cursor', async () => {
  const { id } = await make()
  const query = `subscription { databaseEvents(id: "${id}", after: "0") { ... on DatabaseEvent { cursor status database { name } } } }`
  const answer = await fetch(`${berth.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
  })
  await call('POST', `/${id}/client-access/enable`)
  let text = ''
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (text.includes('"cursor":"3"')) break
  }
  const seen = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? '') as unknown)
  const event = (status: string, cursor: string) => ({ data: { databaseEvents: { status, cursor } } })
  expect(seen).toMatchObject([event('ACTIVE', '1'), event('UPDATING', '2'), event('ACTIVE', '3')])
})
