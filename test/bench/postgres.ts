/** The wire proxy of databases: what it costs beside pgbouncer in session mode, and what its warm connections save. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { preparePostgres } from '#src/start/postgres-cluster.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Effort, Findings } from './benchmark.ts'
import { residentMemoryMb } from './processes.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from './rounds.ts'
import { wordsOf } from './world.ts'

const clients = 8
const idleClients = 500
const idleMs = 10_000
const restingName = 'resting'
const serverConnectionsMax = 100
const programLimitMs = 60_000
const scale = '10'

/** Somewhere to connect to. */
type Target = { name: string; port: number; secured?: boolean }
const loads = {
  simple: ['-M', 'simple', '-c', String(clients)],
  prepared: ['-M', 'prepared', '-c', String(clients)],
  connecting: ['-M', 'simple', '-C', '-c', '1'],
} as const
type Load = keyof typeof loads

/** Transactions a second of pgbench's SELECT. */
async function pgbench(target: Target, words: readonly string[], seconds: number): Promise<number> {
  const { stdout } = await promisify(execFile)(
    'pgbench',
    ['-n', '-S', '-j', '1', '-T', String(seconds), ...words, 'bench'],
    { env: environmentOf(target), timeout: seconds * 1000 + programLimitMs },
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new Error('pgbench is missing. Install the Debian package: apt-get install postgresql-contrib', {
      cause: error,
    })
  })
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1] ?? NaN)
}

function environmentOf({ port, secured }: Target): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: 'postgres',
    PGPASSWORD: 'bench',
    PGSSLMODE: secured ? 'require' : 'disable',
    PGGSSENCMODE: 'disable',
  }
}

/** A Postgres of its own that trusts whoever comes by loopback, with pgbench's tables in it. */
async function startServer(folder: string): Promise<{ port: number; stop: () => Promise<void> }> {
  const postgres = await preparePostgres({
    dataDir: folder,
    runDir: join(folder, 'run'),
    cacheDir: join(folder, 'cache'),
  })
  writeFileSync(join(postgres.clusterDir, 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
  const port = await freePort()
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: String(serverConnectionsMax),
    jit: 'off',
  }
  const server = spawn(
    join(postgres.binaries, 'bin/postgres'),
    ['-D', postgres.clusterDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { cwd: postgres.clusterDir, stdio: 'ignore', env: { LC_ALL: 'C' }, ...postgres.user },
  )
  const target = { name: 'direct', port }
  await until('Postgres takes connections', () => canConnect(port, 'postgres'), programLimitMs)
  const admin = await connect(port, 'postgres')
  await admin.query('create database bench')
  await admin.end()
  await promisify(execFile)('pgbench', ['-i', '-q', '-s', scale, 'bench'], {
    env: environmentOf(target),
    timeout: programLimitMs,
  })
  return { port, stop: () => end(server, 'SIGINT') }
}

async function connect(port: number, database = 'bench', name?: string): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database, application_name: name })
  client.on('error', (error) => process.stderr.write(`${error.message}\n`)) // the next query fails, and says what was measured
  await client.connect()
  return client
}

async function canConnect(port: number, database: string): Promise<boolean> {
  try {
    await (await connect(port, database)).end()
    return true
  } catch {
    return false // not up yet
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** pgbouncer in session mode, without passwords. @throws Error saying what to install */
async function startPgbouncer(
  folder: string,
  serverPort: number,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    [
      '[databases]',
      `bench = host=127.0.0.1 port=${serverPort} dbname=bench user=postgres`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      'auth_type = any\npool_mode = session\ndefault_pool_size = 16\nmax_client_conn = 1000',
      'log_connections = 0\nlog_disconnections = 0\nlog_stats = 0',
    ].join('\n'),
    { mode: 0o644 },
  )
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {} // it refuses to run as root
  const child = spawn('pgbouncer', ['-q', file], { stdio: 'ignore', ...asNobody })
  await Promise.race([
    until('pgbouncer takes connections', () => canConnect(port, 'bench'), programLimitMs),
    once(child, 'error').then(([error]: unknown[]) => {
      throw new Error('pgbouncer is missing. Install the Debian package: apt-get install pgbouncer', { cause: error })
    }),
  ])
  return { port, stop: () => end(child, 'SIGTERM') }
}

/** With the options of Node that the edge process has. */
async function startNode(script: string, ...words: string[]): Promise<Command> {
  const options = wordsOf('edge').filter((word) => word.startsWith('--'))
  const command = startCommand([...options, `test/bench/peers/${script}`, ...words])
  await command.line(/listens/)
  return command
}

/** Five hundred clients that have asked once, and rest: connections to the server, and memory before and after a while. */
async function measureIdle(
  target: Target,
  server: number,
  pid: number,
): Promise<{ backends: number; firstMb: number; thenMb: number }> {
  const resting: pg.Client[] = []
  for (let batch = 0; batch < idleClients / 25; batch++)
    resting.push(...(await Promise.all(Array.from({ length: 25 }, () => connect(target.port, 'bench', restingName)))))
  for (const client of resting) await client.query('select 1')
  await pause(idleMs)
  const firstMb = residentMemoryMb(pid)
  await pause(idleMs)
  const thenMb = residentMemoryMb(pid)
  const admin = await connect(server, 'postgres')
  const { rows } = await admin.query<{ many: number }>(
    `select count(*)::int as many from pg_stat_activity where application_name = '${restingName}'`,
  )
  await admin.end()
  for (const client of resting) await client.end()
  return { backends: rows[0]?.many ?? NaN, firstMb, thenMb }
}

/** SELECTs through the proxy, and connecting. */
export const postgres: Benchmark = {
  name: 'postgres',
  title: 'Databases: the wire proxy',
  async measure(effort, say) {
    const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'))
    chmodSync(folder, 0o711) // Postgres and pgbouncer run as other users when we are root
    const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
    try {
      const server = await startServer(folder)
      stops.push(server.stop)
      const bouncer = await startPgbouncer(folder, server.port)
      stops.push(bouncer.stop)
      const ports = { ours: await freePort(), secured: await freePort(), pipe: await freePort() }
      const ours = await startNode('postgres-proxy.ts', String(server.port), String(ports.ours))
      const others = [
        await startNode('postgres-proxy.ts', String(server.port), String(ports.secured), 'secured'),
        await startNode('postgres-pipe.ts', String(server.port), String(ports.pipe)),
      ]
      stops.push(() => [ours, ...others].map(({ child }) => child.kill('SIGTERM')))
      const targets: Target[] = [
        { name: 'direct', port: server.port },
        { name: 'pgbouncer, session mode', port: bouncer.port },
        { name: 'a plain pipe in Node', port: ports.pipe },
        { name: 'Berth', port: ports.ours },
        { name: 'Berth with TLS and SCRAM', port: ports.secured, secured: true },
      ]
      return await compare(effort, say, targets, () => measureIdle(targets[3]!, server.port, ours.child.pid ?? 0)) // the fourth is there
    } finally {
      for (const stop of stops.toReversed()) await stop()
    }
  },
}

async function compare(
  effort: Effort,
  say: (line: string) => void,
  targets: readonly Target[],
  idle: () => ReturnType<typeof measureIdle>,
): Promise<Findings> {
  const measured = {} as Record<Load, number[][]> // filled below, every one
  for (const [load, words] of Object.entries(loads) as [Load, readonly string[]][]) {
    for (const target of targets) await pgbench(target, words, 1)
    measured[load] = await inRounds(effort.rounds, targets, (target) => pgbench(target, words, effort.secondsPerRound))
    say(`${load}: ${targets.map(({ name }, at) => `${name} ${shown(median(measured[load][at] ?? []))}`).join(', ')}`)
  }
  const ratio = (load: Load, of: number, to: number): number =>
    ratioOf(measured[load][of] ?? [], measured[load][to] ?? [])
  const { backends, firstMb, thenMb } = await idle()
  const goal = (what: string, wanted: number, value: number): Findings['goals'][number] => ({
    what,
    wanted: `≥ ${shownRatio(wanted)}`,
    measured: shownRatio(value),
    met: value >= wanted,
  })
  return {
    how: `pgbench -S, scale ${scale}, one thread, against one Postgres by TCP on loopback; ${clients} clients, and one that connects for each query; ${effort.rounds} rounds of ${effort.secondsPerRound} s in rotated order. Nobody asks for a password or TLS, except in the last row, where pgbench's own share of both is in the figure. Then ${idleClients} clients ask once and idle for ${(2 * idleMs) / 1000} s.`,
    tables: [
      {
        title: 'Transactions a second',
        columns: ['target', 'simple', 'to direct', 'prepared', 'to direct', 'connect and query', 'to direct'],
        rows: targets.map(({ name }, at) => [
          name,
          ...(Object.keys(loads) as Load[]).flatMap((load) => [
            shown(median(measured[load][at] ?? [])),
            shownRatio(ratio(load, at, 0)),
          ]),
        ]),
      },
      {
        title: 'Clients that rest',
        columns: ['clients', 'connections to the server', 'memory after 10 s, MB', 'after 20 s'],
        rows: [[String(idleClients), String(backends), shown(firstMb), shown(thenMb)]],
      },
    ],
    goals: [
      goal('simple SELECTs, of pgbouncer in session mode', 0.8, ratio('simple', 3, 1)),
      goal('prepared SELECTs, of pgbouncer in session mode', 0.65, ratio('prepared', 3, 1)),
      goal('simple SELECTs, of a plain pipe in Node', 0.95, ratio('simple', 3, 2)),
      goal('connect and query, of direct', 6, ratio('connecting', 3, 0)),
      {
        what: `connections for ${idleClients} clients that rest`,
        wanted: '≤ 16',
        measured: String(backends),
        met: backends <= 16,
      },
    ],
  }
}
