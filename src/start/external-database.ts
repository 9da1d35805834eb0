/** The operator's own Postgres: the one of DATABASE_URL. */
import pg from 'pg'
import { redact } from '../platform/log.ts'
import { StartError } from './start-error.ts'
import { pollUntil } from './wait.ts'

const waitLimitMs = 30_000
const connectTimeoutMs = 2_000
const pollMs = 500
const sayEveryMs = 4_000
const usualPort = 5432

/**
 * Waits until it accepts connections; it may still be starting, as in a set of containers. Reports immediately, and
 * every few seconds, what it is waiting for.
 * @throws StartError after 30 s, with the last reason.
 */
export async function waitForDatabase(url: string, say: (line: string) => void): Promise<void> {
  const where = placeOf(url)
  let reason = null as string | null // TypeScript would narrow a plain null: it is assigned in a closure
  let loggedAtMs = performance.now()
  say(`Connecting to the database of DATABASE_URL at ${where}.`)
  await pollUntil(
    async () => {
      reason = await whyNoConnection(url)
      if (reason !== null && performance.now() - loggedAtMs >= sayEveryMs) {
        loggedAtMs = performance.now()
        say(`The database at ${where} does not answer yet (${reason}); trying for ${waitLimitMs / 1000} s in all.`)
      }
      return reason === null
    },
    { limitMs: waitLimitMs, everyMs: pollMs },
  )
  if (reason !== null)
    throw new StartError(
      `The database of DATABASE_URL at ${where} does not answer (${reason}). Start it, correct the address, or unset DATABASE_URL for the embedded one.`,
    )
}

/** Host, port and name of a database, and nothing else of its URL. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = URL.parse(url) ?? { hostname: '', port: '', pathname: '' }
  return `${hostname || 'its socket'}${port || hostname ? `:${port || usualPort}` : ''}${pathname.length > 1 ? `, database ${pathname.slice(1)}` : ''}`
}

/** Null when it accepts a connection, otherwise why not, without secrets. */
export async function whyNoConnection(url: string): Promise<string | null> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'berth-start',
  })
  client.on('error', () => {
    /* the connection was cut after it had answered */
  })
  try {
    await client.connect()
    return null
  } catch (error) {
    if (!(error instanceof Error)) return 'no reason given'
    return redact(error.message || ('code' in error ? String(error.code) : error.name)) // refused on several addresses has a code only
  } finally {
    await client.end().catch(() => {
      /* it never opened */
    })
  }
}
