/**
 * Migrates the database to the newest version: numbered plain SQL, forward only, each file in a transaction of its own.
 * Several starters at once are fine: they wait for one lock, and the later ones find nothing left to do.
 */
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { readFlags, runOrReport, UsageError } from './command-line.ts'
import { readConfig } from './config.ts'
import { lockNumbers } from './locks/lock-numbers.ts'
import { log, setLogFormat } from './log.ts'

const folder = new URL('./migrations/', import.meta.url)
const lockWaitMs = 120_000

/** All migrations, oldest first. */
export function migrationNames(): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name))
    .sort()
}

/**
 * Runs every migration that this database has not had. Waits up to two minutes for another starter.
 * @param wanted the ones to run, for a restore; all by default.
 * @returns the names it ran.
 */
export async function migrate(databaseUrl: string, wanted: readonly string[] = migrationNames()): Promise<string[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'berth-migrate',
    statement_timeout: lockWaitMs,
  })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [lockNumbers.migrations])
    await client.query('set statement_timeout = 0') // only the wait has a limit: a migration may have all events to read
    await client.query(
      'create table if not exists migrations (name text primary key, ran_at timestamptz not null default now())',
    )
    const had = new Set(
      (await client.query<{ name: string }>('select name from migrations')).rows.map((row) => row.name),
    )
    const missing = wanted.filter((name) => !had.has(name))
    for (const name of missing) await runOne(client, name)
    return missing
  } finally {
    await client.end() // closing the session also releases the lock
  }
}

/** The migrations that this database still lacks; for the doctor and /readyz. */
export async function missingMigrations(query: (text: string) => Promise<{ name: string }[]>): Promise<string[]> {
  const had = new Set((await query('select name from migrations')).map((row) => row.name))
  return migrationNames().filter((name) => !had.has(name))
}

async function runOne(client: pg.Client, name: string): Promise<void> {
  await client.query('begin')
  try {
    await client.query(readFileSync(new URL(name, folder), 'utf8'))
    await client.query('insert into migrations (name) values ($1)', [name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

const usage = 'npm run migrate: migrates the database of DATABASE_URL to the newest version. It takes no arguments.'

async function runCommand(): Promise<void> {
  readFlags(process.argv.slice(2), usage, {})
  const { databaseUrl, logFormat } = readConfig()
  setLogFormat(logFormat)
  if (!databaseUrl)
    throw new UsageError('DATABASE_URL is not set. `npm start` migrates the embedded database by itself.')
  const ran = await migrate(databaseUrl)
  log.info({ ran }, ran.length > 0 ? 'migrated' : 'nothing to migrate')
}

if (import.meta.main) await runOrReport(runCommand)
