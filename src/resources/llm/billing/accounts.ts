/**
 * What a process remembers of the organizations that it serves: their plan, their budgets, and what they have running
 * here. Read again after 30 s, at a notice that something changed, and before anybody is refused.
 */
import type { RawBuilder } from 'kysely'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'

/** The notice after which an organization's plan, balance or budgets should be read again. */
export const accountsTopic = 'inference_account'

const rememberedMs = 30_000
/** How long one is trusted while notices do not arrive. */
const unheardMs = 5_000
/** With a budget, what other processes spend is looked at this often; a budget may be overshot by what they do meanwhile. */
const budgetMs = 1_000
const accountsMax = 10_000
const keysMax = 10_000 // of one organization
const idleMs = 60_000
/** Longer than anybody waits to be let in: an account in use is never forgotten. */
const busyMs = 20_000

/**
 * What one purse, an organization's or a key's, has spent this month, and what it has running in this process.
 * Amounts in nano-USD: `reserved` for requests that run, `finished` is what ended since the last reading and, of that,
 * `flushed` what the ledger has.
 */
export type Purse = {
  limitNanoUsd: number | null
  spentNanoUsd: number
  reservedNanoUsd: number
  finishedNanoUsd: number
  flushedNanoUsd: number
  readAtMs: number
  expired: boolean
  monthEndsMs: number
  reading: Promise<void> | null
}

/** An organization's purse, its keys', and its lease. `usedAtMs` is `performance.now()`. */
export type Account = Purse & {
  readonly organizationId: string
  plan: string | null
  /** What the database says this process holds. */
  heldNanoUsd: number
  keys: Map<string, Purse>
  usedAtMs: number
  /** Those that wait for credits, one after another. */
  turn: Promise<unknown>
}

type Reading = { limitNanoUsd: number | null; spentNanoUsd: number }

/** The remembered accounts of one process. */
export type Accounts = {
  find(organizationId: string): Account
  /** Whether it may be gone by without asking; starts a reading by itself when one would do good. */
  fresh(account: Account, keyId: string | null): boolean
  /** Reads the account, and the key's purse. */
  read(account: Account, keyId: string | null): Promise<void>
  all(): Iterable<Account>
  /** Forgets those that nobody used for a minute. */
  tidy(): void
}

/** Makes them. */
export function createAccounts(db: Db, pubsub: Pubsub): Accounts {
  const accounts = new Map<string, Account>()
  pubsub.listen(accountsTopic, (id) => {
    for (const account of id === null ? accounts.values() : [accounts.get(id)]) if (account) expire(account)
  })
  const readOrganization = (account: Account): Promise<void> =>
    readPurse(account, async (monthStart) => {
      const row = await findAccount(db, account.organizationId, monthStart)
      account.plan = row?.plan ?? null
      return row
    })
  const readKey = (account: Account, keyId: string): Promise<void> =>
    readPurse(keyPurse(account, keyId), (monthStart) => findKeyBudget(db, account.organizationId, keyId, monthStart))

  function isFresh(purse: Purse, read: () => Promise<void>): boolean {
    const ageMs = performance.now() - purse.readAtMs
    if (purse.limitNanoUsd === null) return ageMs < (pubsub.connected ? rememberedMs : unheardMs)
    if (nowMs() >= purse.monthEndsMs || ageMs > unheardMs) return false
    if (ageMs > budgetMs) read().catch(() => undefined) // the next one that must know reads it again and says why it cannot
    return true
  }

  return {
    find(organizationId) {
      let account = accounts.get(organizationId)
      if (!account) {
        if (accounts.size >= accountsMax) forget(accounts, busyMs)
        account = {
          ...newPurse(),
          organizationId,
          plan: null,
          heldNanoUsd: 0,
          keys: new Map(),
          usedAtMs: 0,
          turn: Promise.resolve(),
        }
        accounts.set(organizationId, account)
      }
      return account
    },
    fresh(account, keyId) {
      if (!isFresh(account, () => readOrganization(account))) return false
      return keyId === null || isFresh(keyPurse(account, keyId), () => readKey(account, keyId))
    },
    async read(account, keyId) {
      await Promise.all([readOrganization(account), keyId === null ? undefined : readKey(account, keyId)])
    },
    all: () => accounts.values(),
    tidy: () => forget(accounts, idleMs),
  }
}

/** The purse of one of the organization's keys. */
export function keyPurse(account: Account, keyId: string): Purse {
  let purse = account.keys.get(keyId)
  if (!purse) {
    if (account.keys.size >= keysMax)
      for (const [id, one] of account.keys) if (isQuiet(one) && one.reading === null) account.keys.delete(id)
    account.keys.set(keyId, (purse = newPurse()))
  }
  return purse
}

/** Reads a purse, once for all who wait. @throws what Postgres throws. */
function readPurse(purse: Purse, find: (monthStart: string) => Promise<Reading | undefined>): Promise<void> {
  return (purse.reading ??= (async () => {
    const month = monthOf(nowMs())
    const flushedBefore = purse.flushedNanoUsd
    const atMs = performance.now()
    purse.expired = false
    const row = await find(month.start)
    purse.limitNanoUsd = row?.limitNanoUsd ?? null
    purse.spentNanoUsd = row?.spentNanoUsd ?? 0
    purse.monthEndsMs = month.endsMs
    if (!purse.expired) purse.readAtMs = atMs
    // What was flushed before is in what was read; what was flushed meanwhile may be counted twice until the next reading, never left out.
    purse.finishedNanoUsd -= flushedBefore
    purse.flushedNanoUsd -= flushedBefore
  })().finally(() => (purse.reading = null)))
}

function findAccount(
  db: Db,
  organizationId: string,
  monthStart: string,
): Promise<(Reading & { plan: string | null }) | undefined> {
  return findOne(
    db,
    sql`
    select plan, monthly_budget_nano_usd as limit_nano_usd, case when monthly_budget_nano_usd is null then 0 else ${spentSince(monthStart, sql`a.organization_id`)} end as spent_nano_usd
    from inference_accounts a where organization_id = ${organizationId}`,
  )
}

function findKeyBudget(
  db: Db,
  organizationId: string,
  keyId: string,
  monthStart: string,
): Promise<Reading | undefined> {
  return findOne(
    db,
    sql`
    select monthly_budget_nano_usd as limit_nano_usd, ${spentSince(monthStart, sql`b.organization_id`, sql`b.key_id`)} as spent_nano_usd
    from inference_key_budgets b where organization_id = ${organizationId} and key_id = ${keyId}`,
  )
}

/** What may still be spent of a purse's month; Infinity without a budget. */
export function budgetLeft(purse: Purse): number {
  return purse.limitNanoUsd === null
    ? Infinity
    : purse.limitNanoUsd - purse.spentNanoUsd - purse.finishedNanoUsd - purse.reservedNanoUsd
}

/** What of the lease is not set aside yet and not owed to the ledger. */
export function leaseLeft(account: Account): number {
  return account.heldNanoUsd - (account.finishedNanoUsd - account.flushedNanoUsd) - account.reservedNanoUsd
}

/** Whether nothing runs and nothing is owed. */
export function isQuiet(purse: Purse): boolean {
  return purse.reservedNanoUsd === 0 && purse.finishedNanoUsd === purse.flushedNanoUsd
}

function newPurse(): Purse {
  return {
    limitNanoUsd: null,
    spentNanoUsd: 0,
    reservedNanoUsd: 0,
    finishedNanoUsd: 0,
    flushedNanoUsd: 0,
    readAtMs: -Infinity,
    expired: false,
    monthEndsMs: 0,
    reading: null,
  }
}

function expire(account: Account): void {
  for (const purse of [account, ...account.keys.values()]) {
    purse.readAtMs = -Infinity
    purse.expired = true // also what is being read right now
  }
}

function forget(accounts: Map<string, Account>, unusedMs: number): void {
  const beforeMs = performance.now() - unusedMs
  for (const [id, account] of accounts)
    if (account.usedAtMs <= beforeMs && account.heldNanoUsd === 0 && isQuiet(account) && account.reading === null)
      accounts.delete(id)
}

/** The UTC month of a moment: its first day as text, and when it is over. */
export function monthOf(ms: number): { start: string; endsMs: number } {
  const start = `${timestamp(ms).slice(0, 7)}-01`
  const [year = 0, month = 0] = start.split('-').map(Number)
  return { start, endsMs: Date.UTC(year, month, 1) }
}

/**
 * What an organization, or one key of it, has spent since a day; nano-USD, as a subquery.
 * @param day such as 2026-04-01; null for ever.
 * @param organizationId as keyId, a column of the query around it.
 */
export function spentSince(
  day: string | null,
  organizationId: RawBuilder<unknown>,
  keyId?: RawBuilder<unknown>,
): RawBuilder<number> {
  return sql<number>`(
    select coalesce(sum(cost_nano_usd), 0) from inference_days d
    where d.organization_id = ${organizationId} ${day === null ? sql`` : sql`and d.day >= ${day}::date`} ${keyId ? sql`and d.payer = 'key:' || ${keyId}` : sql``})`
}
