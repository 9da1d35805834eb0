/** Shared code of the operator's commands: the database of the running Berth, and errors as one sentence. */
import { reportError, UsageError } from '#src/platform/command-line.ts'
import { ConfigError, readConfig, type Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { isDatabaseAway, openDatabase, type Db } from '#src/platform/postgres.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import type { NewNames } from '#src/resources/identity/joining.ts'
import { findRun, type RunFile } from '#src/start/run-file.ts'

/** The flag that creates unknown names, and the sentence that mentions it. */
export const createOption = { create: { type: 'boolean' } } as const

/** The meaning of the flag. */
export function newNames(create: boolean | undefined): NewNames {
  return create ? { make: true } : { make: false, how: 'Add --create to create it.' }
}

/** Berth is not running on this data folder: exit 1. */
export class NothingRuns extends Error {}

/** Runs the work, reports an error as one sentence on standard error, and sets the exit code. */
export async function runCommand(made: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.exitCode = reportError(isPlain(error) ? error : new Error(sentence(made, error)))
  }
}

/** Runs the work, as the operator, with the database of the running Berth. @throws NothingRuns when none is running. */
export async function withRunningBerth(
  applicationName: string,
  work: (db: Db, config: Config, run: RunFile | null, databaseUrl: string) => Promise<void>,
): Promise<void> {
  const config = readConfig()
  const run = findRun(config.dataDir)
  const url = run?.databaseUrl || config.databaseUrl
  if (!url)
    throw new NothingRuns(
      `Berth is not running on the data folder ${config.dataDir}. Start it with npm start, or set the BERTH_DATA_DIR that it was started with: every command needs the same.`,
    )
  setLogLevel('silent') // standard output is for the secret alone
  const database = openDatabase(url, { connections: 1, applicationName })
  try {
    const operation = applicationName.replace('berth-', 'npm run ')
    await asNamed({ operation }, () => work(database.db, config, run, url))
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
