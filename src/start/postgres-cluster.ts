/**
 * The files of a single host's Postgres: created at the first start, readable by its own user only, never run as root.
 * The application gets a role without superuser rights.
 */
import { execFile } from 'node:child_process'
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
import { isRoot } from '../platform/settings/places.ts'
import { randomToken } from '../platform/ids.ts'
import { ensureSystemUser, type SystemUser } from '../drivers/system-users.ts'
import { postgresFolder } from './postgres-binaries.ts'
import { StartError } from './start-error.ts'

const initTimeoutMs = 120_000
const unfinishedPrefix = '.postgres-'

/** The application's database and its role. */
export const application = { database: 'berth', role: 'berth' } as const

/** A cluster on disk and how to reach it. `durable: false` turns fsync off: for tests only. */
export type EmbeddedPostgres = {
  clusterDir: string
  socketDir: string
  binaries: string
  /** The user it runs as; null means the current user. */
  user: SystemUser | null
  /** As the application: owner of its database, nothing more. */
  databaseUrl: string
  /** As the superuser, to the database `postgres`. */
  adminUrl: string
  appPassword: string
  durable: boolean
}

/**
 * Creates the cluster when there is none, atomically.
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
      if (name.startsWith(unfinishedPrefix)) rmSync(join(dataDir, name), { recursive: true, force: true }) // left by a start that was killed
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
    databaseUrl: url(application.role, passwords.app, application.database),
    adminUrl: url('postgres', passwords.superuser, 'postgres'),
  }
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

function readPasswords(file: string): { superuser: string; app: string } {
  if (!existsSync(file))
    throw new StartError(
      `${file} is missing: without it the database of this data folder cannot be opened. Restore it from your backup.`,
    )
  return JSON.parse(readFileSync(file, 'utf8')) as { superuser: string; app: string }
}

function giveTo(user: SystemUser | null, path: string): void {
  if (user) chownSync(path, user.uid, user.gid)
}
