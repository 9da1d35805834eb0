/** Copies of a database in a guest: dumping it, loading a dump, and how much room there is for one. */
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { execInGuest } from './exec.ts'

/** Where the disk of a database's data is mounted. */
const dataFolder = '/var/lib/postgresql'
const questionMs = 10_000
const complaintBytesMax = 16 * 1024
const complaintLengthMax = 500
/** Names that are part of a command line. */
const plainName = /^[a-z][a-z0-9_]{0,62}$/

/**
 * Dumps a database as the superuser; the channel's output is what `pg_dump -Fc` writes, complete when it exits with 0.
 * @param without schemas to leave out.
 */
export async function dumpDatabase(
  machine: Machine,
  { database, without, timeoutMs }: { database: string; without: readonly string[]; timeoutMs: number },
  signal: AbortSignal,
): Promise<Channel> {
  const left = without.map((schema) => `--exclude-schema=${checked(schema)}`).join(' ')
  const script = `exec pg_dump --format=custom --compress=zstd:3 --lock-wait-timeout=60s ${left} --dbname=${checked(database)}`
  const channel = await runAsPostgres(machine, script, timeoutMs, signal)
  channel.stdin.on('error', () => undefined) // it reads nothing
  channel.stdin.end()
  return channel
}

/**
 * Loads a dump, the channel's input, into an empty database as a user with few rights, because what is in a dump runs
 * while it is loaded. Everything becomes that user's.
 */
export async function loadDump(
  machine: Machine,
  { database, user, password, timeoutMs }: { database: string; user: string; password: string; timeoutMs: number },
  signal: AbortSignal,
): Promise<Channel> {
  // The password is the first line of the input, so that it is in no list of processes.
  const script = `IFS= read -r PGPASSWORD && export PGPASSWORD && exec pg_restore --exit-on-error --no-owner --transaction-size=1000 --host=127.0.0.1 --username=${checked(user)} --dbname=${checked(database)}`
  const channel = await runAsPostgres(machine, script, timeoutMs, signal)
  channel.stdin.write(`${password}\n`)
  return channel
}

/**
 * Runs statements as the superuser, in one transaction unless they cannot be in one. Names that a database's owner made
 * are not found without their schema, so none of them takes the place of Postgres' own.
 * @returns what they print, unaligned.
 * @throws Error with what Postgres says.
 */
export async function runSql(
  machine: Machine,
  { database, sql, timeoutMs, transaction = true }: Statements,
): Promise<string> {
  const script = `export PGOPTIONS='-c search_path=pg_catalog'; exec psql -X -q -A -t -v ON_ERROR_STOP=1 ${transaction ? '-1' : ''} -d ${checked(database)} -f -`
  const argv = asPostgres(script)
  const { stdout, stderr, exitCode } = await execInGuest(machine, {
    argv,
    as: 'root',
    workingDir: '/',
    timeoutMs,
    stdin: sql,
  })
  if (exitCode === 0) return stdout
  throw new Error(`The database’s server refused a statement of Berth: ${stderr.slice(0, complaintLengthMax)}`)
}

/** Statements, and where and for how long they may run. */
export type Statements = { database: string; sql: string; timeoutMs: number; transaction?: boolean }

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
      const told = lines.filter((line) => line.includes('error:') || line.includes('ERROR:'))
      const said = (told.length > 0 ? told : lines.filter(Boolean)).join(' ')
      return said.replaceAll(/[\u0000-\u001f\u007f]/g, ' ').slice(0, complaintLengthMax)
    },
  }
}

function runAsPostgres(machine: Machine, script: string, timeoutMs: number, signal: AbortSignal): Promise<Channel> {
  return machine.run({ argv: asPostgres(script), as: 'root', workingDir: '/', timeoutMs }, signal)
}

function asPostgres(script: string): string[] {
  return ['su', 'postgres', '-s', '/bin/sh', '-c', script]
}

function checked(name: string): string {
  if (!plainName.test(name)) throw new Error('not a name that Berth gave')
  return name
}
