/**
 * The leases of one process: parts of organizations' credits that it holds, so that a request costs no round trip. Only
 * this file decides how much of an organization's credits the process holds.
 */
import { change, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Account, Accounts } from './accounts.ts'

/** A lease is what is needed plus this fraction of the rest, so that a busy organization seldom needs a new one. */
const leasePartsOfRest = 10
const leaseIdleMs = 30_000

/** The notice that a process needs credits of an organization that others hold but do not need. */
export const creditsWantedTopic = 'inference_credits_wanted'

/** Why there were no credits: `isReachable` if other processes hold enough of them; `leftNanoUsd` is left in total. */
export type NoCredits = { isReachable: boolean; leftNanoUsd: number }

/** The leases of one process. */
export type Leases = {
  /** Makes sure that so much is held and not reserved. @returns null, or why that failed. */
  take(account: Account, neededNanoUsd: number): Promise<NoCredits | null>
  /** Returns credits that are held but not needed, because another process needs them. */
  giveSpare(account: Account): Promise<void>
  /** Returns credits that were unused for half a minute. */
  giveIdle(): Promise<void>
}

/** This process's lane to the database: one piece of work at a time. */
type Lane = { processId: string; inLane: <Result>(work: () => Promise<Result>) => Promise<Result> }

/**
 * Makes the leases of a process. Each piece of work has the lane for itself, so that the database's answers come in
 * order.
 */
export function createLeases(db: Db, accounts: Accounts, { processId, inLane }: Lane): Leases {
  return {
    take: (account, neededNanoUsd) =>
      inLane(async () => {
        const missing = neededNanoUsd - account.leaseLeft
        if (missing <= 0) return null
        const taken = await takeLease(db, processId, account.organizationId, missing)
        if (taken.heldNanoUsd !== null) {
          account.heldNanoUsd = taken.heldNanoUsd
          return null
        }
        const { balanceNanoUsd, elsewhereNanoUsd } = taken
        const isReachable = missing <= balanceNanoUsd + elsewhereNanoUsd // what other processes still hold after they were asked is reserved for their running requests
        return { isReachable, leftNanoUsd: balanceNanoUsd + account.leaseLeft + (isReachable ? 0 : elsewhereNanoUsd) }
      }),
    async giveSpare(account) {
      if (account.leaseLeft <= 0) return
      await inLane(async () => {
        const spareNanoUsd = account.leaseLeft
        if (spareNanoUsd <= 0) return
        account.heldNanoUsd -= spareNanoUsd // nobody reserves it meanwhile
        const { organizationId } = account
        account.heldNanoUsd = (await givePartBack(db, processId, organizationId, spareNanoUsd)) ?? account.heldNanoUsd
      })
    },
    async giveIdle() {
      const beforeMs = performance.now() - leaseIdleMs
      const idle = [...accounts.all()].filter(
        (account) => account.heldNanoUsd !== 0 && account.usedAtMs < beforeMs && account.isQuiet,
      )
      if (idle.length === 0) return
      await inLane(async () => {
        const quiet = idle.filter((account) => account.isQuiet)
        for (const account of quiet) account.heldNanoUsd = 0 // a request that comes meanwhile takes a new lease after this
        await giveLeasesBack(
          db,
          processId,
          quiet.map(({ organizationId }) => organizationId),
        )
      })
    },
  }
}

/** Records what is left of the leases according to the database; with `all`, there are no others. */
export function noteHeld(accounts: Accounts, held: ReadonlyMap<string, number>, all: boolean): void {
  if (all) for (const account of accounts.all()) account.heldNanoUsd = 0
  for (const [organizationId, nanoUsd] of held) accounts.find(organizationId).heldNanoUsd = nanoUsd
}

/** Returns whole leases to the balance. */
export async function giveLeasesBack(db: Db, processId: string, organizationIds: readonly string[]): Promise<void> {
  await change(
    db,
    sql`
    with account as (
      select organization_id from inference_accounts where organization_id = any(${organizationIds}) order by organization_id for no key update
    ), ended as (
      delete from credit_leases l using account a
      where l.process_id = ${processId} and l.organization_id = a.organization_id
      returning l.organization_id, l.amount_nano_usd
    )
    update inference_accounts a set balance_nano_usd = a.balance_nano_usd + e.amount_nano_usd from ended e where e.organization_id = a.organization_id`,
  )
}

/**
 * The result of taking credits: what the process holds now, or null when the balance was not enough; and what other
 * processes hold.
 */
type Taken = { heldNanoUsd: number | null; balanceNanoUsd: number; elsewhereNanoUsd: number }

/** Takes from the balance what is needed plus a part of the rest, or nothing. */
async function takeLease(db: Db, processId: string, organizationId: string, neededNanoUsd: number): Promise<Taken> {
  const row = await findOne<Taken>(
    db,
    sql`
    with account as (
      select balance_nano_usd as balance from inference_accounts where organization_id = ${organizationId} for no key update
    ), share as (
      select ${neededNanoUsd}::bigint + (balance - ${neededNanoUsd}::bigint) / ${leasePartsOfRest}::bigint as part
      from account
      where balance >= ${neededNanoUsd}::bigint
    ), taken as (
      update inference_accounts set balance_nano_usd = balance_nano_usd - share.part from share where organization_id = ${organizationId}
    ), held as (
      insert into credit_leases as l (process_id, organization_id, amount_nano_usd) select ${processId}::uuid, ${organizationId}::uuid, part from share
      on conflict (process_id, organization_id) do update set amount_nano_usd = l.amount_nano_usd + excluded.amount_nano_usd returning amount_nano_usd
    )
    select balance as balance_nano_usd, (select amount_nano_usd from held) as held_nano_usd,
      (select coalesce(sum(amount_nano_usd), 0)
      from credit_leases
      where organization_id = ${organizationId} and process_id <> ${processId}) as elsewhere_nano_usd
    from account`,
  )
  return row ?? { heldNanoUsd: null, balanceNanoUsd: 0, elsewhereNanoUsd: 0 }
}

/** Returns a part of a lease to the balance. @returns what the process still holds; undefined when it held less. */
async function givePartBack(
  db: Db,
  processId: string,
  organizationId: string,
  nanoUsd: number,
): Promise<number | undefined> {
  const row = await findOne<{ heldNanoUsd: number }>(
    db,
    sql`
    with account as (
      select organization_id from inference_accounts where organization_id = ${organizationId} for no key update
    ), less as (
      update credit_leases l set amount_nano_usd = amount_nano_usd - ${nanoUsd}::bigint from account a
      where l.process_id = ${processId} and l.organization_id = a.organization_id and amount_nano_usd >= ${nanoUsd}::bigint returning l.amount_nano_usd
    )
    update inference_accounts
    set balance_nano_usd = balance_nano_usd + ${nanoUsd}::bigint
    from less
    where organization_id = ${organizationId}
    returning less.amount_nano_usd as held_nano_usd`,
  )
  return row?.heldNanoUsd
}
