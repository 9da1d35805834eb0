/** Work that only one process may do at a time, under an advisory lock of Postgres on its own connection, so that no transaction stays open during outside calls. */
import pg from 'pg'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'

const locksAtOnceMax = 20 // of this process; each holds a connection
const connectMs = 5_000
const waitMs = 25_000

let held = 0

/**
 * Runs the work while this name is locked, in every process of this database. The lock belongs to the connection, so a
 * process that dies loses it; therefore whatever must not happen twice is also checked where it is written.
 * @throws BerthError service_unavailable when the lock is not free within 25 s.
 */
export async function withLock<Result>(
  databaseUrl: string,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const busy = new BerthError(
    'service_unavailable',
    'Too many requests of this kind are running. Try again in a few seconds.',
    { retryAfterSeconds: 5 },
  )
  if (held >= locksAtOnceMax) throw busy
  held++
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'berth-lock',
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
    options: `-c lock_timeout=${waitMs}`,
  })
  client.on('error', (error) => log.warn({ reason: error.message }, 'the connection of a lock was lost'))
  try {
    await client.connect()
    await client
      .query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
      .catch((error: Error & { code?: string }) => {
        throw error.code === lockNotAvailable ? busy : error
      })
    return await work()
  } finally {
    held--
    await client
      .end()
      .catch((error: Error) => log.debug({ reason: error.message }, 'the connection of a lock did not close cleanly'))
  }
}

const lockNotAvailable = '55P03'
