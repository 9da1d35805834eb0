/** Shared code of the commands backup and restore: a sentence for errors that a person can fix, a stack for bugs. */
import { reportError, UsageError } from '#src/platform/command-line.ts'
import { ConfigError } from '#src/platform/config.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { StartError } from '#src/start/start-error.ts'
import { BackupError } from './backup-error.ts'

/** Runs the work and sets the exit code. */
export async function runBackupCommand(made: string, work: () => Promise<void>): Promise<void> {
  setLogLevel('warn')
  try {
    await work()
  } catch (error) {
    process.exitCode = reportError(isPlain(error) ? error : new Error(sentence(made, error)))
  }
}

function isPlain(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof StartError ||
    error instanceof BackupError
  )
}

function sentence(made: string, error: unknown): string {
  const { code, syscall, message = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  const isFull = ['ENOSPC', 'EDQUOT', '53100'].includes(code ?? '') || message.includes('No space left on device') // Postgres' words
  if (isFull) return `No ${made}: the disk is full. Make room and try again.`
  if (error instanceof Error && syscall !== undefined && syscall !== 'connect') return `No ${made}: ${error.message}` // of a file, which it names
  if (isDatabaseAway(error)) return `No ${made}: the database does not answer. Try again when it does.`
  return `No ${made}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
}
