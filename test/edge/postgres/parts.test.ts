/** Parts of the wire proxy that are right or wrong by themselves: how statements and messages are read, and verifiers of passwords. */
import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { followMessages } from '#src/edge/postgres/protocol/message-heads.ts'
import { fromClient, message } from '#src/edge/postgres/protocol/messages.ts'
import { makeVerifier, readVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { leaves, readStatements } from '#src/edge/postgres/sessions/statements.ts'
import { asAdmin } from '../../support/postgres.ts'
import { openProxyWorld } from '../proxy-world.ts'

const read = (text: string): ReturnType<typeof readStatements> =>
  readStatements(Buffer.from(text), 0, Buffer.byteLength(text))

describe('a statement', () => {
  test.each([
    '',
    'select 1',
    '(select a from b where c in (1, 2) and exists (select from d))',
    `select count(*), Lower(x), pg_catalog.now () from t group by 1`,
    `insert into public."Order Lines" (a, "set_config", c) values ($1, E'it\\'s (set_config(', 'x''y')`,
    'with recursive t(n) as (values (1) union all select n + 1 from t) select sum(n) from t',
    `update t set a = coalesce(b, 0) where c = any ($1::int[]) -- my.function('x')`,
    `select '$$', $$ set_config('a.b', 'c', false) $$, $tag$ do $$ $tag$, "weird ( name" from t`,
    'create table if not exists app.notes (id bigint primary key, title varchar(20) check (length(title) > 0))',
    'create index on notes using gin (to_tsvector(title))',
    'copy notes (id, title) from stdin',
    'set search_path to a, b; set local x = 1; set time zone 3; reset all',
    'begin isolation level serializable; commit; rollback to savepoint here',
    'listen news; notify news; declare c cursor with hold for select 1; fetch 2 from c',
    'explain (analyze, buffers) select 1',
    `select nextval('s'), currval('s'), pg_advisory_lock(1)`,
    'select a.b from d',
    'grant execute on function secret(int) to x; drop function secret(int)',
    `select /* set_config( /* nested */ ( */ 1`,
    `alter table t add column "x(" int default 5`,
  ])('%j leaves nothing that could not be found', (text) => {
    expect(read(text).leaves).toBe(leaves.nothing)
  })

  test.each([
    `select my_function(1)`,
    `select public.lower('x')`,
    `select "Lower"('x')`,
    `select a.b.c (1)`,
    `select set_config('my.own', 'x', false)`,
    `select pg_catalog.set_config('my.own', 'x', false)`,
    `select pg_catalog . "set_config" /* hidden */ ('my.own', 'x', false)`,
    `select U&"set!005Fconfig" UESCAPE '!' ('my.own', 'x', false)`,
    `set my.own = 'x'`,
    `SET SESSION "my"."own" TO 'x'`,
    'reset my.own',
    'set local my.own to 1',
    `select setseed(0.5)`,
    'set seed = 0.5',
    'do $$ begin end $$',
    'call my_procedure()',
    `load 'plpgsql'`,
    'select 1; do $$ begin end $$; select 2',
    `/* a comment */ call x()`,
    `select 'a' 'b', my_function(1)`,
    `select E'\\\\', my_function(1), '\\'`,
    `select '\\', my_function(1)`,
    'select $1, my_function($2)',
    'select x$y$, my_function(1), z$y$',
    'select 1 as a, f (2)',
    'create or replace function pg_temp.f(int) returns int language sql as $$ select 1 $$',
    'create operator pg_temp.+ (function = f, leftarg = int)',
    'flabbergast',
  ])('%j may leave what nobody could find', (text) => {
    expect(read(text).leaves).toBe(leaves.stuck)
  })

  test.each([
    ["select setval('s', 5)", leaves.kept],
    ['select pg_backend_pid()', leaves.kept],
  ])('%j leaves what only its client may have', (text, left) => {
    expect(read(text).leaves).toBe(left)
  })

  test.each([
    ['alter role x set work_mem = 1', true],
    ['begin; Alter  Database x reset all', true],
    ['alter table x add column a int', false],
    ['select 1', false],
  ])('%j changes how sessions begin: %s', (text, changes) => {
    expect(read(text).changesDefaults).toBe(changes)
  })

  test('of any bytes is read to its end, and nothing behind it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 20 }), (bytes, behind) => {
        const whole = Buffer.concat([bytes, Buffer.from(' do my_function( '), behind])
        expect(readStatements(whole, 0, bytes.length)).toEqual(readStatements(Buffer.from(bytes), 0, bytes.length))
      }),
    )
  })
})

describe('messages', () => {
  const types = fc.constantFrom(fromClient.query, fromClient.bind, fromClient.sync)
  const messages = fc.array(fc.tuple(types, fc.uint8Array({ maxLength: 30 })), { maxLength: 12 })

  test('are found and gathered wherever the bytes are cut, and nothing is passed on from the last one on', () => {
    fc.assert(
      fc.property(
        messages,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
        (sent, cuts) => {
          const watched = new Uint8Array(256)
          watched[fromClient.query] = watched[fromClient.sync] = 1
          const seen: [number, string][] = []
          const follower = followMessages(
            watched,
            {
              begins: (type) => type === fromClient.query,
              gathered: (type, bytes, from, to) => void seen.push([type, bytes.toString('hex', from, to)]),
            },
            fromClient.terminate,
          )
          const bytes = Buffer.concat(sent.map(([type, content]) => message(type, Buffer.from(content))))
          const stream = Buffer.concat([bytes, message(fromClient.terminate), Buffer.from('behind')])
          let passed = 0
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const chunk = stream.subarray(at, at + (cuts[turn % cuts.length] ?? 1))
            const ends = follower.follow(chunk)
            passed += ends
            at += chunk.length
            if (ends < chunk.length) break
          }
          expect(passed).toBe(bytes.length)
          expect(follower.atBoundary()).toBe(true)
          expect(seen).toEqual(
            sent
              .filter(([type]) => type === fromClient.query)
              .map(([type, content]) => [type, Buffer.from(content).toString('hex')]),
          )
        },
      ),
    )
  })
})

describe('a verifier', () => {
  test('is the same thing to Postgres and to the proxy: each takes the other’s', async () => {
    const world = await openProxyWorld()
    const role = `verified_${Date.now()}`
    await asAdmin(inject('postgres'), async (admin) => {
      await admin.query(`set password_encryption = 'scram-sha-256'; create role ${role} login password 'of Postgres'`)
      try {
        const { rows } = await admin.query<{ verifier: string }>(
          'select rolpassword as verifier from pg_authid where rolname = $1',
          [role],
        )
        world.found = () => ({ by: 'password', verifier: rows[0]?.verifier ?? '', admission: world.admission })
        await (await world.client({ user: role, password: 'of Postgres' })).end()
        await admin.query(`alter role ${role} password ${admin.escapeLiteral(await makeVerifier('of ours'))}`)
        const direct = new URL(inject('postgres').databaseUrl.replace('@/', '@localhost/'))
        const client = new pg.Client({
          host: direct.searchParams.get('host') ?? '',
          database: 'postgres',
          user: role,
          password: 'of ours',
        })
        await client.connect()
        await client.end()
      } finally {
        await admin.query(`drop role ${role}`)
      }
    })
    await world.close()
  })

  test.each(['', 'md5abc', 'SCRAM-SHA-256$4096:c2FsdA==$c2hvcnQ=:c2hvcnQ=', 'SCRAM-SHA-256$0:c2FsdA==$x:y'])(
    '%j is none',
    (text) => {
      expect(() => readVerifier(text)).toThrow('not a SCRAM-SHA-256 verifier')
    },
  )
})
