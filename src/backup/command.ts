/** What backup and restore share as commands: one sentence for what a person can mend, a stack for a bug. */
import { ConfigError } from '#src/platform/config.ts'
import { redact, setLogLevel } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { StartError } from '#src/start/start-error.ts'
import { BackupError } from './backup-error.ts'

/** A wrong command line, exit 2; or one that asks for help, exit 0. */
export class UsageError extends Error {
  readonly isHelp: boolean
  constructor(usage: string, isHelp = false) {
    super(usage)
    this.isHelp = isHelp
  }
}

/** Runs the work and sets the exit code. */
export async function runBackupCommand(made: string, work: () => Promise<void>): Promise<void> {
  setLogLevel('warn')
  try {
    await work()
  } catch (error) {
    if (error instanceof UsageError && error.isHelp) return void process.stdout.write(`${error.message}\n`)
    process.stderr.write(`${redact(sentence(made, error))}\n`)
    process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

function sentence(made: string, error: unknown): string {
  if (error instanceof UsageError) return `The command is: ${error.message}`
  if (error instanceof BackupError || error instanceof StartError || error instanceof ConfigError) return error.message
  if (isDatabaseAway(error)) return `No ${made}: the database does not answer. Try again when it does.`
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return `No ${made}: the disk is full. Make room and try again.`
  return `No ${made}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
}
