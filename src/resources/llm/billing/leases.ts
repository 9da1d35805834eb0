/**
 * Credits: what operators grant, what an organization has left, and the parts of it that processes hold. A process takes
 * a part of the balance at once (a lease) and spends it by itself, so that a request costs no round trip.
 */
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { accountsTopic } from './accounts.ts'
import { nanoUsdPerUsd } from './costs.ts'

/** A lease is what is needed and this part of the rest, so that a busy organization is asked about seldom. */
const leasePartsOfRest = 10
/** A process that says nothing this long is dead. */
export const processLostSeconds = 30

const grantUsdMax = 1_000_000

/** What the database knows of a process: how many batches of the ledger it wrote, and its leases. */
export type Presence = { flushes: number; held: Map<string, number> }

/** Says that a process lives; makes its row where there is none. @param flushes how many batches it has written, as it knows. */
export async function checkIn(db: Db, processId: string, flushes: number): Promise<Presence> {
  const row = await getOne<{ flushes: number }>(
    db,
    sql`
    insert into inference_processes (id, flushes) values (${processId}, ${flushes}) on conflict (id) do update set seen_at = now() returning flushes`,
  )
  const leases = await findAll<{ organizationId: string; amountNanoUsd: number }>(
    db,
    sql`select organization_id, amount_nano_usd from credit_leases where process_id = ${processId}`,
  )
  return { flushes: row.flushes, held: new Map(leases.map((lease) => [lease.organizationId, lease.amountNanoUsd])) }
}

/** What came of wanting credits: what the process holds now, or null when the balance was not enough; and what other processes hold. */
export type Taken = { heldNanoUsd: number | null; balanceNanoUsd: number; elsewhereNanoUsd: number }

/** Takes from the balance what is needed and a part of the rest, or nothing. */
export async function takeLease(
  db: Db,
  processId: string,
  organizationId: string,
  neededNanoUsd: number,
): Promise<Taken> {
  const row = await findOne<Taken>(
    db,
    sql`
    with account as (
      select balance_nano_usd as balance from inference_accounts where organization_id = ${organizationId} for no key update
    ), share as (
      select ${neededNanoUsd}::bigint + (balance - ${neededNanoUsd}::bigint) / ${leasePartsOfRest}::bigint as part from account where balance >= ${neededNanoUsd}::bigint
    ), taken as (
      update inference_accounts set balance_nano_usd = balance_nano_usd - share.part from share where organization_id = ${organizationId}
    ), held as (
      insert into credit_leases as l (process_id, organization_id, amount_nano_usd) select ${processId}::uuid, ${organizationId}::uuid, part from share
      on conflict (process_id, organization_id) do update set amount_nano_usd = l.amount_nano_usd + excluded.amount_nano_usd returning amount_nano_usd
    )
    select balance as balance_nano_usd, (select amount_nano_usd from held) as held_nano_usd,
      (select coalesce(sum(amount_nano_usd), 0) from credit_leases where organization_id = ${organizationId} and process_id <> ${processId}) as elsewhere_nano_usd
    from account`,
  )
  return row ?? { heldNanoUsd: null, balanceNanoUsd: 0, elsewhereNanoUsd: 0 }
}

/** The notice that somebody wants what others hold of an organization's credits and do not need. */
export const creditsWantedTopic = 'inference_credits_wanted'

/** Gives a part of a lease back to the balance. @returns what the process holds then; undefined when it held less. */
export async function givePartBack(
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
    update inference_accounts set balance_nano_usd = balance_nano_usd + ${nanoUsd}::bigint from less where organization_id = ${organizationId} returning less.amount_nano_usd as held_nano_usd`,
  )
  return row?.heldNanoUsd
}

/** Gives whole leases back to the balance. */
export async function giveLeasesBack(db: Db, processId: string, organizationIds: readonly string[]): Promise<void> {
  await change(
    db,
    sql`
    with account as (
      select organization_id from inference_accounts where organization_id = any(${organizationIds}) order by organization_id for no key update
    ), ended as (
      delete from credit_leases l using account a where l.process_id = ${processId} and l.organization_id = a.organization_id returning l.organization_id, l.amount_nano_usd
    )
    update inference_accounts a set balance_nano_usd = a.balance_nano_usd + e.amount_nano_usd from ended e where e.organization_id = a.organization_id`,
  )
}

/** Forgets a process that gave everything back. */
export async function checkOut(db: Db, processId: string): Promise<void> {
  await change(
    db,
    sql`
    delete from inference_processes where id = ${processId} and not exists (select from credit_leases where process_id = ${processId})
      and not exists (select from inference_requests where process_id = ${processId} and status = 'open')`,
  )
}

/**
 * Gives an organization credits, or, below zero, takes them back.
 * @param usd US dollars with nine decimals at most.
 * @throws BerthError invalid_request for an amount of zero or beyond a million.
 */
export async function grantCredits(
  db: Db,
  {
    organizationId,
    usd,
    grantedBy = 'operator',
    note = null,
  }: { organizationId: string; usd: number; grantedBy?: string; note?: string | null },
): Promise<void> {
  const amountNanoUsd = Math.round(usd * nanoUsdPerUsd)
  if (!Number.isFinite(usd) || amountNanoUsd === 0 || Math.abs(usd) > grantUsdMax)
    throw new BerthError(
      'invalid_request',
      `An amount is in US dollars, at most ${grantUsdMax.toLocaleString('en-US')}, and not zero.`,
    )
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`insert into inference_grants (id, organization_id, amount_nano_usd, granted_by, note) values (${newUuid()}, ${organizationId}, ${amountNanoUsd}, ${grantedBy}, ${note})`,
    )
    await change(
      tx,
      sql`
      insert into inference_accounts as a (organization_id, balance_nano_usd) values (${organizationId}, ${amountNanoUsd})
      on conflict (organization_id) do update set balance_nano_usd = a.balance_nano_usd + excluded.balance_nano_usd`,
    )
    await publish(tx, accountsTopic, organizationId)
  })
}
