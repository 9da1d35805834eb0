/** What the commands that print one secret share: the running Berth's database, and one sentence when something is wrong. */
import { tellError, UsageError } from '#src/platform/command-line.ts'
import { ConfigError, readConfig, type Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { isDatabaseAway, openDatabase, type Db } from '#src/platform/postgres.ts'
import type { NewNames } from '#src/resources/identity/joining.ts'
import { findRun, type RunFile } from '#src/start/run-file.ts'

/** The flag that makes names which nobody has, and the sentence that says so. */
export const createOption = { create: { type: 'boolean' } } as const

/** What the flag says. */
export function newNames(create: boolean | undefined): NewNames {
  return create ? { make: true } : { make: false, how: 'Add --create to create it.' }
}

/** Nothing runs on this data folder: exit 1. */
export class NothingRuns extends Error {}

/** Runs the work, says in one sentence on standard error what is wrong, and sets the exit code. */
export async function runCommand(made: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.exitCode = tellError(isPlain(error) ? error : new Error(sentence(made, error)))
  }
}

/**
 * Works on the database of the Berth that runs here.
 * @throws NothingRuns when there is none.
 */
export async function withRunningBerth(
  applicationName: string,
  work: (db: Db, config: Config, run: RunFile | null, databaseUrl: string) => Promise<void>,
): Promise<void> {
  const config = readConfig()
  const run = findRun(config.dataDir)
  const url = run?.databaseUrl || config.databaseUrl
  if (!url) throw new NothingRuns('Berth is not running here. Start Berth first: npm start')
  setLogLevel('silent') // standard output is for the secret alone
  const database = openDatabase(url, { connections: 1, applicationName })
  try {
    await work(database.db, config, run, url)
  } finally {
    await database.close()
  }
}

function isPlain(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof NothingRuns ||
    error instanceof ConfigError ||
    error instanceof BerthError
  )
}

function sentence(made: string, error: unknown): string {
  if (isDatabaseAway(error)) return 'The database does not answer. Is Berth running? Start it with: npm start'
  return `No ${made}: ${error instanceof Error ? error.message : String(error)}`
}
