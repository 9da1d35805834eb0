/** Processes that serve models, as many as a test wants on one database, and the books that must add up. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import { endLostProcesses, grantCredits, type Inference, inferenceOf, type Payer } from '#src/resources/llm/billing.ts'
import { idsOf } from '../../support/makers.ts'
import { createDatabase, type TestPostgres } from '../../support/postgres.ts'

/** One process. */
export type InferenceProcess = { services: Services; inference: Inference; stop: () => Promise<void> }
/** A database with nothing in it, and processes on it. */
export type InferenceWorld = {
  url: string
  dataDir: string
  db: Db
  first: InferenceProcess
  start: () => Promise<InferenceProcess>
  organization: (usd?: number) => Promise<Payer>
  stop: () => Promise<void>
}

/** Starts a world. */
export async function startWorld(on?: TestPostgres): Promise<InferenceWorld> {
  const database = await createDatabase(on)
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-inference-'))
  const config = readConfig({ BERTH_DATA_DIR: dataDir, BERTH_LOG_LEVEL: 'error' })
  const processes: InferenceProcess[] = []
  const start = async (): Promise<InferenceProcess> => {
    const services = await openServices(config, database.url, 'web')
    let stopped: Promise<void> | null = null
    const one = { services, inference: inferenceOf(services), stop: () => (stopped ??= services.close()) }
    processes.push(one)
    return one
  }
  const first = await start()
  let organizations = 0
  return {
    url: database.url,
    dataDir,
    db: first.services.db,
    first,
    start,
    async organization(usd = 0) {
      const { token } = await issueToken(first.services, {
        user: 'alice',
        organization: `org-${++organizations}`,
        role: 'owner',
        ttlSeconds: 3600,
        newNames: { make: true },
      })
      const { organizationId, userId } = idsOf(token)
      if (usd !== 0) await grantCredits(first.services.db, { organizationId, usd, grantedBy: 'test' })
      return { organizationId, userId, keyId: null }
    },
    async stop() {
      for (const one of processes) await one.stop()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** What the tables say of an organization's money, all in nano-USD; `days` is what the sums of days say was spent. */
export type Books = {
  granted: number
  balance: number
  leases: number
  spent: number
  days: number
  requests: number
  dayRequests: number
  open: number
}

/** Reads them. */
export function readBooks(db: Db, organizationId: string): Promise<Books> {
  return getOne<Books>(
    db,
    sql`
    select (select coalesce(sum(amount_nano_usd), 0) from inference_grants where organization_id = o.id) as granted,
      (select balance_nano_usd from inference_accounts where organization_id = o.id) as balance,
      (select coalesce(sum(amount_nano_usd), 0) from credit_leases where organization_id = o.id) as leases,
      (select coalesce(sum(cost_nano_usd), 0) from inference_requests where organization_id = o.id) as spent,
      (select coalesce(sum(cost_nano_usd), 0) from inference_days where organization_id = o.id) as days,
      (select count(*) from inference_requests where organization_id = o.id) as requests,
      (select coalesce(sum(requests), 0) from inference_days where organization_id = o.id) as day_requests,
      (select count(*) from inference_requests where organization_id = o.id and status = 'open') as open
    from organizations o where id = ${organizationId}`,
  )
}

/** The books, after it is certain that they add up to the last nano-USD, with the sums of days equal to the ledger. */
export async function balancedBooks(db: Db, organizationId: string): Promise<Books> {
  const books = await readBooks(db, organizationId)
  expect(books.balance + books.leases + books.spent, JSON.stringify(books)).toBe(books.granted)
  expect([books.days, books.dayRequests]).toEqual([books.spent, books.requests])
  return books
}

/** Makes the database believe that a process has been silent for longer than it may be, and cleans up after it. */
export async function endSilent(db: Db, whose: { but: string } | { only: string } | 'all' = 'all'): Promise<void> {
  const which = whose === 'all' ? sql`true` : 'but' in whose ? sql`id <> ${whose.but}` : sql`id = ${whose.only}`
  await sql`update inference_processes set seen_at = now() - interval '31 seconds' where ${which}`.execute(db)
  await endLostProcesses(db)
}

/** What a refusal says: its code. */
export async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work()
    return 'none'
  } catch (error) {
    if (error instanceof BerthError) return error.code
    throw error
  }
}
