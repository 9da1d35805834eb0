/** Statements that people run in a database through the graph: who may, what comes back, and what Postgres refuses. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { makeKey } from '../support/makers.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
let owner: string
let id: string
beforeAll(async () => {
  world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '100' })
  owner = await world.berth.token('alice', 'acme')
  id = encodeId('database', world.known.row.id)
})
afterAll(() => world.close())

type Ran = { result: Record<string, unknown> | null; failure: Record<string, unknown> | null }
async function run(
  statement: string,
  { token = owner, of = id, ...more }: { token?: string; of?: string; parameters?: unknown; isReadOnly?: boolean } = {},
): Promise<Ran & { code?: string | undefined; message?: string | undefined }> {
  const { body } = await world.berth.ask(
    `mutation ($input: RunSqlInput!) { runSql(input: $input) {
      result { command rowCount columns { name typeOid } rows } failure { message sqlState detail hint position } } }`,
    { token, variables: { input: { databaseId: of, statement, ...more } } },
  )
  const [error] = body.errors ?? []
  return {
    ...((body.data?.['runSql'] ?? { result: null, failure: null }) as Ran),
    code: error?.extensions.code,
    message: error?.message,
  }
}

test('answers columns with their types and values with every digit, and takes parameters', async () => {
  expect(
    await run('select 9007199254740993::int8 as big, null as none, $1::text as given, true as truth', {
      parameters: ['a'],
    }),
  ).toMatchObject({
    result: {
      command: 'SELECT',
      rowCount: 1,
      columns: [
        { name: 'big', typeOid: 20 },
        { name: 'none', typeOid: 25 },
        { name: 'given', typeOid: 25 },
        { name: 'truth', typeOid: 16 },
      ],
      rows: [['9007199254740993', null, 'a', 't']],
    },
    failure: null,
  })
})

test('passes on numbers with every digit, as variables and in the document', async () => {
  const send = async (body: string): Promise<unknown> => {
    const answer = await fetch(`${world.berth.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' },
      body,
    })
    return ((await answer.json()) as { data?: unknown }).data
  }
  const given = '[9007199254740993, 0.1000000000000000055]'
  const wanted = { runSql: { result: { rows: [['9007199254740993', '0.1000000000000000055']] } } }
  const statement = 'select $1::numeric, $2::numeric'
  expect(
    await send(
      `{"query": "mutation ($p: JSON) { runSql(input: {databaseId: \\"${id}\\", statement: \\"${statement}\\", parameters: $p}) { result { rows } } }", "variables": {"p": ${given}}}`,
    ),
  ).toEqual(wanted)
  expect(
    await send(
      `{"query": "mutation { runSql(input: {databaseId: \\"${id}\\", statement: \\"${statement}\\", parameters: ${given}}) { result { rows } } }"}`,
    ),
  ).toEqual(wanted)
})

test('changes what is in the database as its owner, and only reads where that is asked for', async () => {
  expect(await run('create table made (id int primary key, body text)')).toMatchObject({
    result: { command: 'CREATE', rows: [] },
  })
  expect(await run('insert into made select n, $1 from generate_series(1, 3) n', { parameters: ['x'] })).toMatchObject({
    result: { command: 'INSERT', rowCount: 3 },
  })
  expect(await run('delete from made', { isReadOnly: true })).toMatchObject({
    result: null,
    failure: { sqlState: '25006', message: expect.stringContaining('read-only transaction') },
  })
  expect(await run('select count(*) from made', { isReadOnly: true })).toMatchObject({ result: { rows: [['3']] } })
})

test('says in Postgres’ own words what is wrong, and where', async () => {
  expect(await run('select nothing from nowhere')).toMatchObject({
    result: null,
    failure: { sqlState: '42P01', message: 'relation "nowhere" does not exist', position: 21 },
  })
  expect(await run('select 1; select 2')).toMatchObject({ failure: { sqlState: '42601' } })
  expect(await run(' -- nothing')).toMatchObject({ result: { command: null, rows: [] }, failure: null })
})

test('is for admins of the organization, and never for a key', async () => {
  const member = await world.berth.token('martha', 'acme', 'member')
  expect((await run('select 1', { token: member })).code).toBe('NOT_PERMITTED_FOR_ROLE')
  expect((await run('select 1', { token: await world.berth.token('adam', 'acme', 'admin') })).result).not.toBeNull()
  expect((await run('select 1', { token: await world.berth.token('mallory', 'other') })).code).toBe('NOT_FOUND')
  expect((await run('select 1', { of: encodeId('database', world.foreign.row.id) })).code).toBe('NOT_FOUND')
  expect((await run('select 1', { token: (await makeKey(world.berth, owner)).key })).code).toBe('UNAUTHORIZED')
})

test('refuses what is too large, with what to do', async () => {
  await run('create table large (body text)')
  expect(await run("insert into large values (repeat('x', 2000000)) returning body")).toMatchObject({
    result: null,
    failure: { sqlState: '54000', message: expect.stringMatching(/has run.*more than 1 MiB/) },
  })
  expect(await run('select count(*) from large')).toMatchObject({ result: { rows: [['1']] } })
  expect((await run("select 'x' from generate_series(1, 100000)")).result?.['rowCount']).toBe(100_000)
  expect((await run('select 1', { parameters: 'x' })).code).toBe('INVALID_REQUEST')
})

test('no client of POST /sql becomes the owner by a header', async () => {
  const answer = await fetch(`${world.berth.url}/sql`, {
    method: 'POST',
    headers: {
      'x-berth-is-owner': '1',
      'neon-connection-string': `postgresql://${world.known.row.pgUser}@${world.known.host}/app`,
    },
    body: '{"query": "select current_user"}',
  })
  expect(answer.status).toBe(401)
})

test('says that it cannot reach the database while nothing answers', async () => {
  await world.closeDoor()
  expect((await run('select 1')).code).toBe('SERVICE_UNAVAILABLE')
})
