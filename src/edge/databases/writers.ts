/** Connections to the servers of databases as `berth_claims`, who writes what no client may. One to each, opened when it is needed. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { log } from '#src/platform/log.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { openBackend, type Backend, type Server } from '../postgres/backend.ts'
import { errorField, fromServer, headBytes, runWith } from '../postgres/protocol/messages.ts'

/** The connections. */
export type Writers = {
  /** Runs a statement with these values; one after the other. The first value that it answers, or null. @throws WriteFailed; what openBackend throws */
  write(database: Database, text: string, values: readonly string[]): Promise<string | null>
  /** Closes the connection of a database, whose server is to rest, or has other passwords. */
  forget(databaseId: string): void
  close(): void
}

/** The server has refused a statement of the writer's. */
export class WriteFailed extends Error {
  readonly sqlState: string

  constructor(content: Buffer) {
    super(errorField(content, 'M') ?? 'a statement of the proxy failed')
    this.sqlState = errorField(content, 'C') ?? ''
  }
}

const writeLimitMs = 5_000
/** A connection is closed when it was not used for so long. */
const idleMs = 60_000
const databasesMax = 1_000
/** What the owner may have set for sessions of the database, and must not be in the way; what is lost by a crash is written again. */
const settings: ReadonlyMap<string, string> = new Map([
  ['search_path', ''],
  ['role', 'none'],
  ['default_transaction_read_only', 'off'],
  ['default_transaction_isolation', 'read committed'],
  ['synchronous_commit', 'off'],
])
/** The same of limits, which not every version has. */
const withoutLimits = `select pg_catalog.set_config(name, '0', false) from pg_catalog.pg_settings where name in
  ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout')`

/** Starts without connections. */
export function createWriters(serverOf: (database: Database) => Server): Writers {
  const writers = createBoundedMap<string, Writer>({ entriesMax: databasesMax })
  return {
    write(database, text, values) {
      let writer = writers.get(database.id)
      if (!writer) writers.set(database.id, (writer = createWriter(serverOf(database))))
      return writer.write(text, values)
    },
    forget(databaseId) {
      writers.get(databaseId)?.close()
      writers.delete(databaseId)
    },
    close() {
      for (const writer of writers.values()) writer.close()
    },
  }
}

type Writer = { write(text: string, values: readonly string[]): Promise<string | null>; close(): void }

function createWriter(server: Server): Writer {
  let opened: Promise<Backend> | null = null
  let last: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined

  async function open(): Promise<Backend> {
    const backend = await openBackend(server, settings, '')
    refuseErrors((await backend.ask(runWith(withoutLimits, []), 1, writeLimitMs)).messages)
    return backend
  }
  async function writeNow(text: string, values: readonly string[]): Promise<string | null> {
    let backend = await opened?.catch(() => null) // whoever opened it has been told
    if (!backend || backend.closed) backend = await (opened = open())
    clearTimeout(idle)
    try {
      const { messages } = await backend.ask(runWith(text, values), 1, writeLimitMs)
      refuseErrors(messages)
      return firstValue(messages)
    } finally {
      idle = setTimeout(close, idleMs).unref()
    }
  }
  function close(): void {
    clearTimeout(idle)
    opened
      ?.then((backend) => backend.close())
      .catch((error: unknown) => log.debug({ err: error }, 'a connection for claims did not open'))
    opened = null
  }
  return {
    write(text, values) {
      const written = last.then(() => writeNow(text, values))
      last = written.catch(() => undefined) // the one that failed says so itself
      return written
    },
    close,
  }
}

/** The first value of the first row, as text: behind the number of values (2 bytes) and its length (4; -1 is null). */
function firstValue(messages: readonly { type: number; whole: Buffer }[]): string | null {
  const row = messages.find(({ type }) => type === fromServer.dataRow)?.whole.subarray(headBytes)
  const length = row && row.length >= valueAt ? row.readInt32BE(2) : -1
  return row && length >= 0 ? row.toString('utf8', valueAt, valueAt + length) : null
}
const valueAt = 6

function refuseErrors(messages: readonly { type: number; whole: Buffer }[]): void {
  const failed = messages.find(({ type }) => type === fromServer.error)
  if (failed) throw new WriteFailed(failed.whole.subarray(headBytes))
}
