/**
 * Databases for tests: one embedded Postgres for the whole run (global-setup.ts starts it), and for each test file a
 * copy of a template that was migrated once (about 50 ms). fsync is off: these databases need not outlive a power
 * cut, only a killed process, which loses nothing.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { newUuid } from '../../src/platform/ids.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { startPostgres, stopPostgres, waitForPostgres } from '../../src/start/embedded-postgres.ts'
import { preparePostgres, type EmbeddedPostgres } from '../../src/start/postgres-cluster.ts'
import { processesIn } from '../../src/start/processes.ts'
import { until } from './until.ts'

const templateName = 'berth_template'
const outputLinesMax = 200

/** Where the run's shared server is; plain text, so that it can be handed to the test processes. */
export type PostgresAddress = { adminUrl: string; databaseUrl: string }

/** A separate database, at the newest migration. `drop` also closes its open connections. */
export type TestDatabase = { url: string; drop: () => Promise<void> }

/** A separate server, for tests that kill it. */
export type TestPostgres = {
  address: PostgresAddress
  /** kill -9 of the postmaster; resolves when it is gone. Nothing restarts it, and its backends may answer on for a moment. */
  killPostgres: () => Promise<void>
  /** Resolves when no backend of a killed postmaster answers any more. */
  backendsGone: () => Promise<void>
  /** Starts it again after killPostgres, or stops it (fast) and starts it; resolves when it takes connections. */
  restartPostgres: () => Promise<void>
  /** Ends the server and removes its folder. */
  stop: () => Promise<void>
}

declare module 'vitest' {
  interface ProvidedContext {
    postgres: PostgresAddress
  }
}

/** Linux's folder in memory: a database of some 900 files is made there in 40 ms, and on a disk in 100 to 270. */
const memoryFolder = '/dev/shm'
const memoryBytesMin = 4 * 1024 ** 3

/** Where the run's server is kept: in memory where there is much. */
export function sharedServerFolder(): string {
  if (!existsSync(memoryFolder)) return tmpdir()
  const { bavail, bsize } = statfsSync(memoryFolder)
  return bavail * bsize >= memoryBytesMin ? memoryFolder : tmpdir()
}

/** Starts a server of its own in a new folder below this one, with the migrated template in it. */
export async function startTestPostgres(below = tmpdir()): Promise<TestPostgres> {
  const folder = mkdtempSync(join(below, 'berth-test-'))
  chmodSync(folder, 0o711) // as root, Postgres runs as another user, who must get in
  const postgres = await preparePostgres({
    dataDir: folder,
    runDir: join(folder, 'run'),
    cacheDir: join(folder, 'cache'),
    durable: false,
  })
  let server = await startServer(postgres)
  const address = { adminUrl: postgres.adminUrl, databaseUrl: postgres.databaseUrl }
  await asAdmin(address, async (admin) => {
    await admin.query(`create database ${templateName} owner berth`)
  })
  await migrate(urlOf(address, templateName))
  return {
    address,
    killPostgres: async () => {
      const gone = once(server, 'exit')
      server.kill('SIGKILL')
      await gone
    },
    backendsGone: () => until('the backends are gone', () => processesIn(postgres.clusterDir, 'postgres').length === 0),
    restartPostgres: async () => {
      await stopPostgres(server)
      server = await startServer(postgres)
    },
    stop: async () => {
      await stopPostgres(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A fresh database: on the run's shared server, or on the given one; a copy of `template1` is empty. Drop it in afterAll. */
export async function createDatabase(on?: TestPostgres, template: string = templateName): Promise<TestDatabase> {
  const address = on?.address ?? (await import('vitest')).inject('postgres') // imported late: benchmarks run outside vitest
  const name = `test_${newUuid().replaceAll('-', '')}`
  await asAdmin(address, async (admin) => {
    await admin.query(`create database ${name} template ${template} owner berth`)
  })
  return {
    url: urlOf(address, name),
    drop: () =>
      asAdmin(address, async (admin) => {
        await admin.query(`drop database if exists ${name} with (force)`)
      }),
  }
}

/** Runs the work as the superuser; for what only an operator may do, such as closing every connection. */
export async function asAdmin(address: PostgresAddress, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: address.adminUrl, application_name: 'berth-test' })
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

function urlOf(address: PostgresAddress, database: string): string {
  return address.databaseUrl.replace('@/berth?', `@/${database}?`)
}

async function startServer(postgres: EmbeddedPostgres): Promise<ChildProcess> {
  const server = await startPostgres(postgres)
  const lines: string[] = []
  for (const stream of [server.stdout!, server.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      lines.push(text)
      if (lines.length > outputLinesMax) lines.shift()
    })
  }
  try {
    await waitForPostgres(postgres, server)
  } catch (error) {
    throw new Error(`the test's Postgres did not start:\n${lines.join('')}`, { cause: error })
  }
  return server
}
