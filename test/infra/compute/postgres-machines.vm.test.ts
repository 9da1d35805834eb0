/** Machines of databases: what comes out of the snapshot, who gets in, what a client may do, and what survives. */
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { execInGuest } from '#src/drivers/compute/guest/exec.ts'
import { runSql, waitForServer } from '#src/drivers/compute/guest/postgres.ts'
import { dumpDatabase, loadDump } from '#src/drivers/compute/guest/postgres-copies.ts'
import type { Machine, MachineSpec } from '#src/drivers/compute/machine.ts'
import { nodeClient } from '#src/drivers/node.ts'
import { newUuid } from '#src/platform/ids.ts'
import { createSealer } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { ownSchemas } from '#src/resources/infra/database-restores/server-sql.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { databaseSetup, openLogins, sealNewLogins, serverSetup } from '#src/resources/infra/databases/setup.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { openNodeAgent } from '#workers/infra/node-agent.ts'
import { vmIdOf } from '#workers/infra/machine-specs.ts'
import { unnotedUse } from '../../support/makers.ts'
import { newSpec, startNode, type TestNode } from '../../support/compute.ts'
import { until } from '../../support/until.ts'

const prepareLimitMs = 15 * 60_000
const testLimitMs = 120_000
const sqlLimitMs = 30_000
const manyClients = 40
const manyClientsMs = 14_000
const owner = { user: 'app_tester', password: 'a password of this test' }

const newDatabaseSpec = (): MachineSpec =>
  newSpec({ template: 'postgres', memoryMb: 1024, diskMb: 0, hostname: 'database' })

let node: TestNode
let spec: MachineSpec
let machine: Machine
beforeAll(async () => {
  node = await startNode(0)
  await node.compute.prepareLater('postgres')
  spec = newDatabaseSpec()
  const taken = await node.compute.take(spec)
  expect(taken.from).toBe('snapshot')
  machine = taken.machine
  await ask(`create role ${owner.user} login password '${owner.password}' in role berth_logins;
    alter database app owner to ${owner.user}; alter schema public owner to ${owner.user}`)
}, prepareLimitMs)
afterAll(() => node?.stop())

const ask = (sql: string, database = 'app'): Promise<string> =>
  runSql(machine, { database, sql, timeoutMs: sqlLimitMs })

/** A client that connects to the machine's port, as the node's tunnels do. */
async function connect(to: Machine = machine, as: { user: string; password?: string } = owner): Promise<pg.Client> {
  const client = new pg.Client({ host: to.address, port: to.postgresPort!, database: 'app', ...as }) // a database's machine has one
  client.on('error', () => undefined) // the machine is killed under some of them
  await client.connect()
  return client
}

async function inGuest(line: string): Promise<string> {
  const argv = ['/bin/dash', '-c', line]
  const { stdout } = await execInGuest(machine, { argv, as: 'root', workingDir: '/', timeoutMs: sqlLimitMs })
  return stdout.trim()
}

test(
  'a database answers its node and, through tunnels, many clients that connect at once',
  async () => {
    expect(await ask('select 1, null, true; select current_user')).toBe('1||t\npostgres\n')
    const sealer = createSealer([Buffer.alloc(32, 1)])
    const socketPath = join(node.dataDir, 'node.sock')
    const agent = await openNodeAgent({
      services: { sealer } as Background, // no operation is called
      compute: node.compute,
      env: {} as GuestEnv,
      use: unnotedUse,
      socketPath,
    })
    const client = nodeClient(`unix:${socketPath}`, sealer.derive(nodeTokenPurpose))
    const nameOf = async (): Promise<unknown> => {
      const tunnel = await client.tunnel({ vmId: vmIdOf(spec.id) })
      const connected = Object.assign(tunnel, { connect: () => process.nextTick(() => tunnel.emit('connect')) })
      const session = new pg.Client({ stream: () => connected as never, database: 'app', ...owner }) // pg's types want a socket, which it is
      await session.connect()
      const { rows } = await session.query('select current_user as name')
      await session.end()
      return rows
    }
    const begunMs = performance.now()
    expect(await Promise.all(Array.from({ length: manyClients }, nameOf))).toEqual(
      Array.from({ length: manyClients }, () => [{ name: owner.user }]),
    )
    // A connection whose first packet was dropped would have waited for 1 + 2 + 4 + 8 s.
    expect(performance.now() - begunMs).toBeLessThan(manyClientsMs)
    await agent.close()
  },
  testLimitMs,
)

test(
  'neither the superuser nor a role without a login of Berth gets in over the network',
  async () => {
    await ask("alter role postgres password 'known'; create role stranger login password 'known'")
    for (const user of ['postgres', 'stranger', 'anon', 'nobody'])
      await expect(connect(machine, { user, password: 'known' })).rejects.toMatchObject({ code: '28000' })
    await expect(connect(machine, { user: owner.user, password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
    await expect(connect(machine, { user: 'berth_claims', password: '' })).rejects.toThrow()
  },
  testLimitMs,
)

test(
  'a statement that fails says why in Postgres’ own words, and undoes those before it',
  async () => {
    await expect(ask('create table public.half (one int); select * from missing')).rejects.toMatchObject({
      code: '42P01',
    })
    await expect(ask('select * from public.half')).rejects.toMatchObject({ code: '42P01' })
    await expect(
      runSql(machine, { database: 'app', sql: 'select pg_sleep(60)', timeoutMs: 300 }),
    ).rejects.toMatchObject({ code: 'timeout' })
  },
  testLimitMs,
)

test(
  'databases from one snapshot share no key, no id and no random number',
  async () => {
    const other = await node.compute.take(newDatabaseSpec())
    const secretsOf = async (one: Machine): Promise<string[]> => {
      const sql = 'select gen_random_uuid(), random(); select uuid_send(gen_random_uuid())'
      const said = (await runSql(one, { database: 'app', sql, timeoutMs: sqlLimitMs })).trim().split(/[|\n]/)
      await runSql(one, {
        database: 'app',
        sql: `do $$ begin if not exists (select from pg_roles where rolname = '${owner.user}') then create role ${owner.user} login password 'of the other' in role berth_logins; end if; end $$; grant connect on database app to ${owner.user}`,
        timeoutMs: sqlLimitMs,
      })
      const client = await connect(one, one === machine ? owner : { ...owner, password: 'of the other' })
      const { secretKey } = client as pg.Client & { secretKey: number } // the key that cancels its statements
      await client.end()
      const argv = [
        '/bin/dash',
        '-c',
        'cat /etc/machine-id; sha256sum < /run/berth/hostkey; head -c 16 /dev/urandom | od -An -tx1',
      ]
      const { stdout } = await execInGuest(one, { argv, as: 'root', workingDir: '/', timeoutMs: sqlLimitMs })
      return [...said, ...stdout.trim().split('\n'), String(secretKey)]
    }
    const [ours, theirs] = [await secretsOf(machine), await secretsOf(other.machine)]
    expect(ours.length).toBeGreaterThanOrEqual(7)
    expect(ours.filter((secret) => theirs.includes(secret))).toEqual([])
    await expect(connect(other.machine)).rejects.toMatchObject({ code: '28P01' })
    await node.compute.destroy(other.machine.id)
  },
  testLimitMs,
)

const refused: readonly [what: string, sql: string, code: string][] = [
  ['run a program', "copy (select 1) to program 'id'", '42501'],
  ['read a program', "create temp table t (x text); copy t from program 'id'", '42501'],
  ['read a file', "select pg_read_file('/etc/passwd')", '42501'],
  ['write a file', "copy (select 1) to '/tmp/x'", '42501'],
  ['list a folder', "select pg_ls_dir('/')", '42501'],
  ['import a file', "select lo_import('/etc/passwd')", '42501'],
  ['use dblink', 'create extension dblink', '0A000'],
  ['use postgres_fdw', 'create extension postgres_fdw', '0A000'],
  ['use file_fdw', 'create extension file_fdw', '0A000'],
  ['use Python', 'create extension plpython3u', '0A000'],
  ['use Perl', 'create extension plperlu', '0A000'],
  ['use Tcl', 'create extension pltclu', '0A000'],
  ['export a file', "select lo_export(0, '/tmp/x')", '42501'],
  ['load libraries at its next login', "set session_preload_libraries = 'auto_explain'", '42501'],
  ['take more room for temporary files', 'set temp_file_limit = -1', '42501'],
  ['be somebody else', 'set session authorization postgres', '42501'],
  [
    'make a function in C',
    "create function f() returns int language c as '/lib/x86_64-linux-gnu/libc.so.6', 'getpid'",
    '42501',
  ],
  ['load a library', "load 'auto_explain'", '42501'],
  ['change the server', 'alter system set fsync = off', '42501'],
  ['log what others do', "set log_min_messages = 'debug5'", '42501'],
  ['become the superuser', 'set role postgres', '42501'],
  ['make a superuser', 'create role more superuser', '42501'],
  ['raise itself', `alter role ${owner.user} superuser`, '42501'],
  ['read passwords', 'select * from pg_authid', '42501'],
  ['read others’ claims', 'select * from auth.sessions', '42501'],
  ['enter another database', 'create database more', '42501'],
  ['follow the log', "create subscription s connection 'host=127.0.0.1' publication p", '42501'],
]
test(
  'the owner of a database may not reach beyond it',
  async () => {
    const client = await connect()
    const allowed: string[] = []
    for (const [what, sql, code] of refused) {
      const error = await client.query(sql).then(
        () => undefined,
        (failure: pg.DatabaseError) => failure,
      )
      if (error?.code !== code) allowed.push(`${what}: ${error?.code ?? 'allowed'} ${error?.message ?? ''}`)
    }
    await client.end()
    expect(allowed).toEqual([])
  },
  testLimitMs,
)

test(
  'temporary files never take the room of the data: a statement that finds none for its own fails, and rows are written on',
  async () => {
    const client = await connect()
    const sort =
      'select count(*) from (select n, repeat(md5(n::text), 20) as word from generate_series(1, 100000) n order by 2) s'
    const roomMb = async (folder: string): Promise<number> =>
      Number(await inGuest(`df -m ${folder} | awk 'NR == 2 { print $4 }'`))
    const temporary = '/var/lib/postgresql/data/base/pgsql_tmp'
    expect(await roomMb(temporary)).toBeGreaterThan(3_000)
    expect((await client.query(sort)).rows).toEqual([{ count: 100_000 }])
    await inGuest(`fallocate -l $(($(df -m ${temporary} | awk 'NR == 2 { print $4 }') - 16))M /var/tmp/full`)
    expect(await roomMb(temporary)).toBeLessThan(40)
    const dataMb = await roomMb('/var/lib/postgresql')
    expect(dataMb).toBeGreaterThan(3_000)
    await expect(client.query(sort)).rejects.toMatchObject({ code: '53100' })
    await client.query('create table still (one int)')
    expect((await client.query('insert into still values (1)')).rowCount).toBe(1)
    expect(await inGuest(`ls ${temporary}`)).toBe('')
    await inGuest('rm /var/tmp/full')
    await client.query('drop table still')
    const [queue] = (
      await client.query<{ pages: number }>("select current_setting('max_notify_queue_pages')::int as pages")
    ).rows
    expect(((queue?.pages ?? 0) * 8) / 1024).toBeLessThan(dataMb / 8) // what NOTIFY keeps is on the disk of the data
    await client.end()
  },
  testLimitMs,
)

test(
  'nothing that the owner has done keeps its node from setting the database up again, and dumping it',
  async () => {
    const { machine: other } = await node.compute.take(newDatabaseSpec())
    const sealer = createSealer([Buffer.alloc(32, 1)])
    const id = newUuid()
    const row = { id, pgUser: 'app_other', pgDatabase: 'app', settings: { work_mem: '8MB' } } as unknown as Database // what the setup reads
    row.sealedLogins = sealNewLogins(sealer, id)
    const run = (database: string, sql: string) => runSql(other, { database, sql, timeoutMs: sqlLimitMs })
    const setUp = async (): Promise<void> => {
      await run('postgres', await serverSetup(sealer, row))
      await run('app', databaseSetup(row))
    }
    await setUp()
    const login = { user: row.pgUser, password: openLogins(sealer, row).owner }
    const hostile = await connect(other, login)
    for (const sql of [
      'create schema evil; create function evil.pg_backend_pid() returns int language sql as $$ select 1 $$',
      "create table kept (word text); insert into kept values ('a row'); select lo_from_bytea(0, 'large')",
      'alter database app set search_path = evil, pg_catalog',
      "alter database app set role = 'anon'",
      "alter database app set local_preload_libraries = 'nothing'",
      'alter database app set default_transaction_read_only = on',
      'alter database app set standard_conforming_strings = off',
      "alter database app set transaction_timeout = '1ms'",
      "alter database app set statement_timeout = '1ms'",
      'alter database app with connection limit 0 is_template true',
      "alter role current_user password 'its own'",
      'drop schema public cascade; create table evil.kept (word text)',
    ])
      await hostile.query(sql)
    await hostile.end()
    await expect(connect(other, login)).rejects.toThrow()
    await setUp()
    expect(await run('app', 'select current_user, pg_backend_pid() > 1')).toBe('postgres|t\n')
    const dump = await dumpDatabase(other, {
      database: 'app',
      withoutSchemas: ownSchemas,
      timeoutMs: testLimitMs,
      signal: new AbortController().signal,
    })
    const complaint = buffer(dump.stderr)
    dump.stdout.resume()
    expect([(await complaint).toString(), await dump.exit]).toEqual(['', { exitCode: 0, timedOut: false }])
    await node.compute.destroy(other.id)
  },
  testLimitMs,
)

test(
  'a dump that is loaded into another database is the same, row by row',
  async () => {
    const client = await connect()
    await client.query(`create table accounts (id int primary key, balance numeric not null check (balance > -100), note text);
      insert into accounts select n, n * 1.5, repeat(md5(n::text), 20) from generate_series(1, 5000) n;
      create index on accounts (note); create view rich as select * from accounts where balance > 100`)
    await client.end()
    const checksum = "select count(*), md5(string_agg(a::text, ',' order by id)) from public.accounts a"
    const signal = new AbortController().signal
    const dump = await dumpDatabase(machine, {
      database: 'app',
      withoutSchemas: ['auth'],
      timeoutMs: testLimitMs,
      signal,
    })
    dump.stderr.resume()
    const file = await buffer(dump.stdout)
    expect(await dump.exit).toEqual({ exitCode: 0, timedOut: false })
    await ask(`create database copy owner ${owner.user}`, 'postgres')
    const load = await loadDump(machine, { database: 'copy', role: owner.user, timeoutMs: testLimitMs, signal })
    load.stdout.resume()
    load.stdin.end(file)
    const said = await buffer(load.stderr)
    expect([said.toString(), await load.exit]).toEqual(['', { exitCode: 0, timedOut: false }])
    const before = await ask(checksum)
    expect(before).toMatch(/^5000\|[0-9a-f]{32}\n$/)
    expect(await ask(checksum, 'copy')).toBe(before)
    await ask('drop database copy', 'postgres')
  },
  testLimitMs,
)

test(
  'everything that was committed is there after a kill of the machine under load',
  async () => {
    await ask('create table if not exists public.commits (id bigint primary key)')
    await ask(`alter table public.commits owner to ${owner.user}`)
    const committed: number[] = []
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect()))
    const wanted = 150
    const load = clients.map(async (client, worker) => {
      for (let at = 0; ; at++) {
        const id = at * clients.length + worker
        await client.query('insert into commits values ($1)', [id])
        committed.push(id)
      }
    })
    const ended = Promise.allSettled(load)
    await until('enough is committed', () => committed.length >= wanted, 60_000)
    process.kill((await node.qemus()).get(node.record(spec.id).machineUuid)!, 'SIGKILL')
    await ended
    await until('its end is noticed', () => node.ended.some(({ id, how }) => id === spec.id && how === 'lost'))
    machine = await node.compute.boot(spec)
    await waitForServer(machine, 60_000)
    const there = new Set((await ask('select id from public.commits')).trim().split('\n').map(Number))
    expect(committed.filter((id) => !there.has(id))).toEqual([])
    expect(committed.length).toBeGreaterThanOrEqual(wanted)
  },
  testLimitMs,
)

test(
  'a database that was paused goes on where it was, on the same port for its node',
  async () => {
    await node.compute.pause(spec.id)
    expect(node.compute.find(spec.id)).toBeUndefined()
    machine = await node.compute.resume(spec)
    const client = await connect()
    expect((await client.query('select count(*) > 0 as is_there from commits')).rows).toEqual([{ is_there: true }])
    await client.end()
    expect(
      Math.abs(Number(await ask('select extract(epoch from clock_timestamp())')) * 1000 - Date.now()),
    ).toBeLessThan(5_000)
  },
  testLimitMs,
)

test(
  'a worker that starts again reaches a database at the port where it was',
  async () => {
    const { postgresPort } = machine
    const [adopted] = await node.restart()
    expect(adopted?.postgresPort).toBe(postgresPort)
    machine = adopted!
    await (await connect()).end()
    expect(await ask('select 1')).toBe('1\n')
  },
  testLimitMs,
)

test(
  'the disk of the data grows while Postgres runs, and is as large after a stop and a boot, also in another machine',
  async () => {
    const sizeMb = async (folder = '/var/lib/postgresql'): Promise<number> =>
      Number(await inGuest(`df -m ${folder} | awk 'NR == 2 { print $2 }'`))
    const [before, ownBefore] = [await sizeMb(), await sizeMb('/')]
    await node.compute.growFolder(spec.id, 14 * 1024)
    const after = await sizeMb()
    expect(after - before).toBeGreaterThan(3_900)
    expect((await sizeMb('/')) - ownBefore).toBeGreaterThan(900) // a quarter of that, for temporary files
    await node.compute.growFolder(spec.id, 1024) // it never shrinks
    const folderId = machine.folderId!
    await node.compute.stop(spec.id)
    await node.compute.destroy(spec.id)
    spec = { ...newDatabaseSpec(), folder: { folderId } }
    const taken = await node.compute.take(spec)
    expect(taken.from).toBe('boot')
    machine = taken.machine
    await waitForServer(machine, 60_000)
    expect(await sizeMb()).toBe(after)
    expect(await ask('select count(*) from public.accounts')).toBe('5000\n')
    expect(await inGuest('dmesg | grep -c "vdb): recovery complete"')).toBe('0') // it was stopped in order
  },
  testLimitMs,
)
