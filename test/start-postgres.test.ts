import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, startTestPostgres, type TestDatabase, type TestPostgres } from './support/postgres.ts'

describe("the run's shared Postgres", () => {
  test('each copy of the template is migrated and belongs to a role without special rights', async () => {
    const [one, two] = await Promise.all([createDatabase(), createDatabase()])
    expect(one.url).not.toBe(two.url)
    const client = new pg.Client(one.url)
    await client.connect()
    const { rows } = await client.query(
      'select rolsuper, rolcreatedb, rolcreaterole, rolbypassrls from pg_roles where rolname = current_user',
    )
    expect(rows).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolbypassrls: false }])
    expect((await client.query('select name from migrations')).rows).toBeInstanceOf(Array)
    await client.query('create table mine (id int)')
    await client.end()
    await Promise.all([one.drop(), two.drop()])
    const late = new pg.Client(one.url)
    await expect(late.connect()).rejects.toThrow(/does not exist/)
  })
})

describe('a Postgres that is killed', () => {
  let postgres: TestPostgres
  let database: TestDatabase
  beforeAll(async () => {
    postgres = await startTestPostgres()
    database = await createDatabase(postgres)
  })
  afterAll(() => postgres?.stop())

  test('takes connections again, with every committed row, while an orphaned backend was still busy', async () => {
    const client = new pg.Client(database.url)
    client.on('error', () => {
      /* it is meant to be cut */
    })
    await client.connect()
    await client.query('create table kept (n int)')
    await client.query('insert into kept values (42)')
    // A backend that computes does not look whether its postmaster lives, and keeps the shared memory attached.
    const busy = client.query('select count(*) from generate_series(1, 1e10::bigint)').catch(() => 'cut')
    await postgres.killPostgres()
    await postgres.restartPostgres()
    expect(await busy).toBe('cut')
    const again = new pg.Client(database.url)
    await again.connect()
    expect((await again.query('select n from kept')).rows).toEqual([{ n: 42 }])
    await again.end()
  })
})
