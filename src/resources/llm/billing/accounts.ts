/**
 * A process's cache of the organizations that it serves: their plan, their budgets, and their running requests here. It
 * is read again after 30 s, after a notice of a change, and before a request is refused. Every amount is private to its
 * purse, which alone adds and subtracts.
 */
import { nowMs } from '#src/platform/clock.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { monthOf, spentSince } from './months.ts'

/** The notice after which an organization's plan, balance or budgets should be read again. */
export const accountsTopic = 'inference_account'

const rememberedMs = 30_000
/** How long a reading is trusted while notices do not arrive. */
const unheardMs = 5_000
/**
 * With a budget, the spending of other processes is read this often; the budget may be exceeded by what they spend in
 * between.
 */
const budgetMs = 1_000
const accountsMax = 10_000
const keysMax = 10_000 // of one organization
const idleMs = 60_000
/** Longer than any request waits for admission, so an account in use is never evicted. */
const busyMs = 20_000

type Reading = { limitNanoUsd: number | null; spentNanoUsd: number }

/**
 * The monthly budget of an organization or of one of its keys, what it has spent, and what is reserved in this process;
 * nano-USD.
 */
export class Purse {
  #limit: number | null = null
  /** Spent this month, as last read from the database. */
  #spent = 0
  /** Reserved for running requests. */
  #reserved = 0
  /** What requests have cost since that reading, and the part of it that is in the ledger. */
  #finished = 0
  #flushed = 0
  #readAtMs = -Infinity
  #monthEndsMs = 0
  #isExpired = false
  #reading: Promise<void> | null = null

  get limitNanoUsd(): number | null {
    return this.#limit
  }

  /** What is left of the month's budget; Infinity without a budget. */
  get budgetLeft(): number {
    return this.#limit === null ? Infinity : this.#limit - this.#spent - this.#finished - this.#reserved
  }

  /** What is reserved, or owed to the ledger. */
  get bound(): number {
    return this.#reserved + this.#finished - this.#flushed
  }

  /** Whether nothing is reserved or owed, and no reading is in progress: it can be evicted. */
  get isIdle(): boolean {
    return this.isQuiet && this.#reading === null
  }

  /** Whether nothing is reserved or owed. */
  get isQuiet(): boolean {
    return this.#reserved === 0 && this.#finished === this.#flushed
  }

  reserve(nanoUsd: number): void {
    this.#reserved += nanoUsd
  }

  /** A request has cost so much more; so much of its reservation is released. */
  charge(nanoUsd: number, free: number): void {
    this.#reserved -= free
    this.#finished += nanoUsd
  }

  /** So much more of the cost is in the ledger. */
  paid(nanoUsd: number): void {
    this.#flushed += nanoUsd
  }

  /** Invalidates the last reading, and the one in progress, after a change. */
  expire(): void {
    this.#readAtMs = -Infinity
    this.#isExpired = true
  }

  /**
   * Whether the reading may still be used.
   * @param readAgain starts a reading ahead of time, for which no request waits.
   */
  isFresh(isConnected: boolean, readAgain: () => Promise<void>): boolean {
    const ageMs = performance.now() - this.#readAtMs
    if (this.#limit === null) return ageMs < (isConnected ? rememberedMs : unheardMs)
    if (nowMs() >= this.#monthEndsMs || ageMs > unheardMs) return false
    if (ageMs > budgetMs) readAgain().catch(() => undefined) // the next request that needs it reads again and reports the error
    return true
  }

  /** Reads it, once for all concurrent callers. @throws what Postgres throws. */
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
    // The reading includes what was flushed before it. What was flushed meanwhile may be counted twice until the next
    // reading, but is never missed.
    this.#finished -= flushedBefore
    this.#flushed -= flushedBefore
  }
}

/** An organization's purse, the purses of its keys, and its lease: the part of its credits that this process holds. */
export class Account extends Purse {
  readonly organizationId: string
  plan: string | null = null
  /** The lease, as the database knows it. */
  heldNanoUsd = 0
  /** When it was last used, by `performance.now()`. */
  usedAtMs = 0
  /** A queue of requests that wait for credits. */
  turn: Promise<unknown> = Promise.resolve()
  readonly #keys = new Map<string, Purse>()

  constructor(organizationId: string) {
    super()
    this.organizationId = organizationId
  }

  /** The part of the lease that is neither reserved nor owed to the ledger. */
  get leaseLeft(): number {
    return this.heldNanoUsd - this.bound
  }

  /** What may be reserved now without asking the database; negative when more is owed than held. */
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
  /** Whether it may be used without reading again; starts a reading ahead of time when useful. */
  fresh(account: Account, keyId: string | null): boolean
  /** Reads the account, and the key's purse. */
  read(account: Account, keyId: string | null): Promise<void>
  all(): Iterable<Account>
  /** Evicts those that were unused for a minute. */
  tidy(): void
}

/** Makes the accounts of a process. */
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
    select plan, monthly_budget_nano_usd as limit_nano_usd,
      case when monthly_budget_nano_usd is null then 0 else ${spentSince(monthStart, sql`a.organization_id`)} end as spent_nano_usd
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
