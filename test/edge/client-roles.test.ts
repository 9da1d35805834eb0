/** The roles that the clients of a database share: what one client may do with them, and what it cannot do to others. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { findDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
let tokens: string[]
beforeAll(async () => {
  world = await openDatabasesWorld()
  tokens = await Promise.all(['bob', 'carol'].map((name) => world.berth.token(name, 'acme', 'viewer')))
  await world.change(world.known, sql`client_mode_enabled = true`)
})
afterAll(() => world.close())

const asMember = (at = 0) => world.client({ user: 'authenticated', password: tokens[at] ?? '' })
const asNobody = () => world.client({ user: 'anon', password: '' })
const passing = { code: '57P03', message: expect.stringContaining('try again in a moment') as unknown }
const shown = async (client: pg.Client, name: string): Promise<unknown> =>
  (await client.query<{ value: string }>('select current_setting($1) as value', [name])).rows[0]?.value

test('a client sees no statement of another one with its role, and does not end it', async () => {
  const [bob, carol, owner] = [await asMember(0), await asMember(1), await world.client()]
  const { rows } = await carol.query<{ pid: number }>("select pg_backend_pid() as pid, 'a secret of carol’s' as word")
  await bob.query('set role none')
  const seen = await bob.query<{ query: string }>(
    "select query from pg_stat_activity where pid <> pg_backend_pid() and usename like 'berth_authenticated%'",
  )
  expect(seen.rows.length).toBeGreaterThan(0)
  expect(seen.rows.map(({ query }) => query).join()).not.toContain('carol')
  for (const name of ['pg_terminate_backend', 'pg_cancel_backend'])
    await expect(bob.query(`select ${name}($1)`, [rows[0]?.pid])).rejects.toMatchObject({ code: '42501' })
  expect((await carol.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  expect((await owner.query('select pg_cancel_backend(0)')).rows).toEqual([{ pg_cancel_backend: false }])
  for (const client of [bob, carol, owner]) await client.end()
})

test('a client stores nothing that no table’s rights allow; the owner does', async () => {
  const [nobody, owner] = [await asNobody(), await world.client()]
  for (const text of ['select lo_creat(-1)', 'select lo_create(0)', "select lo_from_bytea(0, 'x')"]) {
    await expect(nobody.query(text)).rejects.toMatchObject({ code: '42501' })
    expect((await owner.query(text)).rowCount).toBe(1)
  }
  await expect(nobody.query('create temporary table mine ()')).rejects.toMatchObject({ code: '42501' })
  await expect(nobody.query("set temp_file_limit = '100GB'")).rejects.toMatchObject({ code: '42501' })
  expect(await shown(nobody, 'temp_file_limit')).toBe('32MB')
  expect(await shown(owner, 'temp_file_limit')).toBe('-1')
  await nobody.end()
  await owner.end()
})

test('what the owner changes of its own role does not last: it is seen, and the server is set up again', async () => {
  const { db } = world.berth.services
  const vmId = decodeId('vm', await makeVmRow(db, tokens[0] ?? '', await makeSilentNode(db)))
  await world.change(world.known, sql`vm_id = ${vmId}`)
  const owner = await world.client()
  await owner.query("alter role current_user password 'another'")
  await owner.query("alter role current_user set local_preload_libraries = 'nothing'")
  await owner.end()
  await expect(world.client()).rejects.toMatchObject(passing)
  const asked = sql<{ count: number }>`select count(*)::int as count from pgboss.job
    where name like 'databases-set-up/%' and data ->> 'databaseId' = ${world.known.row.id}`
  await until('its node is asked, once', async () => (await asked.execute(db)).rows[0]?.count === 1)
  const row = await findDatabaseRow(db, world.known.row.id)
  expect([row?.status, row?.eventPosition]).toEqual(['active', world.known.row.eventPosition])
  for (const client of [await asMember(), await asNobody()]) await client.end() // nobody else is kept waiting
  await world.setUp()
  await (await world.client()).end()
})

test('the owner dumps the whole database with pg_dump, without Berth’s own parts', async () => {
  const owner = await world.client()
  await owner.query(`create table kept (word text default auth.user_id()); insert into kept values ('a row');
    create policy own on kept using (word = auth.user_id())`)
  await owner.end()
  const { stdout } = await promisify(execFile)('pg_dump', ['-h', '127.0.0.1', '-U', world.known.row.pgUser, 'app'], {
    env: { ...process.env, PGPORT: String(world.proxy.port), PGPASSWORD: world.known.token, PGSSLMODE: 'require' },
  })
  for (const part of ['a row', 'CREATE POLICY own ON public.kept', 'auth.user_id()']) expect(stdout).toContain(part)
  for (const part of ['CREATE SCHEMA auth', 'auth.sessions', 'CREATE FUNCTION auth.', 'berth_owners'])
    expect(stdout).not.toContain(part)
})
