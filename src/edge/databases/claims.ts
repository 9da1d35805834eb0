/**
 * Writes to a database's server which claims the session of a client has, before the client gets it: in a row that only the role
 * `berth_claims` may write, which `auth.claims()` reads, and in the setting `request.jwt.claims`, which others know.
 */
import type { Database } from '#src/resources/infra/databases/rows.ts'
import type { FreshSession } from '../postgres/directory.ts'
import { fromServer, runWith } from '../postgres/protocol/messages.ts'
import type { Writers } from './writers.ts'

const askLimitMs = 5_000
const setClaims = `select pg_catalog.set_config('request.jwt.claims', $1, false)`
const writeRow = `insert into auth.sessions (process_id, claims) values ($1::pg_catalog.int4, $2::pg_catalog.jsonb)
  on conflict (process_id) do update set claims = $2::pg_catalog.jsonb` // `excluded` would take the right to read claims

/**
 * Writes the claims of a client, as JSON.
 * @throws Error when they could not be written: then no client must get the session
 */
export async function writeClaims(
  writers: Pick<Writers, 'write'>,
  database: Database,
  session: FreshSession,
  claims: string,
): Promise<void> {
  const [{ messages }] = await Promise.all([
    session.ask(runWith(setClaims, [claims]), 1, askLimitMs),
    writers.write(database, writeRow, [String(session.processId), claims]),
  ])
  if (!messages.some(({ type }) => type === fromServer.dataRow)) throw new Error('a session does not take its claims')
}
