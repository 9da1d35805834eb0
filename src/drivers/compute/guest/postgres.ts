/**
 * The Postgres of a machine from the template `postgres`, worked with from inside its guest: by Postgres' own programs,
 * over its Unix socket, as its superuser. SQL comes on standard input, so no secret is in a list of arguments.
 */
import { BerthError } from '#src/platform/errors.ts'
import { execInGuest, type GuestResult } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--inh-caps=-all']
/** Longer than the time that the guest gives Postgres to stop. */
const stopLimitMs = 9_500
const noticeCharactersMax = 2_000

/** What Postgres answered instead of a result, in its own words. */
export class PostgresError extends Error {
  override name = 'PostgresError'
  /** The five characters that name the error; null when the server did not answer at all. */
  readonly sqlState: string | null

  constructor(message: string, sqlState: string | null) {
    super(message)
    this.sqlState = sqlState
  }
}

/** Statements to be run in a database. `inTransaction`: all of them or none, which is the default. */
export type SqlOrder = { database: string; sql: string; timeoutMs: number; inTransaction?: boolean }

/**
 * Runs statements as the superuser.
 * @returns the rows, one a line, with `|` between columns.
 * @throws PostgresError for the first statement that fails; BerthError timeout, or vm_unreachable.
 */
export async function runSql(
  machine: Machine,
  { database, sql, timeoutMs, inTransaction = true }: SqlOrder,
): Promise<string> {
  const flags = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose']
  const argv = [...asPostgres, 'psql', ...flags, ...(inTransaction ? ['-1'] : []), '-d', named(database), '-f', '-']
  const result = await execInGuest(machine, { argv, as: 'root', workingDir: '/', timeoutMs, stdin: sql })
  if (result.timedOut) throw new BerthError('timeout', 'The database did not finish in time. Try again.')
  if (result.exitCode !== 0) throw errorOf(result)
  return result.stdout
}

/** Waits until the server takes connections, as after a boot. @throws BerthError timeout after the limit; vm_unreachable. */
export async function waitForServer(machine: Machine, limitMs: number): Promise<void> {
  const { exitCode } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', 'until pg_isready -q -h /run/postgresql; do sleep 0.05; done'],
    as: 'root',
    workingDir: '/',
    timeoutMs: limitMs,
  })
  if (exitCode !== 0) throw new BerthError('timeout', 'The database did not start in time. Try again.')
}

/** Ends the server in order, for good: the machine is about to be powered off. @throws Error when it did not end. */
export async function stopServer(machine: Machine): Promise<void> {
  const result = await execInGuest(machine, {
    argv: ['/usr/lib/berth/stop'],
    as: 'root',
    workingDir: '/',
    timeoutMs: stopLimitMs,
  })
  if (result.exitCode !== 0) throw errorOf(result)
}

/** A name as an argument: not an option, and for psql no connection string either. */
function named(name: string): string {
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) throw new Error('a database or a role has a name that is not ours')
  return name
}

/** The first error among what a program printed, such as `psql:<stdin>:1: ERROR:  42601: syntax error at …`. */
function errorOf({ stderr }: Pick<GuestResult, 'stderr'>): PostgresError {
  const lines = stderr.trim().split('\n')
  for (const line of lines) {
    const [, sqlState, message] = /(?:ERROR|FATAL|PANIC): {2}([0-9A-Z]{5}): (.*)/.exec(line) ?? []
    if (sqlState && message) return new PostgresError(message.slice(0, noticeCharactersMax), sqlState)
  }
  return new PostgresError(stderr.trim().slice(-noticeCharactersMax) || 'Postgres ended without a word.', null)
}
