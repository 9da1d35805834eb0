/**
 * Backups of real databases: what is broken comes back as it was, and kill -9 of the worker, of the database's machine or
 * of Postgres in the middle of a dump or a restore loses nothing.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'

const rowCount = 60_000
const settledMs = 180_000

type Database = { id: string; host: string; token: string; pg_user: string; status: string }
type Backup = { id: string; status: string; error: string | null; size_bytes: number; triggered_by: string }

let berth: Installation
let token: string
let database: Database

/** An answer of REST; status 0 when the connection was refused or cut. */
async function call<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
  try {
    const answer = await fetch(`${berth.url}/api/v1/databases${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Body }
  } catch {
    return { status: 0, body: {} as Body }
  }
}

async function ask<Data>(query: string): Promise<Data> {
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return ((await answer.json()) as { data: Data }).data
}

/** Runs statements as the owner of the database, over a connection of its own. */
async function query<Row extends object>(text: string): Promise<Row[]> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: berth.postgresPort,
    user: database.pg_user,
    password: database.token,
    database: 'app',
    ssl: { rejectUnauthorized: false, servername: database.host },
  })
  client.on('error', () => undefined) // it is ended by a restore, which the query reports
  await client.connect()
  try {
    const result = await client.query<Row>(text)
    return result.rows
  } finally {
    await client.end().catch(() => undefined) // it was cut
  }
}

/** The content of every table, as one line each. */
const sums = (): Promise<object[]> =>
  query(`select 'accounts' as name, count(*), sum(hashtextextended(a::text, 0)) from accounts a
    union all select 'audits', count(*), sum(hashtextextended(b::text, 0)) from audits b
    union all select 'guarded', count(*), sum(hashtextextended(c::text, 0)) from guarded c`)

const isActive = async (): Promise<boolean> => (await call<Database>('GET', `/${database.id}`)).body.status === 'active'
const backupOf = async (id: string): Promise<Backup> =>
  (await call<Backup>('GET', `/${database.id}/backups/${id}`)).body
const storedBytes = async (id: string): Promise<number> =>
  (await ask<{ backup: { progress: { storedBytes: number } } }>(`{ backup(id: "${id}") { progress { storedBytes } } }`))
    .backup.progress.storedBytes
type Restore = { status: string; error: string | null; progress: { step: string; loadedBytes: number } }
const newestRestore = async (): Promise<Restore | undefined> =>
  (
    await ask<{ database: { restores: { nodes: Restore[] } } }>(
      `{ database(id: "${database.id}") { restores(first: 1) { nodes { status error progress { step loadedBytes } } } } }`,
    )
  ).database.restores.nodes[0]

/** Makes a backup and waits for its end. */
async function backUp(): Promise<Backup> {
  const { body } = await call<Backup>('POST', `/${database.id}/backups`)
  let backup = body
  await until(
    'the backup ends',
    async () => !['pending', 'running'].includes((backup = await backupOf(body.id)).status),
    settledMs,
    200,
  )
  return backup
}

/** The files of backups, and what is being written. */
function files(): string[] {
  return ['files/backups', 'incoming'].flatMap((name) => {
    const folder = join(berth.dataDir, 'objects', name)
    return existsSync(folder)
      ? readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
          entry.isFile() ? [entry.name] : [],
        )
      : []
  })
}

beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const organization = String(decodeJwt(token)['org_id'])
  await until(
    'a database is made',
    async () => {
      const made = await call<Database>('POST', '', { organization_id: organization, name: 'shop' })
      if (made.status !== 201) return false
      database = made.body
      return true
    },
    400_000,
    2_000,
  )
  await until('it is active', isActive, 300_000, 500)
  database = { ...(await call<Database>('GET', `/${database.id}`)).body, token: database.token }
  await query(`
    create table accounts (id bigint primary key, owner text default auth.user_id(), balance integer check (balance > -1000), filler text);
    insert into accounts select n, null, n % 997, md5(n::text) || md5((n * 7)::text) from generate_series(1, ${rowCount}) n;
    create index on accounts (owner);
    create table audits (id bigint generated always as identity, account bigint references accounts, at timestamptz default now(), what jsonb);
    insert into audits (account, what) select n, jsonb_build_object('n', n) from generate_series(1, 1000) n;
    create extension pgcrypto;
    create function loaded_by_owner() returns boolean language sql stable as $$ select current_setting('is_superuser') = 'off' $$;
    create table guarded (id integer check (loaded_by_owner()), digest bytea default digest('x', 'sha256'));
    insert into guarded values (1);
    create view rich as select * from accounts where balance > 900;
    alter table accounts enable row level security;
    create policy own on accounts to authenticated using (owner = auth.user_id());
    grant select on accounts to authenticated;
    alter database app set work_mem = '5MB'`)
}, 800_000)
afterAll(() => berth?.stop(), 60_000)

test('broken data come back with identical checksums, and everything beside the rows too', async () => {
  const before = await sums()
  const backup = await backUp()
  expect(backup).toMatchObject({ status: 'completed', error: null, triggered_by: 'manual' })
  expect(files()).toEqual([`${backup.id}.dump`])
  await query("update accounts set balance = 0, filler = 'broken'; drop table audits")
  const open = query('select pg_sleep(600)').then(
    () => 'ended by itself',
    (error: Error) => error.message,
  )
  const asked = await call<{ message: string }>('POST', `/${database.id}/backups/${backup.id}/restore`)
  expect(asked).toEqual({ status: 202, body: { message: 'Restore started' } })
  await until('it is active again', isActive, settledMs, 200)
  expect(await newestRestore()).toMatchObject({ status: 'COMPLETED', error: null, progress: { step: 'FINISHED' } })
  expect(await open).not.toBe('ended by itself')
  expect(await sums()).toEqual(before)
  const [row] =
    await query(`select current_user = (select tableowner from pg_tables where tablename = 'accounts') as owned,
    (select count(*)::int from pg_policies where tablename = 'accounts') as policies, has_table_privilege('authenticated', 'accounts', 'select') as granted,
    (select count(*)::int from rich) > 0 as viewed, current_setting('work_mem') as setting, auth.role() as role,
    (select string_agg(datname, ',' order by datname) from pg_database where not datistemplate) as databases`)
  expect(row).toEqual({
    owned: true,
    policies: 1,
    granted: true,
    viewed: true,
    setting: '5MB',
    role: database.pg_user,
    databases: 'app,app_old_1,postgres',
  })
  await expect(query('insert into accounts values (1)')).rejects.toThrow(/duplicate key/)
  const { body: list } = await call<Backup[]>('GET', `/${database.id}/backups`)
  expect(list.map(({ status, triggered_by }) => [status, triggered_by])).toEqual([
    ['completed', 'pre_restore'],
    ['completed', 'manual'],
  ])
}, 600_000)

test('a worker that is killed in the middle of a dump leaves a failed backup without a file', async () => {
  const { body: backup } = await call<Backup>('POST', `/${database.id}/backups`)
  await until('some of it is stored', async () => (await storedBytes(backup.id)) > 0, settledMs, 50)
  berth.kill('worker')
  await until('it has failed', async () => (await backupOf(backup.id)).status === 'failed', settledMs, 200)
  expect((await backupOf(backup.id)).error).toContain('ended before it was complete')
  expect(files().filter((name) => name.includes(backup.id) || !name.endsWith('.dump'))).toEqual([])
  expect((await backUp()).status).toBe('completed')
}, 600_000)

test('a restore whose worker is killed while it loads goes on in the next one', async () => {
  const before = await sums()
  const backup = await backUp()
  await query('delete from audits')
  expect((await call('POST', `/${database.id}/backups/${backup.id}/restore`)).status).toBe(202)
  await until('it loads', async () => ((await newestRestore())?.progress.loadedBytes ?? 0) > 0, settledMs, 50)
  berth.kill('worker')
  await until('it is active again', isActive, settledMs, 200)
  expect(await newestRestore()).toMatchObject({ status: 'COMPLETED', error: null })
  expect(await sums()).toEqual(before)
}, 600_000)

test('a restore whose machine is killed while it loads leaves the data as they were', async () => {
  const backup = await backUp()
  await query('delete from audits where id % 2 = 0')
  const before = await sums()
  expect((await call('POST', `/${database.id}/backups/${backup.id}/restore`)).status).toBe(202)
  await until('it loads', async () => ((await newestRestore())?.progress.loadedBytes ?? 0) > 0, settledMs, 50)
  berth.kill('qemu')
  await until('the restore has failed', async () => (await newestRestore())?.status === 'FAILED', settledMs, 200)
  await until('it is active again', isActive, settledMs, 200)
  expect(await sums()).toEqual(before)
}, 600_000)

test('a restore goes on when Berth’s own Postgres is killed while it loads', async () => {
  const before = await sums()
  const backup = await backUp()
  await query('delete from guarded')
  expect((await call('POST', `/${database.id}/backups/${backup.id}/restore`)).status).toBe(202)
  await until('it loads', async () => ((await newestRestore())?.progress.loadedBytes ?? 0) > 0, settledMs, 50)
  berth.kill('postgres')
  await until('it is active again', isActive, settledMs, 200)
  expect(await newestRestore()).toMatchObject({ status: 'COMPLETED', error: null })
  expect(await sums()).toEqual(before)
}, 600_000)
