/**
 * The server of a single host's Postgres, reachable only through a socket in a folder of its own: started when nothing
 * of an earlier one is left, and stopped last.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { signal } from '#src/platform/locks/process-marks.ts'
import { application, type EmbeddedPostgres } from './postgres-cluster.ts'
import { dyingWithUs, processesIn } from './processes.ts'
import { StartError } from './start-error.ts'
import { pollUntil } from './wait.ts'

const readyTimeoutMs = 60_000 // long enough to replay a full max_wal_size after a crash
const connectTimeoutMs = 5_000
const orphansLeaveMs = 1_000
const fastStopMs = 8_000
const immediateStopMs = 2_000

/** For a small host: little memory, short waits, no network. */
const serverSettings: Readonly<Record<string, string>> = {
  listen_addresses: '',
  max_connections: '200',
  shared_buffers: '128MB',
  effective_cache_size: '512MB',
  min_wal_size: '80MB',
  max_wal_size: '512MB',
  autovacuum_naptime: '15s',
  jit: 'off', // compiling costs more than our short queries
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '',
  log_checkpoints: 'off',
  log_min_messages: 'log', // leaves out WARNING and ERROR: those reach the client, who logs what matters
}

/**
 * Starts the server after clearing up what an earlier one left. It gets a fast shutdown when this process dies.
 * The caller follows its output and its end, and waits with waitForPostgres.
 */
export async function startPostgres(postgres: EmbeddedPostgres): Promise<ChildProcess> {
  await clearLeftovers(postgres)
  const settings = {
    ...serverSettings,
    unix_socket_directories: postgres.socketDir,
    ...(postgres.durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program, ...words] = [
    ...dyingWithUs('INT'),
    join(postgres.binaries, 'bin/postgres'),
    '-D',
    postgres.clusterDir,
    ...options,
  ]
  return spawn(program!, words, {
    cwd: postgres.clusterDir, // must be a folder that its user may enter; clearLeftovers recognizes it by this too
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // Ctrl-C reaches the whole process group of the terminal, and Postgres must stop last
    ...postgres.user,
  })
}

/**
 * Waits until it accepts connections, then makes sure that the application's role and database exist.
 * @throws StartError when the server ended, or does not answer within a minute.
 */
export async function waitForPostgres(postgres: EmbeddedPostgres, server: ChildProcess): Promise<void> {
  let admin: pg.Client | undefined
  const answers = await pollUntil(
    async () => {
      if (server.exitCode !== null || server.signalCode !== null)
        throw new Error('Postgres ended while it started; its last lines above say why.')
      if (!saysReady(postgres)) return false // connecting earlier only fills its log with refusals
      admin = await tryConnect(postgres.adminUrl)
      return admin !== undefined
    },
    { limitMs: readyTimeoutMs, everyMs: 20 },
  )
  if (!answers || !admin) throw new Error(`Postgres did not answer within ${readyTimeoutMs / 1000} s.`)
  try {
    const isThere = async (query: string, name: string) => (await admin!.query(query, [name])).rowCount === 1
    const verb = (await isThere('select from pg_roles where rolname = $1', application.role)) ? 'alter' : 'create'
    await admin.query(
      `${verb} role ${application.role} with login nosuperuser nocreatedb nocreaterole password ${admin.escapeLiteral(postgres.appPassword)}`,
    )
    if (!(await isThere('select from pg_database where datname = $1', application.database)))
      await admin.query(`create database ${application.database} owner ${application.role}`)
  } finally {
    await admin.end()
  }
}

/** Fast shutdown; an immediate one, then kill, when it takes too long (committed work survives both). */
export async function stopPostgres(server: ChildProcess): Promise<void> {
  const ended = () => server.exitCode !== null || server.signalCode !== null
  for (const [name, limitMs] of [
    ['SIGINT', fastStopMs],
    ['SIGQUIT', immediateStopMs],
    ['SIGKILL', immediateStopMs],
  ] as const) {
    if (ended()) return
    server.kill(name)
    await pollUntil(ended, { limitMs, everyMs: 10 })
  }
}

/**
 * Ends what an earlier server of this cluster left: the server itself, or, if that was killed, its backends, which hold
 * the shared memory and would prevent the next start. Its pid file is removed too: the pid may be another process by
 * now.
 */
async function clearLeftovers({ clusterDir, socketDir }: EmbeddedPostgres): Promise<void> {
  const left = () => processesIn(clusterDir, 'postgres')
  const gone = (limitMs: number) => pollUntil(() => left().length === 0, { limitMs, everyMs: 20 })
  const pidFile = join(clusterDir, 'postmaster.pid')
  const postmaster = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8').split('\n')[0]) : 0
  if (left().includes(postmaster)) {
    signal(postmaster, 'SIGINT')
    await gone(fastStopMs)
  }
  if (!(await gone(orphansLeaveMs))) {
    for (const name of ['SIGQUIT', 'SIGKILL'] as const) {
      for (const pid of left()) signal(pid, name)
      if (await gone(immediateStopMs)) break
    }
  }
  if (left().length > 0)
    throw new StartError(
      `An earlier Postgres of ${clusterDir} does not stop (processes ${left().join(', ')}). Kill it by hand.`,
    )
  rmSync(pidFile, { force: true })
  rmSync(join(socketDir, '.s.PGSQL.5432'), { force: true })
  rmSync(join(socketDir, '.s.PGSQL.5432.lock'), { force: true })
}

/** The eighth line of its pid file says `ready` when it accepts connections; pg_ctl waits for the same. */
function saysReady({ clusterDir }: EmbeddedPostgres): boolean {
  const pidFile = join(clusterDir, 'postmaster.pid')
  return existsSync(pidFile) && readFileSync(pidFile, 'utf8').split('\n')[7]?.trim() === 'ready'
}

async function tryConnect(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'berth-start',
  })
  client.on('error', () => {
    /* the connection was cut again; the next query of its user says so */
  })
  try {
    await client.connect()
    return client
  } catch {
    await client.end().catch(() => {
      /* it never opened */
    })
    return undefined // not up yet; the caller retries until its limit
  }
}
