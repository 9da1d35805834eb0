/**
 * The Postgres of a single host: made at the first start, reachable only through a socket in a folder of its own,
 * never run as root. The application gets a role without special rights, so that what only a superuser may do
 * stays out of its reach from the first day.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { isRoot } from '../platform/settings/places.ts'
import { randomToken } from '../platform/ids.ts'
import { ensureSystemUser, type SystemUser } from '../drivers/system-users.ts'
import { postgresFolder } from './postgres-binaries.ts'
import { StartError } from './start-error.ts'
import { signal } from '#src/platform/locks/process-marks.ts'
import { dyingWithUs, processesIn } from './processes.ts'
import { becomesTrue } from './wait.ts'

const initTimeoutMs = 120_000
const readyTimeoutMs = 60_000 // long enough to replay a full max_wal_size after a crash
const connectTimeoutMs = 5_000
const orphansLeaveMs = 1_000
const fastStopMs = 8_000
const immediateStopMs = 2_000
const unfinishedPrefix = '.postgres-'
const databaseName = 'berth'
const appRole = 'berth'

/** A cluster on disk and how to reach it. `durable: false` turns fsync off: for tests only. */
export type EmbeddedPostgres = {
  clusterDir: string
  socketDir: string
  binaries: string
  /** Who it runs as; null for ourselves. */
  user: SystemUser | null
  /** As the application: owner of its database, nothing more. */
  databaseUrl: string
  /** As the superuser, to the database `postgres`. */
  adminUrl: string
  appPassword: string
  durable: boolean
}

/** Sensible for a small host: little memory, short waits, nothing that listens on the network. */
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
 * Makes the cluster when there is none: complete or not at all.
 * @throws StartError saying what to do when the binaries, the user or the passwords are missing.
 */
export async function preparePostgres({
  dataDir,
  runDir,
  cacheDir,
  durable = true,
}: {
  dataDir: string
  runDir: string
  cacheDir: string
  durable?: boolean
}): Promise<EmbeddedPostgres> {
  const binaries = postgresFolder(cacheDir)
  const user = isRoot() ? ensureSystemUser('postgres') : null
  const socketDir = join(runDir, 'postgres')
  mkdirSync(socketDir, { recursive: true })
  chmodSync(socketDir, 0o700)
  giveTo(user, socketDir)
  const clusterDir = join(dataDir, 'postgres')
  const passwordsFile = join(dataDir, 'postgres-passwords.json')
  if (!existsSync(clusterDir)) {
    for (const name of readdirSync(dataDir)) {
      if (name.startsWith(unfinishedPrefix)) rmSync(join(dataDir, name), { recursive: true, force: true }) // of a start that was killed
    }
    writeFileSync(passwordsFile, JSON.stringify({ superuser: randomToken(24), app: randomToken(24) }), {
      mode: 0o600,
      flush: true,
    })
    await initCluster({
      dataDir,
      clusterDir,
      binaries,
      user,
      durable,
      password: readPasswords(passwordsFile).superuser,
    })
  }
  const passwords = readPasswords(passwordsFile)
  const url = (role: string, password: string, database: string) =>
    `postgres://${role}:${password}@/${database}?host=${encodeURIComponent(socketDir)}`
  return {
    clusterDir: realpathSync(clusterDir),
    socketDir,
    binaries,
    user,
    durable,
    appPassword: passwords.app,
    databaseUrl: url(appRole, passwords.app, databaseName),
    adminUrl: url('postgres', passwords.superuser, 'postgres'),
  }
}

/**
 * Starts the server once nothing of an earlier one is left. It gets a fast shutdown when we die.
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
    cwd: postgres.clusterDir, // must be a folder its user may enter; also how clearLeftovers knows it again
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // Ctrl-C reaches the whole process group of the terminal, and Postgres must stop last
    ...postgres.user,
  })
}

/**
 * Waits until it takes connections, then sees to the application's role and database.
 * @throws StartError when the server ended, or does not answer within a minute.
 */
export async function waitForPostgres(postgres: EmbeddedPostgres, server: ChildProcess): Promise<void> {
  let admin: pg.Client | undefined
  const answers = await becomesTrue(
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
    const verb = (await isThere('select from pg_roles where rolname = $1', appRole)) ? 'alter' : 'create'
    await admin.query(
      `${verb} role ${appRole} with login nosuperuser nocreatedb nocreaterole password ${admin.escapeLiteral(postgres.appPassword)}`,
    )
    if (!(await isThere('select from pg_database where datname = $1', databaseName)))
      await admin.query(`create database ${databaseName} owner ${appRole}`)
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
    await becomesTrue(ended, { limitMs, everyMs: 10 })
  }
}

/**
 * Ends what an earlier server of this very cluster left: itself, or, when it was killed, its backends, who keep
 * the shared memory and would make the next one refuse. Its pid file goes too: the number in it may be another's by now.
 */
async function clearLeftovers({ clusterDir, socketDir }: EmbeddedPostgres): Promise<void> {
  const left = () => processesIn(clusterDir, 'postgres')
  const gone = (limitMs: number) => becomesTrue(() => left().length === 0, { limitMs, everyMs: 20 })
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
      `An earlier Postgres of ${clusterDir} does not end (processes ${left().join(', ')}). End it by hand.`,
    )
  rmSync(pidFile, { force: true })
  rmSync(join(socketDir, '.s.PGSQL.5432'), { force: true })
  rmSync(join(socketDir, '.s.PGSQL.5432.lock'), { force: true })
}

async function initCluster({
  dataDir,
  clusterDir,
  binaries,
  user,
  durable,
  password,
}: {
  dataDir: string
  clusterDir: string
  binaries: string
  user: SystemUser | null
  durable: boolean
  password: string
}): Promise<void> {
  const making = mkdtempSync(join(dataDir, unfinishedPrefix)) // renamed when complete, so that a kill leaves no half cluster
  try {
    const passwordFile = join(making, 'password')
    writeFileSync(passwordFile, password, { mode: 0o600 })
    giveTo(user, making)
    giveTo(user, passwordFile)
    await promisify(execFile)(
      join(binaries, 'bin/initdb'),
      [
        '-D',
        join(making, 'cluster'),
        '-U',
        'postgres',
        '--pwfile',
        passwordFile,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C.UTF-8',
        '--data-checksums',
        ...(durable ? [] : ['--no-sync']),
      ],
      { cwd: making, env: { LC_ALL: 'C.UTF-8', TZ: 'UTC' }, timeout: initTimeoutMs, ...user },
    )
    renameSync(join(making, 'cluster'), clusterDir)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/** The eighth line of its pid file says `ready` once it takes connections; pg_ctl waits for the same. */
function saysReady({ clusterDir }: EmbeddedPostgres): boolean {
  const pidFile = join(clusterDir, 'postmaster.pid')
  return existsSync(pidFile) && readFileSync(pidFile, 'utf8').split('\n')[7]?.trim() === 'ready'
}

function readPasswords(file: string): { superuser: string; app: string } {
  if (!existsSync(file))
    throw new StartError(
      `${file} is missing: without it the database of this data folder cannot be opened. Bring it back from your backup.`,
    )
  return JSON.parse(readFileSync(file, 'utf8')) as { superuser: string; app: string }
}

function giveTo(user: SystemUser | null, path: string): void {
  if (user) chownSync(path, user.uid, user.gid)
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
    return undefined // not up yet; the caller asks again until its limit
  }
}
