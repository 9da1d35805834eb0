/**
 * What a process remembers of the organizations that it serves: their plan, their budgets, and what they have running
 * here. Read again after 30 s, at a notice that something changed, and before anybody is refused. Every amount is
 * private to its purse, which alone adds and subtracts.
 */
import { nowMs } from '#src/platform/clock.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { monthOf, spentSince } from './months.ts'

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

type Reading = { limitNanoUsd: number | null; spentNanoUsd: number }

/** What an organization, or a key of it, may spend in a month, has spent, and has running in this process; nano-USD. */
export class Purse {
  #limit: number | null = null
  /** Of this month, as the database said when it was read. */
  #spent = 0
  /** Set aside for requests that run. */
  #reserved = 0
  /** What requests have cost since that reading and, of that, what the ledger has. */
  #finished = 0
  #flushed = 0
  #readAtMs = -Infinity
  #monthEndsMs = 0
  #isExpired = false
  #reading: Promise<void> | null = null

  get limitNanoUsd(): number | null {
    return this.#limit
  }

  /** What may still be spent of the month; Infinity without a budget. */
  get budgetLeft(): number {
    return this.#limit === null ? Infinity : this.#limit - this.#spent - this.#finished - this.#reserved
  }

  /** What is set aside, or owed to the ledger. */
  get bound(): number {
    return this.#reserved + this.#finished - this.#flushed
  }

  /** Whether nothing runs, nothing is owed, and nobody waits for a reading: it can be forgotten. */
  get isIdle(): boolean {
    return this.isQuiet && this.#reading === null
  }

  /** Whether nothing runs and nothing is owed. */
  get isQuiet(): boolean {
    return this.#reserved === 0 && this.#finished === this.#flushed
  }

  reserve(nanoUsd: number): void {
    this.#reserved += nanoUsd
  }

  /** A request has cost so much more; so much of what it had set aside is free again. */
  charge(nanoUsd: number, free: number): void {
    this.#reserved -= free
    this.#finished += nanoUsd
  }

  /** The ledger has so much more of what requests cost. */
  paid(nanoUsd: number): void {
    this.#flushed += nanoUsd
  }

  /** Something changed: what was read, and what is being read right now, is not trusted any more. */
  expire(): void {
    this.#readAtMs = -Infinity
    this.#isExpired = true
  }

  /** Whether it may be gone by. @param readAgain starts a reading that would do good, though nobody waits for it. */
  isFresh(isConnected: boolean, readAgain: () => Promise<void>): boolean {
    const ageMs = performance.now() - this.#readAtMs
    if (this.#limit === null) return ageMs < (isConnected ? rememberedMs : unheardMs)
    if (nowMs() >= this.#monthEndsMs || ageMs > unheardMs) return false
    if (ageMs > budgetMs) readAgain().catch(() => undefined) // the next one that must know reads it again and says why it cannot
    return true
  }

  /** Reads it, once for all who wait. @throws what Postgres throws. */
  read(find: (monthStart: string) => Promise<Reading | undefined>): Promise<void> {
    return (this.#reading ??= this.#readNow(find).finally(() => (this.#reading = null)))
  }

  async #readNow(find: (monthStart: string) => Promise<Reading | undefined>): Promise<void> {
    const month = monthOf(nowMs())
    const flushedBefore = this.#flushed
    const atMs = performance.now()
    this.#isExpired = false
    const row = await find(month.start)
    this.#limit = row?.limitNanoUsd ?? null
    this.#spent = row?.spentNanoUsd ?? 0
    this.#monthEndsMs = month.endsMs
    if (!this.#isExpired) this.#readAtMs = atMs
    // What was flushed before is in what was read; what was flushed meanwhile may be counted twice until the next reading, never left out.
    this.#finished -= flushedBefore
    this.#flushed -= flushedBefore
  }
}

/** An organization's purse, its keys', and its lease: the part of its credits that this process holds. */
export class Account extends Purse {
  readonly organizationId: string
  plan: string | null = null
  /** The lease, as the database knows it. */
  heldNanoUsd = 0
  /** When it was last used, by `performance.now()`. */
  usedAtMs = 0
  /** Those that wait for credits, one after another. */
  turn: Promise<unknown> = Promise.resolve()
  readonly #keys = new Map<string, Purse>()

  constructor(organizationId: string) {
    super()
    this.organizationId = organizationId
  }

  /** What of the lease is not set aside yet and not owed to the ledger. */
  get leaseLeft(): number {
    return this.heldNanoUsd - this.bound
  }

  /** What may be set aside right now without asking anybody; below zero when more is owed than held. */
  leftFor(key: Purse | null): number {
    return Math.min(this.leaseLeft, this.budgetLeft, key?.budgetLeft ?? Infinity)
  }

  /** The purse of one of its keys. */
  key(keyId: string): Purse {
    let purse = this.#keys.get(keyId)
    if (!purse) {
      if (this.#keys.size >= keysMax) for (const [id, one] of this.#keys) if (one.isIdle) this.#keys.delete(id)
      this.#keys.set(keyId, (purse = new Purse()))
    }
    return purse
  }

  override expire(): void {
    super.expire()
    for (const key of this.#keys.values()) key.expire()
  }
}

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
    for (const account of id === null ? accounts.values() : [accounts.get(id)]) account?.expire()
  })
  const readOrganization = (account: Account): Promise<void> =>
    account.read(async (monthStart) => {
      const row = await findAccount(db, account.organizationId, monthStart)
      account.plan = row?.plan ?? null
      return row
    })
  const readKey = (account: Account, keyId: string): Promise<void> =>
    account.key(keyId).read((monthStart) => findKeyBudget(db, account.organizationId, keyId, monthStart))
  const forget = (unusedMs: number): void => {
    const beforeMs = performance.now() - unusedMs
    for (const [id, account] of accounts)
      if (account.usedAtMs <= beforeMs && account.heldNanoUsd === 0 && account.isIdle) accounts.delete(id)
  }
  return {
    find(organizationId) {
      let account = accounts.get(organizationId)
      if (!account) {
        if (accounts.size >= accountsMax) forget(busyMs)
        accounts.set(organizationId, (account = new Account(organizationId)))
      }
      return account
    },
    fresh(account, keyId) {
      if (!account.isFresh(pubsub.connected, () => readOrganization(account))) return false
      return keyId === null || account.key(keyId).isFresh(pubsub.connected, () => readKey(account, keyId))
    },
    async read(account, keyId) {
      await Promise.all([readOrganization(account), keyId === null ? undefined : readKey(account, keyId)])
    },
    all: () => accounts.values(),
    tidy: () => forget(idleMs),
  }
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
