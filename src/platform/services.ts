/** The services of a process, and, for one request, its caller. */
import type { Caller } from './access.ts'
import type { Config } from './config.ts'
import { openJobs, type Jobs } from './jobs.ts'
import { createIdempotency, type Idempotency } from './idempotency.ts'
import { announce, openDatabase, type Database, type Db } from './postgres.ts'
import { openPubsub, type Pubsub } from './pubsub.ts'
import { createRateLimiter, type RateLimiter } from './rate-limits.ts'
import { loadSealer, type Sealer } from './secrets.ts'

/** The opened platform of one process. */
export type Services = {
  config: Config
  database: Database
  db: Db
  jobs: Jobs
  pubsub: Pubsub
  sealer: Sealer
  limiter: RateLimiter
  idempotency: Idempotency
}

/** One request: the platform, its caller, and the address from which they call. Resource functions take it first. */
export type Call = Services & { caller: Caller; requestId: string; address?: string }

/** What a resource function needs when Berth itself acts, without a caller. */
export type Background = Pick<Services, 'config' | 'db' | 'jobs' | 'pubsub' | 'sealer'>

/** What resources keep open for a database, and must close before it. */
const closers = new WeakMap<Db, (() => Promise<void>)[]>()

/** Registers a function to call before the services of this database are closed. */
export function beforeClose(db: Db, close: () => Promise<void>): void {
  closers.set(db, [...(closers.get(db) ?? []), close])
}

/** Opens everything one process needs. */
export async function openServices(
  config: Config,
  databaseUrl: string,
  role: 'web' | 'worker' | 'edge',
): Promise<Services & { close: () => Promise<void> }> {
  const database = openDatabase(databaseUrl, {
    connections: config.databaseConnections,
    applicationName: `berth-${role}`,
  })
  announce(database.db)
  const pubsub = openPubsub(databaseUrl, database.db)
  const jobs = await openJobs(databaseUrl, pubsub, { worker: role === 'worker' })
  const sealer = loadSealer(config.secretKey, config.dataDir)
  const limiter = createRateLimiter(database.db, config.rateLimitFactor)
  const idempotency = createIdempotency(database.db, sealer)
  return {
    config,
    database,
    db: database.db,
    jobs,
    pubsub,
    sealer,
    limiter,
    idempotency,
    async close() {
      idempotency.close()
      for (const close of closers.get(database.db) ?? []) await close()
      await jobs.stop()
      await pubsub.close()
      await database.close()
    },
  }
}
