/**
 * Roles and databases that the owner of a real database makes: they work with the clients that people use, and lead nowhere
 * beyond that. A backup has the roles, and a restore brings them, also onto the server of another database.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'

const limitMs = 240_000
type Created = { id: string; host: string; token: string; status: string }
type Known = Created & { pgUser: string }
let berth: Installation
let token: string
let organizationId: string
let shop: Known
const call = <Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> =>
  berth.call<Body>(token, method, path, body)
const graphql = async <Data>(query: string): Promise<Data> =>
  (await call<{ data: Data }>('POST', '/graphql', { query })).body.data

async function isActive({ id }: { id: string }): Promise<boolean> {
  return (await call<Created>('GET', `/api/v1/databases/${id}`)).body.status === 'active'
}

async function create(name: string): Promise<Known> {
  const { status, body } = await call<Created>('POST', '/api/v1/databases', { organization_id: organizationId, name })
  expect(status, JSON.stringify(body)).toBe(201)
  await until(`${name} is active`, () => isActive(body), limitMs)
  return { ...body, pgUser: `app_${body.id.slice(-6)}` }
}

beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const { viewer } = await graphql<{ viewer: { organization: { id: string } } }>('{ viewer { organization { id } } }')
  organizationId = viewer.organization.id
  shop = await create('shop')
}, 2 * limitMs)
afterAll(() => berth.stop(), limitMs)

async function connect(options: pg.ClientConfig = {}, to: Known = shop): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: berth.postgresPort,
    user: to.pgUser,
    database: 'app',
    password: to.token,
    ssl: { rejectUnauthorized: false, servername: to.host },
    ...options,
  })
  client.on('error', () => {
    // Tests that cut it say so themselves.
  })
  await client.connect()
  return client
}

async function query<Row extends object>(text: string, options: pg.ClientConfig = {}, to?: Known): Promise<Row[]> {
  const client = await connect(options, to)
  try {
    return ([await client.query<Row>(text)].flat().at(-1) as pg.QueryResult<Row>).rows
  } finally {
    await client.end()
  }
}

async function psql(user: string, password: string, database: string, text: string): Promise<string> {
  const address = `host=127.0.0.1 port=${berth.postgresPort} user=${user} dbname=${database} sslmode=disable`
  const { stdout } = await promisify(execFile)('psql', [address, '-v', 'ON_ERROR_STOP=1', '-Atc', text], {
    env: { ...process.env, PGPASSWORD: password },
  })
  return stdout.trim()
}

const reader = { user: 'reader', password: 'only to look' }

test(
  'a read-only user logs in with a password of its own, sees what it was granted, and changes nothing',
  async () => {
    await query(`create table orders (id int primary key, item text); insert into orders values (1, 'a hat');
      create role reader login password '${reader.password}'; grant connect on database app to reader;
      grant select on orders to reader; alter default privileges grant select on tables to reader;
      create table bills (id int); create role staff; grant staff to reader; grant insert on bills to staff;
      alter role reader set search_path = public, pg_catalog; grant reader to current_user;
      alter default privileges for role reader grant select on tables to staff`)
    expect(await query('select current_user as who, item from orders', reader)).toEqual([
      { who: 'reader', item: 'a hat' },
    ])
    expect(await query('select count(*)::int as n from bills', reader)).toEqual([{ n: 0 }])
    await expect(query("insert into orders values (2, 'a cap')", reader)).rejects.toMatchObject({ code: '42501' })
    await expect(query('select 1', { ...reader, password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
    await expect(query('select 1', { user: 'staff', password: '' })).rejects.toThrow()
    await expect(query('select 1', { user: 'nobody', password: 'x' })).rejects.toMatchObject({ code: '28P01' })
    // Without the host name the owner's user says which database is meant.
    expect(await psql(`reader.${shop.pgUser}`, reader.password, 'app', 'select item from orders')).toBe('a hat')
    await query("alter role reader password 'another'")
    await expect(query('select 1', reader)).rejects.toMatchObject({ code: '28P01' })
    expect(await query('select 1 as one', { ...reader, password: 'another' })).toEqual([{ one: 1 }])
    await query(`alter role reader password '${reader.password}'`)
  },
  limitMs,
)

test(
  'a database for tests is made, migrated, used and dropped, as Rails, Django and Prisma do',
  async () => {
    for (const from of ['postgres', 'app']) {
      await query('create database app_test', { database: from })
      const inside = await connect({ database: 'app_test' })
      await inside.query('create table users (id int); insert into users values (1)')
      await inside.query('create extension vector')
      await inside.end()
      expect(await query('select * from users', { database: 'app_test' })).toEqual([{ id: 1 }])
      await query('drop database app_test', { database: from })
      await expect(query('select 1', { database: 'app_test' })).rejects.toMatchObject({ code: '3D000' })
    }
    await query('create database shared')
    await expect(query('select * from orders', { ...reader, database: 'shared' })).rejects.toMatchObject({
      code: '42P01',
    })
    expect(await psql(shop.pgUser, shop.token, 'shared', 'select current_database()')).toBe('shared')
  },
  limitMs,
)

test(
  'what an owner makes gets no further than the owner',
  async () => {
    await query(`create role boss login password 'boss' createrole createdb; grant connect on database app to boss;
      grant create on schema public to boss`)
    const boss = { user: 'boss', password: 'boss' }
    const attacks = [
      `alter role "${shop.pgUser}" superuser`,
      `alter role "${shop.pgUser}" replication`,
      `alter role "${shop.pgUser}" bypassrls`,
      'create role evil superuser',
      'create role evil replication',
      'create role evil bypassrls',
      'create role pg_evil',
      'create role evil in role postgres',
      'grant postgres to current_user',
      'grant berth_owners to reader',
      'grant berth_logins to reader',
      'grant berth_claims to current_user',
      'grant pg_execute_server_program to current_user',
      'grant pg_read_server_files, pg_write_server_files to reader',
      'grant pg_signal_backend to reader',
      'grant pg_read_all_stats to reader',
      'create role evil in role pg_execute_server_program',
      'set role postgres',
      'set role berth_claims',
      'set session authorization postgres',
      "alter role postgres password 'x'",
      "alter role berth_claims password 'x'",
      'alter role berth_authenticated nologin',
      'alter role berth_owners rename to mine',
      'drop role berth_claims',
      'drop role postgres',
      `drop role "${shop.pgUser}"`,
      'reassign owned by postgres to current_user',
      'drop owned by berth_claims',
      'alter database postgres owner to current_user',
      'alter database postgres set work_mem = 64',
      'drop database postgres',
      'drop database template1',
      'create database evil owner postgres',
      'create database evil template postgres',
      'alter database shared owner to postgres',
      'alter system set work_mem = 64',
      "copy (select 1) to program 'id'",
      "copy (select 1) to '/tmp/x'",
      'alter role all set work_mem = 64',
      'select rolpassword from pg_authid',
      'select auth.role_login(current_user)',
      "select auth.prepare_login('anonymous', 1)",
      "create function f() returns int language c as 'x'",
      "create tablespace evil location '/tmp'",
      "create subscription evil connection 'host=127.0.0.1' publication x with (connect = false)",
      "load 'auto_explain'",
      "set session_preload_libraries = 'auto_explain'",
      "alter role reader set session_preload_libraries = 'x'",
    ]
    for (const as of [{}, boss])
      for (const text of attacks)
        await expect(query(text, as), text).rejects.toMatchObject({
          code: expect.stringMatching(/^(?:42501|42939|0A000|42704|2BP01|55006|0LP01|42601)$/),
        })
    const inPostgres = [
      'create table t (a int)',
      'create schema s',
      'create temp table t (a int)',
      'create extension vector',
    ]
    for (const text of inPostgres)
      await expect(query(text, { database: 'postgres' }), text).rejects.toMatchObject({ code: '42501' })
    await expect(query('select 1', { database: 'template1' })).rejects.toMatchObject({ code: '42501' })
    expect(await query('select rolname from pg_roles where rolsuper or rolreplication or rolbypassrls')).toEqual([
      { rolname: 'postgres' },
    ])
  },
  limitMs,
)

test(
  'a role with a name of Berth’s is not let in, and gives the name back where Berth needs it',
  async () => {
    expect((await call('POST', `/api/v1/databases/${shop.id}/client-access/enable`)).status).toBe(200)
    const names = Array.from({ length: 80 }, (_, at) => `berth_anonymous_${at}`)
    await query(names.map((name) => `create role ${name} login password 'mine'`).join(';'))
    await expect(query('select 1', { user: names[0], password: 'mine' })).rejects.toMatchObject({ code: '28P01' })
    const anonymous = { user: 'anon', password: 'x' }
    expect(
      await query('select session_user::text like $$berth_anonymous_%$$ as own, current_user::text as who', anonymous),
    ).toEqual([{ own: true, who: 'anon' }])
    await expect(query('select * from orders', anonymous)).rejects.toMatchObject({ code: '42501' })
    expect(await query("select count(*)::int > 0 as renamed from pg_roles where rolname like 'renamed_%'")).toEqual([
      { renamed: true },
    ])
    expect((await call('POST', `/api/v1/databases/${shop.id}/client-access/disable`)).status).toBe(200)
    await query(`do $$ declare one text; begin for one in select rolname from pg_roles r where (rolname like 'berth_anonymous%' or rolname like 'renamed_%')
      and pg_has_role(current_user, r.oid, 'member with admin option') loop execute format('drop role %I', one); end loop; end $$`)
  },
  limitMs,
)

test(
  'a role wakes the database, also one that had not logged in before it slept',
  async () => {
    await query("create role early login password 'bird'; grant connect on database app to early")
    await graphql(`mutation { updateDatabase(input: { id: "${shop.id}", sleepAfterSeconds: 10 }) { database { id } } }`)
    const isAsleep = async (): Promise<boolean> =>
      (await graphql<{ database: { isAsleep: boolean } }>(`{ database(id: "${shop.id}") { isAsleep } }`)).database
        .isAsleep
    await until('it sleeps', isAsleep, limitMs)
    for (const wrong of [
      { user: 'early', password: 'wrong' },
      { user: 'nobody', password: 'x' },
    ])
      await expect(query('select 1', wrong)).rejects.toMatchObject({ code: '28P01' })
    expect(await isAsleep()).toBe(true)
    expect(await query('select current_user::text as who', { user: 'early', password: 'bird' })).toEqual([
      { who: 'early' },
    ])
    await graphql(`mutation { updateDatabase(input: { id: "${shop.id}", sleepAfterSeconds: 0 }) { database { id } } }`)
  },
  limitMs,
)

test(
  'a backup has the roles, and a restore brings them, here and onto another server',
  async () => {
    const backups = `/api/v1/databases/${shop.id}/backups`
    const { body: backup } = await call<{ id: string }>('POST', backups)
    type Status = { status: string; error: string | null }
    await until(
      'the backup is complete',
      async () => {
        const { body } = await call<Status>('GET', `${backups}/${backup.id}`)
        if (body.status === 'failed') throw new Error(String(body.error))
        return body.status === 'completed'
      },
      limitMs,
    )
    await query("update orders set item = 'broken'")
    await query('create database app_old_9; ')
    const other = await create('other')
    for (const target of [shop, other]) {
      const asked = await call('POST', `${backups}/${backup.id}/restore`, { target_database_id: target.id })
      expect(asked.status, JSON.stringify(asked.body)).toBe(202)
      await until('it is active again', () => isActive(target), limitMs, 200)
      const { database } = await graphql<{ database: { restores: { nodes: Status[] } } }>(
        `{ database(id: "${target.id}") { restores(first: 1) { nodes { status error } } } }`,
      )
      expect(database.restores.nodes[0]).toEqual({ status: 'COMPLETED', error: null })
      expect(await query('select item from orders', reader, target)).toEqual([{ item: 'a hat' }])
      await expect(query("insert into orders values (2, 'a cap')", reader, target)).rejects.toMatchObject({
        code: '42501',
      })
      if (target === shop) {
        await query('create table later (a int)')
        expect(await query('select count(*)::int as n from later', reader)).toEqual([{ n: 0 }])
      }
      expect(
        await query(
          "select pg_has_role('reader', 'staff', 'usage') as staff, current_setting('search_path') as path",
          reader,
          target,
        ),
      ).toEqual([{ staff: true, path: 'public, pg_catalog' }])
      await query('drop database app_old_1', {}, target) // which it may use as it did before
      await query('revoke connect on database app from early; drop role early', {}, target)
    }
    expect(await query('select current_database() as name', { database: 'shared' })).toEqual([{ name: 'shared' }])
  },
  2 * limitMs,
)

test(
  'an owner who drops or renames its main database from another one gets an empty one in its place',
  async () => {
    const third = await create('third')
    await query('create database mine', {}, third)
    const mine = { database: 'mine' }
    for (const [at, text] of ['drop database app', 'alter database app rename to renamed'].entries()) {
      await query(`create table there (a int); create role again_${at} login password 'x'`, {}, third)
      await until(
        'nobody is in it',
        async () => {
          await query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'app' and usename = current_user",
            mine,
            third,
          )
          return query(text, mine, third).then(
            () => true,
            ({ code }: { code: string }) => {
              expect(code).toBe('55006')
              return false
            },
          )
        },
        limitMs,
        1_000,
      )
      const tables = "select count(*)::int as n from pg_tables where schemaname = 'public'"
      let found: object[] = []
      await until(
        'it is there again',
        async () => {
          found = await query(tables, {}, third).catch(() => [])
          return found.length > 0
        },
        limitMs,
        500,
      )
      expect(found).toEqual([{ n: 0 }])
      if (at === 0) continue // the connection that the proxy keeps for a role would be in the way
      await query(`grant connect on database app to again_${at}`, {}, third)
      const asRole = { user: `again_${at}`, password: 'x' }
      const isIn = async (): Promise<boolean> =>
        query('select 1', asRole, third).then(
          () => true,
          () => false,
        )
      await until('its roles log in', isIn, limitMs, 500)
    }
    expect(await query('select * from there', { database: 'renamed' }, third)).toEqual([])
  },
  limitMs,
)
