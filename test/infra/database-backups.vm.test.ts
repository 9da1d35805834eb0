/** Backups of a real database: what is broken comes back as it was, with everything beside the rows. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { settledMs, startDatabase, type BackupAnswer, type RunningDatabase } from './databases/running-database.ts'

const rowCount = 60_000

let database: RunningDatabase

/** The content of every table, as one line each. */
const sums = (): Promise<object[]> =>
  database.query(`select 'accounts' as name, count(*), sum(hashtextextended(a::text, 0)) from accounts a
    union all select 'audits', count(*), sum(hashtextextended(b::text, 0)) from audits b
    union all select 'guarded', count(*), sum(hashtextextended(c::text, 0)) from guarded c
    union all select 'passages', count(*), sum(hashtextextended(d::text, 0)) from passages d`)

beforeAll(async () => {
  database = await startDatabase()
  await database.query(`
    create table accounts (id bigint primary key, owner text default auth.user_id(), balance integer check (balance > -1000), filler text);
    insert into accounts select n, null, n % 997, md5(n::text) || md5((n * 7)::text) from generate_series(1, ${rowCount}) n;
    create index on accounts (owner);
    create table audits (id bigint generated always as identity, account bigint references accounts, at timestamptz default now(), what jsonb);
    insert into audits (account, what) select n, jsonb_build_object('n', n) from generate_series(1, 1000) n;
    create extension pgcrypto;
    create extension vector;
    create table passages (embedding vector(3));
    insert into passages select array[n % 7, n % 11, 1]::vector from generate_series(1, 500) n;
    create index nearest on passages using hnsw (embedding vector_cosine_ops);
    create extension pg_stat_statements;
    create function loaded_by_owner() returns boolean language sql stable as $$ select current_setting('is_superuser') = 'off' $$;
    create table guarded (id integer check (loaded_by_owner()), digest bytea default digest('x', 'sha256'));
    insert into guarded values (1);
    create view rich as select * from accounts where balance > 900;
    alter table accounts enable row level security;
    create policy own on accounts to authenticated using (owner = auth.user_id());
    grant select on accounts to authenticated;
    alter database app set work_mem = '5MB'`)
}, 800_000)
afterAll(() => database?.berth.stop(), 60_000)

test('broken data come back with identical checksums, and everything beside the rows too', async () => {
  const { query, call, backUp, files, isActive, newestRestore, pgUser } = database
  const before = await sums()
  const backup = await backUp()
  expect(backup).toMatchObject({ status: 'completed', error: null, triggered_by: 'manual' })
  expect(files()).toEqual([`${backup.id}.dump`])
  await query("update accounts set balance = 0, filler = 'broken'; drop table audits")
  const open = query('select pg_sleep(600)').then(
    () => 'ended by itself',
    (error: Error) => error.message,
  )
  const asked = await call<{ message: string }>('POST', `/backups/${backup.id}/restore`)
  expect(asked).toEqual({ status: 202, body: { message: 'Restore started' } })
  await until('it is active again', isActive, settledMs, 200)
  expect(await newestRestore()).toMatchObject({ status: 'COMPLETED', error: null, progress: { step: 'FINISHED' } })
  expect(await open).not.toBe('ended by itself')
  expect(await sums()).toEqual(before)
  const [row] =
    await query(`select current_user = (select tableowner from pg_tables where tablename = 'accounts') as owned,
    (select count(*)::int from pg_policies where tablename = 'accounts') as policies, has_table_privilege('authenticated', 'accounts', 'select') as granted,
    (select count(*)::int from rich) > 0 as viewed, current_setting('work_mem') as setting, auth.role() as role,
    (select count(*)::int from pg_indexes where indexdef like '%USING hnsw%') as nearest, (select count(*)::int from pg_stat_statements) > 0 as counted,
    (select string_agg(datname, ',' order by datname) from pg_database where not datistemplate) as databases`)
  expect(row).toEqual({
    owned: true,
    policies: 1,
    granted: true,
    viewed: true,
    setting: '5MB',
    role: pgUser,
    nearest: 1,
    counted: true,
    databases: 'app,app_old_1,postgres',
  })
  await expect(query('insert into accounts values (1)')).rejects.toThrow(/duplicate key/)
  const { body: list } = await call<BackupAnswer[]>('GET', '/backups')
  expect(list.map(({ status, triggered_by }) => [status, triggered_by])).toEqual([
    ['completed', 'pre_restore'],
    ['completed', 'manual'],
  ])
}, 600_000)
