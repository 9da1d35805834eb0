/** Databases that are linked to functions, as rows: what a function's programs get, and when that changes. No node runs them here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, newId, newUuid } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import { moveDatabase } from '#src/resources/infra/databases/states.ts'
import { findLinkedDatabases } from '#src/resources/infra/databases/links.ts'
import { environmentOf } from '#src/resources/infra/functions/environments.ts'
import { findFunctionRow, type StoredFunction } from '#src/resources/infra/functions/rows.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { idsOf, makeKey, makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  await change(berth.services.db, sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`)
})
afterAll(() => berth.stop())

type Failed = { code: string; message: string }
async function ask<Data>(
  operation: string,
  input: Record<string, unknown>,
  wanted: string,
  as = token,
): Promise<Data & Failed> {
  const type = `${operation.charAt(0).toUpperCase()}${operation.slice(1)}Input`
  const { body } = await berth.ask(
    `mutation ($input: ${type}!) { answer: ${operation}(input: $input) { ${wanted} } }`,
    {
      token: as,
      variables: { input },
    },
  )
  const [error] = body.errors ?? []
  if (error) return { code: error.extensions.code, message: error.message } as Data & Failed
  return (body.data as { answer: Data & Failed }).answer
}
async function makeFunction(input: Record<string, unknown> = {}, as = token): Promise<string> {
  const { function: made } = await ask<{ function: { id: string } }>('createFunction', input, 'function { id }', as)
  return made.id
}

/** A database that has run once; its public id. */
async function makeUsed(name?: string, as = token): Promise<string> {
  const folderId = newUuid()
  await change(
    berth.services.db,
    sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) values (${folderId}, ${idsOf(as).organizationId}, 'data', ${node}, 10240, 'database')`,
  )
  return (await makeDatabase(berth, as, node, { folderId, ...(name ? { name } : {}) })).id
}
const link = (id: string, functionId: string | null) =>
  ask<{ database: { function: { id: string } | null } }>(
    'updateDatabase',
    { id, functionId },
    'database { function { id } }',
  )
const functionRow = async (id: string): Promise<StoredFunction> => {
  const row = await findFunctionRow(berth.services.db, decodeId('function', id) ?? '')
  if (!row) throw new Error('the function is gone')
  return row
}
const environment = async (id: string) => {
  const one = await functionRow(id)
  const { db, sealer } = berth.services
  return environmentOf({ sealer }, one, await findLinkedDatabases(db, sealer, one.id))
}

describe('a function to which a database is linked', () => {
  test('finds its address and a password as clients of Postgres look for them, and a new instance is made for that', async () => {
    const [functionId, id] = [await makeFunction(), await makeUsed('shop')]
    const { generation } = await functionRow(functionId)
    expect(await link(id, functionId)).toMatchObject({ database: { function: { id: functionId } } })
    expect((await functionRow(functionId)).generation).toBe(generation + 1)
    const { variables, masked } = await environment(functionId)
    const password = variables['PGPASSWORD'] ?? ''
    expect(password).toMatch(/^[\w-]{43}$/)
    const url = `postgresql://app_${id.slice(-6)}:${password}@localhost:5432/app`
    expect(variables).toEqual({
      DATABASE_URL: url,
      SHOP_DATABASE_URL: url,
      PGHOST: 'localhost',
      PGPORT: '5432',
      PGUSER: `app_${id.slice(-6)}`,
      PGPASSWORD: password,
      PGDATABASE: 'app',
    })
    expect(masked).toEqual([password])
    const { body } = await berth.call<{ function_id: string }>('GET', `/api/v1/databases/${id}`, { token })
    expect(body.function_id).toBe(functionId)
    const { body: graph } = await berth.ask(
      `{ function(id: "${functionId}") { variables { key } databases { nodes { id name } } } }`,
      { token },
    )
    expect(graph.data).toEqual({ function: { variables: [], databases: { nodes: [{ id, name: 'shop' }] } } })
  })

  test('has the variables of its user before those of Berth, and those of its oldest database without a name before them', async () => {
    const functionId = await makeFunction({ variables: { PGHOST: 'elsewhere' } })
    const [first, second] = [await makeUsed('first'), await makeUsed('the-second')]
    for (const id of [second, first]) await link(id, functionId)
    const { variables } = await environment(functionId)
    expect(variables).toMatchObject({ PGHOST: 'elsewhere', PGUSER: `app_${first.slice(-6)}` })
    expect(variables['DATABASE_URL']).toBe(variables['FIRST_DATABASE_URL'])
    expect(variables['THE_SECOND_DATABASE_URL']).toContain(`app_${second.slice(-6)}:`)
    await ask('updateDatabase', { id: second, name: 'other' }, 'database { id }')
    expect(Object.keys((await environment(functionId)).variables)).toContain('OTHER_DATABASE_URL')
  })

  test.each([
    ['a new token', (id: string) => ask('rotateDatabaseToken', { id }, 'database { id }')],
    [
      'another project',
      async (id: string) => {
        const made = await ask<{ project: { id: string } }>('createProject', { name: newUuid() }, 'project { id }')
        return ask('moveDatabaseToProject', { id, projectId: made.project.id }, 'database { id }')
      },
    ],
  ])('gets another password with %s, in a new instance', async (_, rotate) => {
    const [functionId, id] = [await makeFunction(), await makeUsed()]
    await link(id, functionId)
    const seen = async () => {
      const { generation } = await functionRow(functionId)
      return { generation, password: (await environment(functionId)).variables['PGPASSWORD'] }
    }
    const before = await seen()
    expect(await rotate(id)).not.toHaveProperty('code')
    const after = await seen()
    expect(after.generation).toBe(before.generation + 1)
    expect(after.password).not.toBe(before.password)
    const [row] = await findAll<{ verifier: string }>(
      berth.services.db,
      sql`select link_verifier as verifier from databases where id = ${databaseUuid(id)}`,
    )
    expect(row?.verifier).toMatch(/^SCRAM-SHA-256\$/)
  })

  test('loses its variables when the database is unlinked, is deleted or goes to another function; it comes back without the link', async () => {
    const [functionId, other] = [await makeFunction(), await makeFunction()]
    const id = await makeUsed()
    await link(id, functionId)
    await link(id, other)
    expect((await environment(functionId)).variables).toEqual({})
    expect((await environment(other)).variables).toHaveProperty('DATABASE_URL')
    expect(await link(id, null)).toMatchObject({ database: { function: null } })
    expect((await environment(other)).variables).toEqual({})
    await link(id, other)
    const { generation } = await functionRow(other)
    await berth.call('DELETE', `/api/v1/databases/${id}`, { token })
    expect((await environment(other)).variables).toEqual({})
    expect((await functionRow(other)).generation).toBe(generation + 1)
    expect(await rowOf(berth, id)).toMatchObject({ functionId: null, linkVerifier: null, sealedLink: null })
  })

  test('takes its links with it when it is deleted', async () => {
    const [functionId, id] = [await makeFunction(), await makeUsed()]
    await link(id, functionId)
    await ask('deleteFunction', { id: functionId }, 'deletedId')
    expect(await rowOf(berth, id)).toMatchObject({ functionId: null, linkVerifier: null, sealedLink: null })
  })
})

test('a database is made for a function, whose variables come once it takes connections', async () => {
  const functionId = await makeFunction()
  const asked = berth.call<{ id: string }>('POST', '/api/v1/databases', {
    token,
    body: { organization_id: organizationOf(token), function_id: functionId },
  })
  const { db } = berth.services
  const creating = () =>
    findAll<{ id: string }>(db, sql`select id from databases where status = 'creating' and function_id is not null`)
  await until('it is being created', async () => (await creating()).length > 0)
  expect((await environment(functionId)).variables).toEqual({})
  const [made] = await creating()
  const folderId = newUuid()
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) values (${folderId}, ${idsOf(token).organizationId}, 'data', ${node}, 10240, 'database')`,
    )
    await moveDatabase(tx, berth.services, made?.id ?? '', 'active', { folderId })
  })
  expect((await asked).status).toBe(201)
  expect((await environment(functionId)).variables).toHaveProperty('PGPASSWORD')
})

describe('a link is refused', () => {
  const create = (functionId: string, as = token) =>
    berth.call<{ error: string; message: string; field: string }>('POST', '/api/v1/databases', {
      token: as,
      body: { organization_id: organizationOf(token), function_id: functionId },
    })

  test('to a function that is not there, of another organization, or deleted: each is told as the same', async () => {
    const foreign = await makeFunction({}, await berth.token('eve', 'evil'))
    const deleted = await makeFunction()
    await ask('deleteFunction', { id: deleted }, 'deletedId')
    const told = new Set<string>()
    for (const id of [newId('function'), foreign, deleted, 'fn_nothing', newId('database')]) {
      const { status, body } = await create(id)
      expect([status, body.error]).toEqual([400, 'invalid_request'])
      told.add(body.message)
      const updated = await link(await makeUsed(), id)
      expect(updated).toMatchObject({
        code: 'INVALID_REQUEST',
        message: body.message.replace('function_id', 'functionId'),
      })
    }
    expect(told.size).toBe(1)
    expect((await link(await makeUsed(), '')).code).toBe('INVALID_REQUEST')
  })

  test('beyond as many as a function may have', async () => {
    const functionId = await makeFunction()
    const usual = functionLimits.linkedDatabasesMax
    Object.assign(functionLimits, { linkedDatabasesMax: 1 })
    try {
      await link(await makeUsed(), functionId)
      expect(await link(await makeUsed(), functionId)).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining('which is the limit') as string,
      })
      expect(await create(functionId)).toMatchObject({ status: 400 })
    } finally {
      Object.assign(functionLimits, { linkedDatabasesMax: usual })
    }
  })

  test('to members and keys, who may not write databases', async () => {
    const functionId = await makeFunction()
    expect((await create(functionId, await berth.token('mia', 'acme', 'member'))).status).toBe(403)
    const { key } = await makeKey(berth, token)
    expect((await create(functionId, key)).status).toBe(401)
  })
})

test('its password is nowhere in clear: in no row, job, event or answer', async () => {
  const [functionId, id] = [await makeFunction(), await makeUsed()]
  await link(id, functionId)
  const password = (await environment(functionId)).variables['PGPASSWORD'] ?? ''
  const tables = await findAll<{ name: string }>(
    berth.services.db,
    sql`select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'pgboss')`,
  )
  for (const { name } of tables) {
    const found = await findAll(
      berth.services.db,
      sql`select 1 from ${sql.raw(name)} as one where strpos(one::text, ${password}) > 0 limit 1`,
    )
    expect(found, name).toEqual([])
  }
  const { body } = await berth.call('GET', `/api/v1/databases/${id}`, { token })
  expect(JSON.stringify(body)).not.toContain(password)
})
