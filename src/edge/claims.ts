/**
 * Tells a database's server which claims the session of a client has, before the client gets it: in a row that only the role
 * `berth_claims` may write, which `auth.claims()` reads, and in the setting `request.jwt.claims`, which others know.
 */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { log } from '#src/platform/log.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { openBackend, type Backend, type Server } from './postgres/backend.ts'
import type { FreshSession } from './postgres/directory.ts'
import { errorField, fromServer, headBytes, runWith } from './postgres/messages.ts'

/** Writes claims. */
export type Claims = {
  /** @throws Error when they could not be written: then the client must not get the session */
  tell(database: Database, session: FreshSession, claims: string): Promise<void>
  /** Closes the connection of a database, whose server is to rest, or has other passwords. */
  forget(databaseId: string): void
  close(): void
}

const writeLimitMs = 5_000
/** A connection that writes claims is closed when it was not used for so long. */
const idleMs = 60_000
const databasesMax = 1_000
const settingName = 'request.jwt.claims'
const writeRow = `insert into auth.sessions (process_id, claims) values ($1::pg_catalog.int4, $2::pg_catalog.jsonb)
  on conflict (process_id) do update set claims = $2::pg_catalog.jsonb` // `excluded` would take the right to read claims

/** Starts without connections; each database gets one when claims are first written. */
export function createClaims(serverOf: (database: Database) => Server): Claims {
  const writers = createBoundedMap<string, Writer>({ entriesMax: databasesMax })
  return {
    async tell(database, session, claims) {
      let writer = writers.get(database.id)
      if (!writer) writers.set(database.id, (writer = createWriter(serverOf(database))))
      const set = session.ask(
        runWith('select pg_catalog.set_config($1, $2, false)', [settingName, claims]),
        1,
        writeLimitMs,
      )
      const [told] = await Promise.all([set, writer.write([String(session.processId), claims])])
      refuseErrors(told.messages)
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

type Writer = { write(values: readonly string[]): Promise<void>; close(): void }

/** One connection of the role that writes claims, opened when it is needed; it writes one row at a time. */
function createWriter(server: Server): Writer {
  let opened: Promise<Backend> | null = null
  let last: Promise<void> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined

  async function writeNow(values: readonly string[]): Promise<void> {
    let backend = await opened?.catch(() => null) // whoever opened it has been told
    if (!backend || backend.closed) backend = await (opened = openBackend(server, new Map(), ''))
    clearTimeout(idle)
    try {
      refuseErrors((await backend.ask(runWith(writeRow, values), 1, writeLimitMs)).messages)
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
    write(values) {
      const written = last.then(() => writeNow(values))
      last = written.catch(() => undefined) // the one that failed says so itself
      return written
    },
    close,
  }
}

function refuseErrors(messages: readonly { type: number; whole: Buffer }[]): void {
  const failed = messages.find(({ type }) => type === fromServer.error)
  if (failed) throw new Error(errorField(failed.whole.subarray(headBytes), 'M') ?? 'the claims could not be written')
}
