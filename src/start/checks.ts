/** The doctor's checks of this host, except VMs: settings, folders, Postgres, memory, disk, ports. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { dirname } from 'node:path'
import pg from 'pg'
import { isRoot, othersMayEnter } from '../platform/settings/places.ts'
import { currentBuild } from '../console/places.ts'
import type { Config } from '../platform/config.ts'
import { missingMigrations } from '../platform/migrate.ts'
import { answersReady, takesConnections } from './announcement.ts'
import { whyNoConnection } from './external-database.ts'
import { whyNoPostgresPort, whyNotListen } from './instance.ts'
import { nodeProblem } from './node-version.ts'
import { findRun, type RunFile } from './run-file.ts'

/** The result of one check: works, fails (Berth is incomplete without it), or neither, when it does not apply. A remedy says what to do. */
export type Check = { verdict: 'works' | 'fails' | 'neither'; what: string; remedy?: string }

const gigabyte = 1024 ** 3
const dataFreeBytesMin = 2 * gigabyte
const cacheFreeBytesMin = 4 * gigabyte // building the templates takes about 3 GB for a while
const memoryFreeBytesMin = 1 * gigabyte

/** The result for a problem, or for its absence. */
export function verdict(what: string, problem: string | null, remedy?: string): Check {
  return problem === null
    ? { verdict: 'works', what }
    : { verdict: 'fails', what: `${what}: ${problem}`, ...(remedy ? { remedy } : {}) }
}

/** Every check of this file. */
export async function checkHost(config: Config): Promise<Check[]> {
  const run = findRun(config.dataDir)
  return [
    verdict(`Node ${process.versions.node}`, nodeProblem(process.versions.node)),
    checkFolder('data folder', config.dataDir, 'BERTH_DATA_DIR', dataFreeBytesMin),
    checkFolder('cache folder', config.cacheDir, 'BERTH_CACHE_DIR', cacheFreeBytesMin),
    checkMemory(),
    checkConsole(config),
    ...(await checkPostgres(config, run)),
    await checkPort(config, run),
    await checkPostgresPort(config, run),
  ]
}

function checkFolder(what: string, folder: string, setting: string, freeBytesMin: number): Check {
  let present = folder
  while (!existsSync(present)) present = dirname(present) // made at the first start, in this one
  try {
    accessSync(present, constants.W_OK | constants.X_OK)
  } catch {
    return verdict(
      `${what} ${folder}`,
      'this user may not write there',
      `Run as its owner, or set ${setting} to a folder of yours.`,
    )
  }
  if (isRoot() && !othersMayEnter(present)) {
    return verdict(
      `${what} ${folder}`,
      'only root may enter it, and Postgres and QEMU run as other users',
      `Set ${setting} to another folder, such as /var/lib/berth.`,
    )
  }
  const { bavail, bsize } = statfsSync(present)
  const freeBytes = bavail * bsize
  return verdict(
    `${what} ${folder}, ${inGigabytes(freeBytes)} free`,
    freeBytes < freeBytesMin ? `less than ${inGigabytes(freeBytesMin)}` : null,
    `Make room there, or set ${setting} to a folder on a larger disk.`,
  )
}

/** It is built at the first start; the API does not need it. */
function checkConsole({ cacheDir }: Config): Check {
  return existsSync(currentBuild(cacheDir))
    ? { verdict: 'works', what: 'console' }
    : {
        verdict: 'neither',
        what: 'console: not built yet; the next start does it',
        remedy: 'If it stays so, npm run console says why.',
      }
}

function checkMemory(): Check {
  const what = `memory ${inGigabytes(totalmem())}, ${inGigabytes(freemem())} available`
  return verdict(
    what,
    freemem() < memoryFreeBytesMin ? `less than ${inGigabytes(memoryFreeBytesMin)}` : null,
    'Stop other programs, or lower BERTH_VM_POOL.',
  )
}

async function checkPostgres(config: Config, run: RunFile | null): Promise<Check[]> {
  const url = config.databaseUrl ?? run?.databaseUrl
  if (!url) return [{ verdict: 'neither', what: 'Postgres: the embedded one, which runs while npm start does' }]
  const reason = await whyNoConnection(url)
  const whose = config.databaseUrl ? 'the one of DATABASE_URL' : 'the embedded one'
  if (reason !== null)
    return [
      verdict(
        `Postgres, ${whose}`,
        `does not answer (${reason})`,
        config.databaseUrl
          ? 'Start it, or correct DATABASE_URL.'
          : 'Wait a few seconds; if it stays, read what npm start prints.',
      ),
    ]
  const client = new pg.Client({ connectionString: url, application_name: 'berth-doctor' })
  await client.connect()
  try {
    const version = (await client.query<{ server_version: string }>('show server_version')).rows[0]?.server_version
    const missing = await missingMigrations(async (text) => (await client.query<{ name: string }>(text)).rows).catch(
      () => ['all of them'],
    )
    return [
      verdict(`Postgres ${version}, ${whose}`, null),
      verdict(
        'migrations',
        missing.length > 0 ? `missing: ${missing.join(', ')}` : null,
        'Run npm run migrate, or start Berth again.',
      ),
    ]
  } finally {
    await client.end()
  }
}

async function checkPort(config: Config, run: RunFile | null): Promise<Check> {
  if (run)
    return verdict(
      `Berth runs and answers at ${config.publicUrl}`,
      (await answersReady(config, false)) ? null : '/readyz does not say that it is ready',
      'Wait a few seconds; if it stays, read what npm start prints.',
    )
  const reason = await whyNotListen(config.host, config.port)
  return verdict(
    `port ${config.port} of ${config.host} is free`,
    reason && `no (${reason})`,
    'Stop the program that listens there, or set PORT to a free port.',
  )
}

async function checkPostgresPort(config: Config, run: RunFile | null): Promise<Check> {
  if (run)
    return verdict(
      `clients of Postgres are let in at port ${run.postgresPort}`,
      (await takesConnections(config, run.postgresPort)) ? null : 'nobody listens there',
      'Wait a few seconds; if it stays, read what the process edge prints: perhaps another program had the port.',
    )
  const reason = await whyNoPostgresPort(config)
  return verdict(
    `port ${config.postgresPort} of ${config.host}, for clients of Postgres, is free`,
    reason && 'no',
    reason ?? '',
  )
}

function inGigabytes(bytes: number): string {
  return `${(bytes / gigabyte).toFixed(1)} GB`
}
