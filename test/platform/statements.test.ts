/** How statements run: names, moments, and tables that change under prepared statements. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, findAll, findOne, openDatabase, sql, transaction, type Database } from '#src/platform/postgres.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
let ours: Database
beforeAll(async () => {
  database = await createDatabase()
  ours = openDatabase(database.url, { connections: 2, applicationName: 'statements-test' })
})
afterAll(async () => {
  await ours.close()
  await database.drop()
})

test('columns are named in camelCase inside and outside a transaction, and what is inside JSON keeps its names', async () => {
  const query = sql<object>`select 1 as vcpu_count, ${'x'}::text as secret_last4, '{"a_b": 1}'::jsonb as network_policy`
  const expected = { vcpuCount: 1, secretLast4: 'x', networkPolicy: { a_b: 1 } }
  expect(await findOne(ours.db, query)).toEqual(expected)
  expect(await transaction(ours.db, (tx) => findOne(tx, query))).toEqual(expected)
})

test('times are RFC 3339 with three digits, whatever their fraction, year and zone', async () => {
  const read = async (zone: string, moment: string): Promise<string | undefined> =>
    transaction(ours.db, async (tx) => {
      await sql`select set_config('timezone', ${zone}, true)`.execute(tx)
      return (await findOne<{ at: string }>(tx, sql`select ${moment}::timestamptz as at`))?.at
    })
  expect(await read('UTC', '2026-11-21 02:04:21+00')).toBe('2026-11-21T02:04:21.000Z')
  expect(await read('UTC', '2026-11-21 02:04:21.5+00')).toBe('2026-11-21T02:04:21.500Z')
  expect(await read('UTC', '2026-11-21 02:04:21.123999+00')).toBe('2026-11-21T02:04:21.123Z')
  expect(await read('UTC', '12026-11-21 02:04:21.1239+00')).toBe('+012026-11-21T02:04:21.123Z')
  expect(await read('Asia/Kolkata', '2026-11-21 02:04:21.12+00')).toBe('2026-11-21T02:04:21.120Z')
})

test('a statement keeps working, in and outside transactions, when a migration changes its table', async () => {
  await change(ours.db, sql`create table changing (id integer)`)
  await change(ours.db, sql`insert into changing (id) values (${1})`)
  const read = sql<object>`select * from changing where id = ${1}`
  const readTwiceAtOnce = (): Promise<object[][]> => Promise.all([findAll(ours.db, read), findAll(ours.db, read)])
  await readTwiceAtOnce() // both connections have prepared it
  await change(ours.db, sql`alter table changing add added_column integer default 7`)
  expect(await readTwiceAtOnce()).toEqual([[{ id: 1, addedColumn: 7 }], [{ id: 1, addedColumn: 7 }]])
  await change(ours.db, sql`alter table changing drop added_column`)
  expect(await transaction(ours.db, (tx) => findAll(tx, read))).toEqual([{ id: 1 }])
})

test('the number of changed rows is reported inside and outside a transaction', async () => {
  await change(ours.db, sql`create table counted (id integer)`)
  expect(await change(ours.db, sql`insert into counted select generate_series(1, ${3}::int)`)).toBe(3)
  expect(await transaction(ours.db, (tx) => change(tx, sql`delete from counted where id > ${1}`))).toBe(2)
})

test('an error of Postgres rejects the caller of its statement, and the connection stays usable', async () => {
  const wrong = sql`select 1 / ${0}::int`
  await expect(findAll(ours.db, wrong)).rejects.toMatchObject({
    code: '22012',
    stack: expect.stringContaining('statements.test.ts') as string,
  })
  expect(await findOne(ours.db, sql`select ${'x'}::text as after_it, null::text as nothing_there`)).toEqual({
    afterIt: 'x',
    nothingThere: null,
  })
})
