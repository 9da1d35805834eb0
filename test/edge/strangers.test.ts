/** Strangers in a database that takes them: whatever they change of themselves, everybody else works on as before. */
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { roomOf } from '#src/edge/postgres/shares.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'
import { tryAll } from './strangers-crowd.ts'

let world: DatabasesWorld
let token: string
beforeAll(async () => {
  world = await openDatabasesWorld({}, { neighbour: true })
  token = await world.berth.token('bob', 'acme', 'viewer')
  await world.change(world.known, sql`client_mode_enabled = true`)
  const { foreign } = world
  for (const owner of [
    await world.client(),
    await world.client({ host: foreign.host, user: foreign.row.pgUser, password: foreign.token }),
  ]) {
    await owner.query(`create table shared (word text); insert into shared values ('for all');
      grant usage on schema public to anon, authenticated; grant select on shared to anon, authenticated`)
    await owner.end()
  }
})
afterAll(() => world.close())

const strangers = ['anon', 'authenticated'] as const
type Stranger = (typeof strangers)[number]
let logins = 0
/** A client with a server connection that began just now. */
const enter = (user: Stranger): Promise<pg.Client> =>
  world.client({ user, password: user === 'anon' ? '' : token, application_name: `login ${logins++}` })

/** What a role may try on itself and on what it shares; `{me}` is each name that it has. */
const ofItself = [
  "alter role {me} password 'x'",
  'alter role {me} password null',
  "alter role {me} valid until '2001-01-01'",
  'alter role {me} connection limit 0',
  'alter role {me} nologin',
  'alter role {me} set statement_timeout = 1',
  "alter role {me} set local_preload_libraries = 'nothing'",
  "alter role {me} set role = 'none'",
  "alter role {me} set search_path = 'nowhere'",
  "alter role {me} set my.own = 'x'",
  'alter role {me} set default_transaction_read_only = on',
  "alter role {me} in database app set search_path = 'nowhere'",
  'alter role {me} in database app set statement_timeout = 1',
  'alter role {me} reset all',
  'alter role {me} reset role',
  'alter role {me} in database app reset all',
  'alter role {me} rename to another',
  'drop owned by {me}',
  'drop owned by {me} cascade',
  'alter default privileges for role {me} grant all on tables to public',
  'drop role {me}',
  'revoke connect on database app from {me}',
  'revoke usage on schema public from {me}',
  'revoke select on shared from {me}',
  'revoke anon from {me}',
  'revoke authenticated from {me}',
  'revoke berth_logins from {me}',
  'grant {me} to public',
  "comment on role {me} is 'x'",
]
const ofOthers = [
  'alter role nobody_there set work_mem = 1024',
  'alter role berth_anonymous set statement_timeout = 1',
  "alter role berth_authenticated password 'x'",
  'alter role all set statement_timeout = 1',
  'alter role all in database app set statement_timeout = 1',
  'alter database app set statement_timeout = 1',
  'alter database app connection limit 0',
  'alter database nowhere set work_mem = 1024',
  'alter system set work_mem = 1024',
  'create role another',
  'drop event trigger berth_strangers',
  'alter event trigger berth_strangers disable',
  "select auth.prepare_login('anonymous', 1)",
  'drop schema auth cascade',
]
const names: Readonly<Record<Stranger, readonly string[]>> = {
  anon: ['current_user', 'anon'],
  authenticated: ['current_user', 'authenticated'],
}
const statements = (user: Stranger): string[] => [
  ...ofItself.flatMap((text) => names[user].map((name) => text.replace('{me}', name))),
  ...ofOthers,
]

/** What a session of a stranger is like for everybody who has changed nothing. */
async function look(client: pg.Client): Promise<unknown> {
  const { rows } = await client.query(`select current_setting('statement_timeout') as statement_timeout,
    current_setting('search_path') as search_path, current_setting('role') as role, current_setting('temp_file_limit') as files,
    current_setting('default_transaction_read_only') as read_only, current_setting('my.own', true) as own,
    (select count(*)::int from pg_db_role_setting where setrole = (select oid from pg_roles where rolname = session_user)) as settings,
    (select word from public.shared) as word`)
  return rows[0]
}
const asBegun = (role: Stranger): unknown => ({
  statement_timeout: '0',
  search_path: '"$user", public',
  role,
  files: '32MB',
  read_only: 'off',
  own: null,
  settings: 1,
  word: 'for all',
})

test.each(strangers)(
  'whatever a client of %s does to its role, nobody else finds anything changed, and nobody is kept out',
  async (user) => {
    const owner = await world.client()
    const { rows: before } = await owner.query('select pg_backend_pid() as pid')
    const done: string[] = []
    for (const role of ['none', user]) {
      const attacker = await enter(user)
      await attacker.query(`set role ${role}`)
      for (const text of statements(user)) {
        const isDone = await attacker.query(text).then(
          () => true,
          () => false,
        )
        if (isDone) done.push(text)
        if (!isDone && text !== statements(user).at(-1)) continue
        const client = await enter(user)
        expect(await look(client), `after ${text} as ${role}`).toEqual(asBegun(user))
        await client.end()
      }
      await attacker.end()
    }
    expect(done).toContain("alter role current_user password 'x'") // what is refused shows nothing
    expect(done).toContain("alter role current_user in database app set search_path = 'nowhere'")
    for (const one of strangers) {
      const client = await enter(one)
      expect(await look(client)).toEqual(asBegun(one))
      await client.end()
    }
    expect((await owner.query('select pg_backend_pid() as pid')).rows).toEqual(before)
    await owner.end()
  },
)

test('more clients than there are logins find all of them put right that others have changed', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const crowd = await Promise.all(Array.from({ length: 30 }, () => enter('anon')))
    await Promise.all(
      crowd.map(async (client) => {
        await client.query('set role none')
        await client.query("alter role current_user set statement_timeout = 1; alter role current_user password 'x'")
      }),
    )
    await Promise.all(crowd.map((client) => client.end()))
  }
  const client = await enter('anon')
  expect(await look(client)).toEqual(asBegun('anon'))
  await client.end()
})

test('beside a crowd that tries all of it, the owner and a neighbour lose no statement and no server connection', async () => {
  const [owner, neighbour] = [
    await world.client(),
    await world.client({ host: world.foreign.host, user: world.foreign.row.pgUser, password: world.foreign.token }),
  ]
  const processOf = async (client: pg.Client): Promise<unknown> =>
    (await client.query('select pg_backend_pid() as pid, auth.role() as role')).rows
  const before = [await processOf(owner), await processOf(neighbour)]
  let isOver = false
  const working = [owner, neighbour].map(async (client) => {
    let statements = 0
    for (; !isOver; statements++) await client.query('select word from shared')
    return statements
  })
  const crowd = Array.from({ length: 20 }, () =>
    tryAll(
      (options) => world.client(options),
      world.known.row.pgUser,
      () => Promise.resolve(),
    ),
  )
  expect(await Promise.all(crowd)).toEqual(crowd.map(() => 0))
  isOver = true
  for (const statements of await Promise.all(working)) expect(statements).toBeGreaterThan(0)
  expect([await processOf(owner), await processOf(neighbour)]).toEqual(before)
  for (const client of [owner, neighbour]) await client.end()
  await (await world.client()).end() // the right password, beside the wrong ones
})

test('statements that run on when their clients have left leave room for the owner', async () => {
  const superuser = await world.superuser()
  const room = roomOf('anonymous', limits.postgresBackendsMax)
  const ofStrangers = "from pg_stat_activity where usename like 'berth_anonymous%'"
  for (let crowd = 0; crowd < 2; crowd++) {
    const tried = await Promise.allSettled(Array.from({ length: 60 }, () => enter('anon')))
    const inside = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const { rowCount: before } = await superuser.query(`select ${ofStrangers} and wait_event = 'PgSleep'`)
    for (const client of inside) client.query('select pg_sleep(60)').catch(() => undefined)
    await until('they are at work', async () => {
      const { rowCount } = await superuser.query(`select ${ofStrangers} and wait_event = 'PgSleep'`)
      return (rowCount ?? 0) >= Math.min((before ?? 0) + inside.length, room)
    })
    await Promise.all(inside.map((client) => client.end())) // which cuts those that are at work
  }
  for (let owners = 0; owners < 5; owners++) await (await world.client({ application_name: `owner ${owners}` })).end()
  await superuser.query(`select pg_terminate_backend(pid) ${ofStrangers}`)
  await superuser.end()
})
