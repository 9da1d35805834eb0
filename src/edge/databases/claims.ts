/**
 * Tells a database's server which claims the session of a client has, before the client gets it: in a row that only the role
 * `berth_claims` may write, which `auth.claims()` reads, and in the setting `request.jwt.claims`, which others know.
 */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { log } from '#src/platform/log.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { clientSettings } from '#src/resources/infra/databases/setup.ts'
import { openBackend, type Backend, type Server } from '../postgres/backend.ts'
import type { FreshSession } from '../postgres/directory.ts'
import { errorField, fromServer, headBytes, runWith } from '../postgres/protocol/messages.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'

/** Writes claims. */
export type Claims = {
  /** @throws Error when they could not be written, or the session is not what clients get: then no client must get it */
  tell(database: Database, session: FreshSession, client: Client): Promise<void>
  /** Closes the connection of a database, whose server is to rest, or has other passwords. */
  forget(databaseId: string): void
  close(): void
}

/** A client that is not the owner, and its claims as JSON. */
export type Client = { kind: keyof typeof clientSettings; claims: string }

const writeLimitMs = 5_000
/** A connection that writes claims is closed when it was not used for so long. */
const idleMs = 60_000
const databasesMax = 1_000
const settingName = 'request.jwt.claims'
const tellSession = 'select pg_catalog.set_config($1, $2, false)'
/** A client may change the settings of its own role, with which the sessions of others would begin. */
const tellNewSession = `${tellSession}, (
    select pg_catalog.string_agg(pg_catalog.array_to_string(setconfig, ','), ';') from pg_catalog.pg_db_role_setting
    where setrole operator(pg_catalog.=) (
      select oid from pg_catalog.pg_roles where rolname operator(pg_catalog.=) session_user)
  ) operator(pg_catalog.=) $3::pg_catalog.text`
const yes = 't'.charCodeAt(0)
const writeRow = `insert into auth.sessions (process_id, claims) values ($1::pg_catalog.int4, $2::pg_catalog.jsonb)
  on conflict (process_id) do update set claims = $2::pg_catalog.jsonb` // `excluded` would take the right to read claims

/** Starts without connections; each database gets one when claims are first written. */
export function createClaims(serverOf: (database: Database) => Server): Claims {
  const writers = createBoundedMap<string, Writer>({ entriesMax: databasesMax })
  const known = new WeakSet<FreshSession>() // those that began with the settings that clients are to have

  async function tellOnce(session: FreshSession, { kind, claims }: Client): Promise<boolean> {
    const values = [settingName, claims]
    const asked = known.has(session)
      ? runWith(tellSession, values)
      : runWith(tellNewSession, [...values, clientSettings[kind].join()])
    const { messages } = await session.ask(asked, 1, writeLimitMs)
    const answer = messages.find(({ type }) => type === fromServer.dataRow)
    const isRight = answer !== undefined && (known.has(session) || answer.whole.at(-1) === yes)
    if (isRight) known.add(session)
    return isRight
  }

  return {
    async tell(database, session, client) {
      let writer = writers.get(database.id)
      if (!writer) writers.set(database.id, (writer = createWriter(serverOf(database))))
      const [isRight] = await Promise.all([
        tellOnce(session, client),
        writer.write([String(session.processId), client.claims]),
      ])
      if (isRight) return
      serverOf(database).onLoginLost()
      throw new PostgresRefusal('cannot_connect_now', 'the database is being set up again: try again in a moment')
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
