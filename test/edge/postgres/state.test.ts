/** State of sessions: clients that share one server connection see each other's as little as clients of plain Postgres. */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { openProxyWorld, type ProxyWorld } from '../proxy-world.ts'

let world: ProxyWorld
let plain: TestDatabase
/** Every client must let go of its backend whenever another wants one, so that all that share do so at every turn. */
const atOnce = { idleMs: 60_000, pressMs: 0, patienceMs: 1_000, queueMs: 30_000 }
beforeAll(async () => {
  world = await openProxyWorld({ plainText: true, iterations: 1, backendsShared: 1, backendsMax: 12, times: atOnce })
  plain = await createDatabase(undefined, 'template1')
})
afterAll(async () => {
  await world.close()
  await plain.drop()
})

/** What one client does; answers something that tells whether it saw what it should. */
type Step = { name: string; run: (client: pg.Client) => Promise<unknown> }

const sql = (text: string, values?: unknown[]): Step => ({
  name: values ? `${text} ${JSON.stringify(values)}` : text,
  run: async (client) => {
    const result = (await client.query(text, values)) as pg.QueryResult | pg.QueryResult[]
    return (Array.isArray(result) ? result : [result]).map(({ rows, command }) => ({
      command,
      rows: rows as unknown[],
    }))
  },
})
const named = (name: string, text: string, values: unknown[]): Step => ({
  name: `${name}: ${text}`,
  run: async (client) => (await client.query({ name, text, values })).rows,
})

const steps: readonly Step[] = [
  sql('select 1 as one'),
  sql('select $1::int + 1 as sum', [41]),
  sql(`select count(*)::int as many from notes`),
  sql(`insert into notes (title) values ('x') returning id`),
  sql(`insert into plain_notes values (1)`),
  sql('set work_mem = 3333'),
  sql('reset work_mem'),
  sql('show work_mem'),
  sql('set search_path = elsewhere, public'),
  sql('show search_path'),
  sql(`select current_setting('my.tenant', true) as tenant`),
  sql(`set my.tenant = 'mine'`),
  sql(`select set_config('my.tenant', 'yours', false)`),
  sql(`select set_config('my.tenant', 'for now', true)`),
  sql('set local work_mem = 4444'),
  sql('set time zone 3'),
  sql('show timezone'),
  sql('begin'),
  sql('commit'),
  sql('rollback'),
  sql('savepoint here'),
  sql('select 1 / 0'),
  sql('create temporary table secret (a int)'),
  sql('create temporary table brief (a int) on commit drop'),
  sql('insert into secret values (1), (2)'),
  sql('select count(*)::int as many from secret'),
  sql(`select nextval('counter')::int as next`),
  sql(`select setval('counter', 100)::int as value`),
  sql(`select currval('counter')::int as current`),
  sql('select lastval()::int as last'),
  sql('prepare plan as select 7 as seven'),
  sql('execute plan'),
  sql('deallocate plan'),
  sql('select name from pg_prepared_statements order by 1'),
  named('by_name', 'select $1::text as word', ['a']),
  sql('declare held cursor with hold for select * from generate_series(1, 9) as n'),
  sql('fetch 2 from held'),
  sql('close held'),
  sql('listen news'),
  sql('unlisten *'),
  sql('select pg_listening_channels() as channel'),
  sql('select pg_try_advisory_lock(5) as locked'),
  sql('select pg_advisory_unlock(5) as unlocked'),
  sql('select pg_try_advisory_xact_lock(6) as locked'),
  sql('select touch() as touched'),
  sql('select current_user = session_user as same'),
  sql('discard temp'),
  sql('discard all'),
  sql(`do $$ begin perform set_config('my.tenant', 'done', false); end $$`),
  sql('select setseed(0.25) is not null as seeded'),
  sql(`select count(*)::int as many from pg_settings where source = 'session'`),
]

const prepare = `
  create sequence counter;
  create table notes (id serial primary key, title text);
  create table plain_notes (a int);
  create function touch() returns text language plpgsql as $$
    begin return set_config('my.tenant', 'touched', false); end $$;
  create schema elsewhere`
const clean = `drop schema public cascade; drop schema elsewhere cascade; create schema public`

/** What the step answers, or the code of its error. */
async function outcome(step: Step, client: pg.Client): Promise<unknown> {
  try {
    return await step.run(client)
  } catch (error) {
    return { error: (error as { code?: string }).code ?? String(error) } // what a server's error has
  }
}

async function connectPlain(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: plain.url })
  await client.connect()
  return client
}

test('whatever clients do in turns, each of them is answered as if it had plain Postgres for itself', async () => {
  const clientsMax = 3
  const turns = fc.array(fc.tuple(fc.nat(clientsMax - 1), fc.constantFrom(...steps)), { minLength: 10, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(turns, async (script) => {
      const keepers = [await world.direct(), await connectPlain()]
      for (const keeper of keepers) await keeper.query(prepare)
      const ours = await Promise.all(Array.from({ length: clientsMax }, () => world.client()))
      const theirs = await Promise.all(Array.from({ length: clientsMax }, () => connectPlain()))
      try {
        for (const [at, step] of script) {
          const [seen, expected] = [await outcome(step, ours[at]!), await outcome(step, theirs[at]!)] // at is below clientsMax
          expect(seen, `client ${at}: ${step.name}`).toEqual(expected)
        }
      } finally {
        for (const client of [...ours, ...theirs]) await client.end()
        await until('its backends are free', () => world.proxy.totals().clients === 0, 10_000, 5)
        for (const keeper of keepers) {
          await keeper.query(clean)
          await keeper.end()
        }
      }
    }),
    { numRuns: 12, endOnFailure: true },
  )
}, 120_000)

test('two clients that hold nothing have the same server connection in turns', async () => {
  const isShared = ({ free, backends } = world.proxy.totals()): boolean => free === backends && backends <= 1
  await until('no more than the shared connection is left', isShared, 20_000, 5)
  const [one, other] = [await world.client(), await world.client()]
  try {
    for (let turn = 0; turn < 5; turn++) {
      expect((await one.query('select 1 as a')).rows).toEqual([{ a: 1 }])
      expect((await other.query('select $1::int as a', [2])).rows).toEqual([{ a: 2 }])
      expect(world.proxy.totals().backends).toBe(1)
    }
  } finally {
    for (const client of [one, other]) await client.end()
  }
})

describe('of two clients that share one server connection', () => {
  let one: pg.Client
  let other: pg.Client
  beforeEach(async () => {
    one = await world.client()
    other = await world.client()
  })
  afterEach(async () => {
    for (const client of [one, other]) await client.end()
  })
  test('the one that is found to hold something sees nothing of how that was found', async () => {
    const keeper = await world.direct()
    await keeper.query('create sequence if not exists looked')
    await one.query(`select nextval('looked')`)
    await other.query('select 1')
    expect((await one.query('select name from pg_prepared_statements')).rows).toEqual([])
    expect((await one.query('select lastval() is not null as kept')).rows).toEqual([{ kept: true }])
    await keeper.end()
  })

  test.each([
    ['a setting', `set work_mem = 5555`, 'show work_mem', [{ work_mem: '5555kB' }]],
    ['a setting of its own', `set my.own = 'x'`, `select current_setting('my.own', true) as own`, [{ own: 'x' }]],
    ['a temporary table', 'create temp table mine as select 5 as a', 'select a from mine', [{ a: 5 }]],
    ['a prepared statement', 'prepare mine as select 6 as a', 'execute mine', [{ a: 6 }]],
    [
      'a lock',
      'select pg_advisory_lock(77)',
      `select count(*)::int as a from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
      [{ a: 1 }],
    ],
    ['a cursor', 'declare mine cursor with hold for select 8 as a', 'fetch all from mine', [{ a: 8 }]],
    ['a channel', 'listen mine', 'select pg_listening_channels() as a', [{ a: 'mine' }]],
    [
      'an open transaction',
      'begin isolation level serializable',
      'show transaction_isolation',
      [{ transaction_isolation: 'serializable' }],
    ],
  ])('the one that holds %s keeps it, and the other does not see it', async (_what, make, look, seen) => {
    await one.query(make)
    for (let turn = 0; turn < 2; turn++) {
      const answer = await other.query(look).then(
        ({ rows }) => rows as unknown[],
        () => 'an error',
      )
      expect(answer).not.toEqual(seen)
      expect((await one.query(look)).rows).toEqual(turn === 0 || !make.startsWith('declare') ? seen : [])
    }
    await one.end()
    await other.end()
    // Whoever comes next on the same connections sees nothing of it either.
    await until('both are given back', () => world.proxy.totals().clients === 0, 10_000, 5)
    const next = await Promise.all([world.client(), world.client()])
    for (const client of next) {
      const answer = await client.query(look).then(
        ({ rows }) => rows as unknown[],
        () => 'an error',
      )
      expect(answer).not.toEqual(seen)
      await client.end()
    }
  })
})
