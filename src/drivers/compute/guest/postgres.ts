/**
 * The Postgres of a machine from the template `postgres`, worked with by its node: over its Unix socket in the guest, as
 * its superuser, who does not get in over the network.
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { BerthError } from '#src/platform/errors.ts'
import { asDriverSocket } from '#src/platform/postgres/driver-sockets.ts'
import { execInGuest } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const socketPath = '/run/postgresql/.s.PGSQL.5432'
/** Longer than the time that the guest gives Postgres to stop. */
const stopLimitMs = 9_500
/** How long a server that works may take to let somebody in. */
const loginLimitMs = 10_000
const againMs = 50

/**
 * Settings that count more than those which the owner of a database has given it: as whom, how and with what statements
 * run. Names without a schema are Postgres' own. A client that holds a lock does not keep the node waiting for long. What the
 * node says is shown to nobody, and not counted among the statements of the database's users.
 */
const sessionSettings = [
  'search_path=pg_catalog',
  'role=none',
  'local_preload_libraries=',
  'standard_conforming_strings=on',
  'default_transaction_read_only=off',
  'lock_timeout=10s',
  'transaction_timeout=0',
  'track_activities=off',
  'pg_stat_statements.track=none',
]

/** Statements to be run in a database. */
export type SqlOrder = { database: string; sql: string; timeoutMs: number }

/**
 * Runs statements as the superuser: several of them in one transaction, a single one as it is. What the owner of a
 * database has made or set is never taken for Postgres' own.
 * @returns the rows as text, one a line, with `|` between columns.
 * @throws pg.DatabaseError for the first statement that fails, with its SQLSTATE as `code`; BerthError timeout, or
 * vm_unreachable.
 */
export async function runSql(machine: Machine, { database, sql, timeoutMs }: SqlOrder): Promise<string> {
  const stream = await machine.connect(socketPath)
  const client = new pg.Client({
    stream: () => asDriverSocket(stream),
    user: 'postgres',
    database,
    application_name: 'berth',
    connectionTimeoutMillis: loginLimitMs,
    statement_timeout: Math.ceil(timeoutMs),
    options: sessionSettings.map((setting) => `-c ${setting}`).join(' '),
    types: { getTypeParser: () => String },
  })
  client.on('error', () => undefined) // what waits for an answer gets it
  const late = setTimeout(() => stream.destroy(), loginLimitMs + 2 * timeoutMs) // the server ends a statement before
  try {
    await client.connect()
    const results: unknown = await client.query({ text: sql, rowMode: 'array' })
    // pg's types know the result of one statement only.
    return ([results].flat() as pg.QueryArrayResult<(string | null)[]>[])
      .flatMap(({ rows }) => rows.map(lineOf))
      .join('')
  } catch (error) {
    throw shown(error)
  } finally {
    clearTimeout(late)
    stream.destroy()
  }
}

function lineOf(row: (string | null)[]): string {
  return `${row.map((value) => value ?? '').join('|')}\n`
}

/** The server ended a statement, here always for its time limit. */
const endedEarly = '57014'

function shown(error: unknown): Error {
  if (error instanceof pg.DatabaseError)
    return error.code === endedEarly
      ? new BerthError('timeout', 'The database did not finish in time. Try again.')
      : error
  if (error instanceof BerthError) return error
  return new BerthError('vm_unreachable', 'The database does not answer right now. Try again in a few seconds.', {
    retryAfterSeconds: 3,
  })
}

/** Whether an error of runSql is about the statements: the server refused one, or one did not finish. */
export function isOfServer(error: unknown): error is Error {
  return error instanceof pg.DatabaseError || (error instanceof BerthError && error.code === 'timeout')
}

/** The server does not let anybody in yet. */
const startingUp = '57P03'

/** Waits until the server lets its superuser in, as after a boot. @throws BerthError after the limit. */
export async function waitForServer(machine: Machine, limitMs: number): Promise<void> {
  if ((await lookForServer(machine, limitMs)) === 'up') return
  throw new BerthError('timeout', 'The database did not start in time. Try again.')
}

/** The same, with what was seen of it last: that it recovers and lets nobody in yet, or nothing. @param limitMs 0: one look */
export async function lookForServer(machine: Machine, limitMs: number): Promise<'up' | 'recovering' | 'silent'> {
  const untilMs = performance.now() + limitMs
  for (;;) {
    try {
      await runSql(machine, { database: 'postgres', sql: 'select 1', timeoutMs: loginLimitMs })
      return 'up'
    } catch (error) {
      const isRecovering = error instanceof pg.DatabaseError && error.code === startingUp
      if (!isRecovering && !(error instanceof BerthError)) throw error
      if (performance.now() >= untilMs) return isRecovering ? 'recovering' : 'silent'
      await pause(againMs)
    }
  }
}

/** Ends the server in order, for good: the machine is about to be powered off. @throws Error when it did not end. */
export async function stopServer(machine: Machine): Promise<void> {
  const { exitCode, stderr } = await execInGuest(machine, {
    argv: ['/usr/lib/berth/stop'],
    as: 'root',
    workingDir: '/',
    timeoutMs: stopLimitMs,
  })
  if (exitCode !== 0) throw new Error(`Postgres did not stop: ${stderr.trim().slice(-200)}`)
}
