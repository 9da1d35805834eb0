/** Copies of a database in a guest: dumping it, loading a dump, and how much room there is for one. */
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { execInGuest } from './exec.ts'
import { startOf } from '#src/platform/texts.ts'

/** Where the disk of a database's data is mounted. */
const dataFolder = '/var/lib/postgresql'
const programs = '/usr/lib/postgresql/17/bin'
const questionMs = 10_000
const complaintBytesMax = 16 * 1024
const complaintLengthMax = 500

/** A part of the work on a whole database, and its time limit. */
export type Transfer = { database: string; timeoutMs: number; signal: AbortSignal }

/**
 * Begins a dump of a database by the superuser: what comes on standard output is complete when it exits with 0.
 * @param withoutSchemas those to leave out.
 */
export async function dumpDatabase(
  machine: Machine,
  { database, withoutSchemas, ...transfer }: Transfer & { withoutSchemas: readonly string[] },
): Promise<Channel> {
  const without = withoutSchemas.map((name) => `--exclude-schema=${named(name)}`)
  const argv = [`${programs}/pg_dump`, '--format=custom', '--compress=zstd:3', '--lock-wait-timeout=60s', ...without]
  const uncounted = 'pg_stat_statements.track=none'
  const channel = await runAsPostgres(machine, [...argv, '-d', connectionTo(database, uncounted)], transfer)
  channel.stdin.on('error', () => undefined) // it reads nothing
  channel.stdin.end()
  return channel
}

/**
 * Begins to load a dump, which goes to standard input, into an empty database.
 * @param role who is connected, and owns what is loaded: never the superuser, because expressions in a dump, such as those
 * of constraints and generated columns, run as this role.
 */
export async function loadDump(
  machine: Machine,
  { database, role, ...transfer }: Transfer & { role: string },
): Promise<Channel> {
  const argv = [`${programs}/pg_restore`, '--exit-on-error', '--no-owner', '--transaction-size=1000', '-U', named(role)]
  return runAsPostgres(machine, [...argv, '-d', connectionTo(database)], transfer)
}

/** The free space of the disk of a database's data, in bytes. @throws BerthError vm_unreachable. */
export async function freeDataBytes(machine: Machine): Promise<number> {
  const { stdout, exitCode } = await execInGuest(machine, {
    argv: ['df', '-Pk', dataFolder],
    as: 'root',
    workingDir: '/',
    timeoutMs: questionMs,
  })
  const kilobytes = Number(stdout.trim().split('\n').at(-1)?.split(/\s+/)[3])
  if (exitCode === 0 && Number.isFinite(kilobytes)) return kilobytes * 1024
  throw new BerthError('vm_unreachable', 'The database’s VM does not say how much room its disk has. Try again.')
}

/** What a command writes about its failure. */
export type Complaint = { text: () => string }

/** Collects the end of what a command complains about, as one line without control characters. */
export function complaintOf({ stderr }: Channel): Complaint {
  let bytes: Buffer = Buffer.alloc(0)
  stderr.on('data', (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece]).subarray(-complaintBytesMax)
  })
  return {
    text() {
      const lines = bytes
        .toString('utf8')
        .split('\n')
        .map((line) => line.trim())
      const errors = lines.filter((line) => line.includes('error:') || line.includes('ERROR:'))
      const complaint = (errors.length > 0 ? errors : lines.filter(Boolean)).join(' ')
      return startOf(complaint.replaceAll(/\p{Cc}/gu, ' '), complaintLengthMax)
    },
  }
}

/** Postgres lets its system user in as any role, over its Unix socket. */
function runAsPostgres(
  machine: Machine,
  argv: readonly string[],
  { timeoutMs, signal }: Omit<Transfer, 'database'>,
): Promise<Channel> {
  const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--inh-caps=-all']
  return machine.run({ argv: [...asPostgres, ...argv], as: 'root', workingDir: '/', timeoutMs }, signal)
}

/** These count more than the settings that its owner has given a database or a role. */
const sessionSettings = ['role=none', 'local_preload_libraries=', 'statement_timeout=0', 'transaction_timeout=0']

function connectionTo(database: string, ...more: readonly string[]): string {
  return `dbname=${named(database)} options='${[...sessionSettings, ...more].map((setting) => `-c ${setting}`).join(' ')}'`
}

/** A name as an argument: not an option, and no connection string either. */
function named(name: string): string {
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) throw new Error('a database, a schema or a role has a name that is not ours')
  return name
}
