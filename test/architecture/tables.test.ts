/** The database's tables: current in tables.sql, indexed where they refer to each other, made once however many start. */
import { readdirSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { migrate, migrationNames } from '#src/platform/migrate.ts'
import { asAdmin, createDatabase, type TestDatabase } from '../support/postgres.ts'
import { describeRows, describeTables } from './describe-tables.ts'
import { root } from './sources.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

test('tables.sql is what the migrations make; if not, run: npm run tables', async () => {
  await expect(await describeTables(client)).toMatchFileSnapshot(`${root}/src/platform/tables.sql`)
})

test('the types of rows are those of the tables that the migrations make; if not, run: npm run tables', async () => {
  await expect(await describeRows(client)).toMatchFileSnapshot(`${root}/src/platform/postgres/tables.ts`)
})

test('every foreign key can be followed backwards by an index that begins with its columns', async () => {
  const { rows } = await client.query<{ key: string }>(`
    select r.conrelid::regclass || ' (' || r.conname || ')' as key from pg_constraint r
    where r.contype = 'f' and r.connamespace = 'public'::regnamespace and not exists (
      select from pg_index i where i.indrelid = r.conrelid and i.indpred is null
        and (i.indkey::int2[])[0:array_length(r.conkey, 1) - 1] @> r.conkey and (i.indkey::int2[])[0:array_length(r.conkey, 1) - 1] <@ r.conkey)`)
  expect(rows.map(({ key }) => key).sort()).toEqual(partlyIndexed)
})

/**
 * Foreign keys whose index leaves rows out. The referenced rows are never deleted (nodes, organizations, folders are
 * only marked), so nothing looks these up but queries that carry the index's own condition.
 */
const partlyIndexed = [
  'folders (folders_organization_id_fkey)',
  'memberships (memberships_organization_id_fkey)',
  'vms (vms_folder_id_fkey)',
  'vms (vms_node_id_fkey)',
  'vms (vms_organization_id_fkey)',
]

test('every table has a primary key, and every status column a check', async () => {
  const keyless = await client.query<{ name: string }>(`
    select relname as name from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace
      and not exists (select from pg_constraint r where r.conrelid = c.oid and r.contype = 'p')`)
  expect(keyless.rows).toEqual([{ name: 'stored_changes' }]) // which is only appended to and emptied
  const unchecked = await client.query<{ name: string }>(`
    select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid where a.attname = 'status' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      and not exists (select from pg_constraint r where r.conrelid = c.oid and r.contype = 'c' and a.attnum = any(r.conkey)) order by 1`)
  expect(unchecked.rows.map(({ name }) => name)).toEqual([
    'build_events',
    'database_backup_events',
    'database_events',
    'database_restore_events',
    'environment_events',
    'function_events',
    'vm_events',
  ]) // copies of what their nouns check
})

test('no time is stored without its time zone, and no text column has a length', async () => {
  const { rows } = await client.query<{ column: string }>(`
    select table_name || '.' || column_name as column from information_schema.columns
    where table_schema = 'public' and data_type in ('timestamp without time zone', 'character varying', 'character', 'money')`)
  expect(rows).toEqual([])
})

test('JSON is stored as it was written where callers’ own is passed on, and nowhere else', async () => {
  const { rows } = await client.query<{ column: string }>(`
    select table_name || '.' || column_name as column from information_schema.columns
    where table_schema = 'public' and data_type = 'json' order by 1`)
  expect(rows.map(({ column }) => column)).toEqual([
    'agent_versions.definition',
    'agents.definition', // schemas of tools
    'session_events.data', // arguments of tools
    'sessions.agent_definition',
  ])
})

test('migrations are numbered without gaps, and nothing else lies beside them', () => {
  const names = migrationNames()
  expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1))
  expect(readdirSync(`${root}/src/platform/migrations`).sort()).toEqual(names)
})

test('three concurrent starts run every migration once, and a fourth finds nothing to do', async () => {
  const name = 'test_three_starters'
  const address = inject('postgres')
  await asAdmin(address, async (admin) => {
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.query(`create database ${name} owner berth`)
  })
  const url = address.databaseUrl.replace('@/berth?', `@/${name}?`)
  try {
    const ran = await Promise.all([migrate(url), migrate(url), migrate(url)])
    expect(ran.flat().sort()).toEqual(migrationNames())
    expect(ran.filter((one) => one.length > 0)).toHaveLength(1)
    expect(await migrate(url)).toEqual([])
  } finally {
    await asAdmin(address, async (admin) => {
      await admin.query(`drop database ${name} with (force)`)
    })
  }
})
