/** What people use with Postgres works unmodified through the wire proxy: libpq's programs and node-postgres. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { givenCertificate } from '#src/edge/postgres/logins/certificates.ts'
import { int32, message, queryMessage, syncMessage } from '#src/edge/postgres/protocol/messages.ts'
import { until } from '../../support/until.ts'
import { clientDatabase, clientUser, openProxyWorld, serverName, type ProxyWorld } from '../proxy-world.ts'
import { ask, connectSecured, errorOf, startup, type RawClient } from '../raw-client.ts'

let world: ProxyWorld
let folder: string
beforeAll(async () => {
  world = await openProxyWorld()
  folder = mkdtempSync(join(tmpdir(), 'berth-libpq-'))
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

const environment = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  ...world.environment,
  ...more,
})
/** Runs a program of libpq's. @returns what it printed */
async function run(program: string, words: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words, {
    env: environment(more),
    timeout: 60_000,
    maxBuffer: 64 * 2 ** 20,
  })
  return stdout.trim()
}

describe('psql', () => {
  test('checks the certificate by the node’s authority and binds its login to it', async () => {
    const address = `host=${serverName} hostaddr=127.0.0.1 sslmode=verify-full sslrootcert=${world.authorityFile} channel_binding=require`
    expect(await run('psql', [address, '-Atc', 'select 6 * 7'])).toBe('42')
    expect(world.asked.at(-1)).toEqual({ user: clientUser, database: clientDatabase, serverName })
    await expect(run('psql', [address.replace(serverName, 'elsewhere.example'), '-c', 'select 1'])).rejects.toThrow(
      'does not match host name',
    )
  })

  test.each(['sha256', 'sha512'])('takes a certificate of the operator’s that is signed with %s', async (digest) => {
    const [certificate, key] = [join(folder, `${digest}.pem`), join(folder, `${digest}.key`)]
    await promisify(execFile)('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        `-${digest}`,
        '-subj',
        '/CN=db',
        '-addext',
        `subjectAltName=DNS:*.db.berth.localhost`,
      ],
      ...['-keyout', key, '-out', certificate],
    ])
    const given = await openProxyWorld({ certificates: givenCertificate(certificate, key) })
    const address = `host=${serverName} hostaddr=127.0.0.1 port=${given.port} sslmode=verify-full sslrootcert=${certificate} channel_binding=require`
    expect(await run('psql', [address, '-Atc', 'select 6 * 7'])).toBe('42')
    await given.close()
  })

  test('works without a binding too, and shows its options', async () => {
    const shown = await run(
      'psql',
      ['-Atc', 'show statement_timeout', '-c', 'show application_name', '-c', '\\d pg_class'],
      {
        PGCHANNELBINDING: 'disable',
        PGOPTIONS: '-c statement_timeout=5s',
        PGAPPNAME: 'mine',
      },
    )
    expect(shown).toMatch(/^5s\nmine\noid\|oid/)
  })

  test('cancels what it runs when it is interrupted', async () => {
    const psql = spawn('psql', ['-v', 'VERBOSITY=verbose', '-c', 'select pg_sleep(60)', '-c', 'select 1'], {
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    psql.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const keeper = await world.direct()
    await until(
      'it sleeps',
      async () =>
        (await keeper.query(`select from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`))
          .rowCount === 1,
    )
    psql.kill('SIGINT')
    await once(psql, 'close')
    expect(said).toContain('57014')
    expect(
      (await keeper.query(`select from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`))
        .rowCount,
    ).toBe(0)
    await keeper.end()
  })
})

test('pgbench loads its tables and runs by all its modes, without a failure and without losing money', async () => {
  await run('pgbench', ['-i', '-q', '-s', '1'])
  for (const words of [['-M', 'simple'], ['-M', 'extended'], ['-M', 'prepared'], ['-C']]) {
    const said = await run('pgbench', ['-n', '-c', '6', '-t', '20', ...words])
    expect(said).toContain('number of transactions actually processed: 120/120')
  }
  const client = await world.client()
  const sums = await client.query<{ sum: string }>(
    'select sum(abalance) from pgbench_accounts union select sum(bbalance) from pgbench_branches union select sum(tbalance) from pgbench_tellers union select sum(delta) from pgbench_history',
  )
  expect(sums.rows).toHaveLength(1)
  expect((await client.query('select from pgbench_history')).rowCount).toBe(480)
  await client.end()
}, 60_000)

test('pg_dump and pg_restore take a database away and bring it back, the same to the last row', async () => {
  const keeper = await world.direct()
  await keeper.query(`drop table if exists pgbench_history, pgbench_accounts, pgbench_branches, pgbench_tellers;
    create table kept as select n, md5(n::text) as word, repeat('ä€', n % 50) as text from generate_series(1, 20000) as n;
    create function twice(int) returns int language sql immutable as 'select 2 * $1'; create index on kept (twice(n));
    create sequence counted start 7; select nextval('counted')`)
  const sum = async (): Promise<unknown> =>
    (await keeper.query(`select count(*), sum(hashtext(kept::text)), (select last_value from counted) from kept`)).rows
  const before = await sum()
  const file = join(folder, 'app.dump')
  await run('pg_dump', ['-Fc', '-f', file])
  await keeper.query('drop table kept; drop function twice; drop sequence counted')
  await run('pg_restore', ['--no-owner', '-d', clientDatabase, file])
  expect(await sum()).toEqual(before)
  expect(await run('pg_dump', ['--schema-only'])).toContain('CREATE FUNCTION public.twice')
  await keeper.end()
}, 60_000)

describe('node-postgres', () => {
  let client: pg.Client
  beforeAll(async () => {
    client = await world.client()
  })
  afterAll(() => client.end())

  test('has its prepared statements, transactions and errors', async () => {
    for (const n of [1, 2, 3])
      expect((await client.query({ name: 'plus', text: 'select $1::int + 1 as sum', values: [n] })).rows).toEqual([
        { sum: n + 1 },
      ])
    await client.query('begin')
    await expect(client.query('select 1/0')).rejects.toMatchObject({ code: '22012' })
    await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' })
    await client.query('rollback')
    expect((await client.query('select $1::text as word', ['ö'.repeat(100_000)])).rows).toEqual([
      { word: 'ö'.repeat(100_000) },
    ])
  })

  test('hears notices of others', async () => {
    const heard = once(client, 'notification')
    await client.query('listen news')
    const other = await world.client()
    await other.query(`notify news, 'hello'`)
    expect((await heard)[0]).toMatchObject({ channel: 'news', payload: 'hello' })
    await client.query('unlisten *')
    await other.end()
  })

  test('copies in and out, and gets a large result whole', async () => {
    await client.query('create table copied (n int, word text)')
    const rows = Array.from({ length: 20_000 }, (_, n) => `${n}\tword ${n}\n`)
    await pipeline(Readable.from(rows), client.query(copyFrom('copy copied from stdin')))
    const out: Buffer[] = []
    for await (const chunk of client.query(copyTo('copy (select * from copied order by n) to stdout')))
      out.push(chunk as Buffer)
    expect(Buffer.concat(out).toString()).toBe(rows.join(''))
    const { rows: large } = await client.query<{ text: string }>(
      `select repeat(md5(n::text), 1000) as text from generate_series(1, 1000) as n`,
    )
    expect(large).toHaveLength(1000)
    expect(large.every(({ text }) => text.length === 32_000)).toBe(true)
  })

  test('reads by a cursor', async () => {
    await client.query('begin')
    await client.query('declare c cursor for select generate_series(1, 5) as n')
    expect((await client.query('fetch 3 from c')).rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    await client.query('commit')
  })
})

describe('an unnamed prepared statement', () => {
  const parse = (text: string): Buffer => message('P'.charCodeAt(0), `\0${text}\0\0\0`)
  const execute = Buffer.concat([
    message('B'.charCodeAt(0), '\0\0\0\0\0\0\0\0'),
    message('E'.charCodeAt(0), '\0', int32(0)),
    syncMessage,
  ])
  const enter = async (tight: ProxyWorld): Promise<RawClient> => {
    tight.found = () => ({ by: 'nothing', admission: tight.admission })
    const client = await connectSecured(tight.port)
    client.send(startup({ user: clientUser, database: clientDatabase }))
    await client.until('Z')
    return client
  }

  test('is still there when its client had to give its backend away, and is refused as by Postgres when its tables changed', async () => {
    const tight = await openProxyWorld({
      backendsShared: 1,
      backendsMax: 2,
      times: { idleMs: 60_000, pressMs: 0, patienceMs: 1_000, queueMs: 5_000 },
    })
    const [one, other] = [await enter(tight), await enter(tight)]
    await ask(other, 'create table changing (a int); insert into changing values (5)')
    one.send(parse('select * from changing'), syncMessage)
    await one.until('Z')
    for (let turn = 0; turn < 3; turn++) {
      await ask(other, 'select 1')
      one.send(execute)
      const answers = await one.until('Z')
      expect(answers.map(({ type }) => type).join('')).toBe('2DCZ')
      expect(tight.proxy.totals().backends).toBe(1)
    }
    await ask(other, 'alter table changing add column b int')
    one.send(execute)
    const answers = await one.until('Z')
    expect(errorOf(answers)).toMatchObject({ S: 'ERROR', C: '0A000', M: 'cached plan must not change result type' })
    expect(answers.map(({ type }) => type).join('')).toBe('EZ')
    await ask(other, 'drop table changing')
    one.send(execute, queryMessage('select 2 as two'))
    expect(errorOf(await one.until('Z'))).toMatchObject({ S: 'ERROR', C: '42P01' })
    expect((await one.until('Z')).map(({ type }) => type).join('')).toBe('TDCZ')
    for (const client of [one, other]) client.socket.destroy()
    await tight.close()
  })
})
