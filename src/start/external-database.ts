/** A Postgres that is not ours to start: the one of DATABASE_URL. */
import pg from 'pg'
import { redact } from '../platform/log.ts'
import { StartError } from './start-error.ts'
import { becomesTrue } from './wait.ts'

const waitLimitMs = 30_000
const connectTimeoutMs = 2_000
const pollMs = 500

/**
 * Waits until it takes connections; it may still be starting, as in a set of containers.
 * @throws StartError after 30 s, with the last reason.
 */
export async function waitForDatabase(url: string): Promise<void> {
  let reason: string | null = null
  await becomesTrue(async () => (reason = await whyNoConnection(url)) === null, { limitMs: waitLimitMs, everyMs: pollMs })
  if (reason !== null) throw new StartError(`The database of DATABASE_URL does not answer (${reason}). Start it, correct the address, or unset DATABASE_URL for the embedded one.`)
}

/** Null when it takes a connection, else why not, without secrets. */
export async function whyNoConnection(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs, application_name: 'berth-start' })
  client.on('error', () => { /* it was cut after it had answered */ })
  try {
    await client.connect()
    return null
  } catch (error) {
    if (!(error instanceof Error)) return 'no reason given'
    return redact(error.message || ('code' in error ? String(error.code) : error.name)) // refused on several addresses has a code only
  } finally {
    await client.end().catch(() => { /* it never opened */ })
  }
}
