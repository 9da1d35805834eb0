/**
 * What a worker writes of a certificate. It holds a claim with a short lease; whatever it writes counts only while the claim is
 * the row's latest one. What is under way at the authority is in the row, so that another worker goes on with it.
 */
import { randomInt } from 'node:crypto'
import { fromNow, momentAt, now } from '#src/platform/clock.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import type { Retention, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { certificateLimits, certificateRetrySeconds } from '#src/platform/limits/certificates.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import type { RawBuilder } from 'kysely'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import {
  certificatesTopic,
  obtainCertificate,
  type Certificate,
  type CertificateStatus,
  type Challenge,
} from './rows.ts'

const certificateStates: States<CertificateStatus> = states<CertificateStatus>('certificates', 'certificate', {
  pending: ['issued', 'failed'],
  issued: ['issued', 'failed'],
  failed: ['issued', 'failed'],
})

/** Clocks of two hosts may differ by so much. */
const slackMs = 5_000
/** Attempts that failed together are not repeated together. */
const jitterPercent = 20
const lease = sql`now() + ${certificateLimits.leaseSeconds} * interval '1 second'`
/** Nothing is under way at the authority any more. */
const noOrder = sql`order_url = null, sealed_order_key = null, challenges = '[]'`

/** A worker's claim of a certificate. */
export type Claimed = Pick<Certificate, 'id' | 'claim'>

/** Claims a certificate that is due; undefined when it is not, or another worker has it. */
export async function claimCertificate(db: Db, id: string): Promise<Certificate | undefined> {
  const due = fromNow(slackMs)
  return findOne<Certificate>(
    db,
    sql`
    update certificates set claim = claim + 1, claimed_until = ${lease}, queued_until = null
    where id = ${id} and next_attempt_at <= ${due} and (held_until is null or held_until <= ${due})
      and (claimed_until is null or claimed_until < now())
    returning *`,
  )
}

/** Renews the lease. @returns whether the claim still counts. */
export async function keepClaim(db: Db, { id, claim }: Claimed): Promise<boolean> {
  return (
    (await change(db, sql`update certificates set claimed_until = ${lease} where id = ${id} and claim = ${claim}`)) > 0
  )
}

/** Gives a claim back before the work is done; another worker goes on. */
export async function releaseClaim(db: Db, { id, claim }: Claimed): Promise<void> {
  await change(db, sql`update certificates set claimed_until = null where id = ${id} and claim = ${claim}`)
}

/** Records what is under way. @returns false when the claim does not count any more. */
async function note(db: Db, { id, claim }: Claimed, set: RawBuilder<unknown>): Promise<boolean> {
  return transaction(db, async (tx) => {
    const changed = await change(tx, sql`update certificates set ${set} where id = ${id} and claim = ${claim}`)
    if (changed > 0) publish(tx, certificatesTopic, id)
    return changed > 0
  })
}

/** Records the order at the authority. @returns false when the claim does not count any more. */
export async function noteOrder(db: Db, claimed: Claimed, orderUrl: string | null): Promise<boolean> {
  return note(db, claimed, orderUrl === null ? noOrder : sql`order_url = ${orderUrl}`)
}

/** Records the sealed key of the order, before it is used. @returns false when the claim does not count any more. */
export async function noteOrderKey(db: Db, claimed: Claimed, sealedKey: Buffer): Promise<boolean> {
  return note(db, claimed, sql`sealed_order_key = ${sealedKey}`)
}

/** Records what the edge is to answer. @returns false when the claim does not count any more. */
export async function noteChallenges(db: Db, claimed: Claimed, challenges: readonly Challenge[]): Promise<boolean> {
  return note(db, claimed, sql`challenges = ${JSON.stringify(challenges)}::jsonb`)
}

/** Notifies the domain of a certificate that it changed, in the same transaction. */
export type NotifyDomain = (tx: Tx, domainId: string) => Promise<void>

/** What an authority issued. */
export type Issued = { issuer: string; chain: string; sealedKey: Buffer; notBefore: Date; notAfter: Date }

/** Stores a certificate that was issued, and when it is renewed. @returns false when the claim does not count any more. */
export async function recordIssued(
  db: Db,
  claimed: Certificate,
  issued: Issued,
  notify: NotifyDomain,
): Promise<boolean> {
  const { issuer, chain, sealedKey, notBefore, notAfter } = issued
  const lifeMs = notAfter.getTime() - notBefore.getTime()
  const renewAt = momentAt(notAfter.getTime() - lifeMs * certificateLimits.renewalPart)
  return end(
    { db, notify },
    claimed,
    'issued',
    sql`reason = null, issuer = ${issuer}, chain = ${chain}, sealed_key = ${sealedKey}, not_before = ${notBefore},
      not_after = ${notAfter}, expiry_told_at = null, attempts = 0, next_attempt_at = ${renewAt}, ${noOrder}`,
  )
}

/** Records that the node's own authority signs, because no other is set. */
export async function recordOwn(db: Db, claimed: Certificate, issuer: string, notify: NotifyDomain): Promise<boolean> {
  return end(
    { db, notify },
    claimed,
    'issued',
    sql`reason = null, issuer = ${issuer}, chain = null, sealed_key = null, not_before = null, not_after = null,
      expiry_told_at = null, attempts = 0, next_attempt_at = null, ${noOrder}`,
  )
}

/** Why an attempt did not succeed. */
export type Failure = {
  /** A sentence for the owner of the domain. */
  reason: string
  /** Whether the order at the authority is lost. */
  endsOrder: boolean
  /** Whether this is an attempt that failed; one that only has to wait is not. */
  counts: boolean
  /** The authority asked to wait so long. */
  holdSeconds?: number | undefined
  /** Otherwise the next attempt is after a time that grows. */
  retrySeconds?: number | undefined
}

/** Records a failure, and when the next attempt is. @returns false when the claim does not count any more. */
export async function recordFailure(
  db: Db,
  claimed: Certificate,
  failure: Failure,
  notify: NotifyDomain,
): Promise<boolean> {
  const { reason, endsOrder, counts, holdSeconds } = failure
  const attempts = claimed.attempts + (counts ? 1 : 0)
  const usual = certificateRetrySeconds[Math.min(attempts, certificateRetrySeconds.length) - 1] ?? 60
  const waitSeconds = Math.max(failure.retrySeconds ?? usual, holdSeconds ?? 0) * (1 + randomInt(jitterPercent) / 100)
  const heldUntil = holdSeconds === undefined ? null : fromNow(holdSeconds * 1000)
  const hasOne = claimed.issuer !== null && (claimed.notAfter === null || momentAt(claimed.notAfter) > now())
  return end(
    { db, notify },
    claimed,
    hasOne ? 'issued' : counts ? 'failed' : claimed.status,
    sql`reason = ${reason.slice(0, certificateLimits.reasonLength)}, attempts = ${attempts}, held_until = ${heldUntil},
      next_attempt_at = ${fromNow(waitSeconds * 1000)} ${endsOrder ? sql`, ${noOrder}` : sql``}`,
  )
}

/** Ends an attempt. @returns false when the claim does not count any more. */
async function end(
  { db, notify }: { db: Db; notify: NotifyDomain },
  { id, claim, domainId }: Certificate,
  to: CertificateStatus,
  set: RawBuilder<unknown>,
): Promise<boolean> {
  return transaction(db, async (tx) => {
    // The domain is locked before its certificate, as when it orders one.
    await findOne(tx, sql`select 1 from domains where id = ${domainId} for no key update`)
    const held = await findOne<Certificate>(
      tx,
      sql`select * from certificates where id = ${id} and claim = ${claim} for no key update`,
    )
    if (!held) return false
    const ending = sql`claimed_until = null, updated_at = now(), ${set}`
    if (to === 'pending') await change(tx, sql`update certificates set ${ending} where id = ${id}`)
    else await transition(tx, certificateStates, id, to, ending)
    publish(tx, certificatesTopic, id)
    await notify(tx, domainId)
    await notifyOfExpiry(tx, held)
    return true
  })
}

/** Tells webhook endpoints once of a certificate that ends soon: an attempt to renew it has ended, and it is still the same. */
async function notifyOfExpiry(tx: Tx, { id, organizationId, domainId }: Certificate): Promise<void> {
  const soon = fromNow(certificateLimits.expiringDays * 86_400_000)
  const notified = await change(
    tx,
    sql`update certificates set expiry_told_at = now() where id = ${id} and not_after < ${soon} and reason is not null and expiry_told_at is null`,
  )
  if (notified > 0)
    await emitWebhookEvent(tx, organizationId, {
      type: 'domain.certificate_expiring',
      id: encodeId('domain', domainId),
    })
}

/** Enqueues what is due: first attempts whose job was lost, further ones, renewals. For housekeeping of any number of workers. */
export async function sweepCertificates({ db, jobs }: Pick<Background, 'db' | 'jobs'>): Promise<void> {
  await transaction(db, async (tx) => {
    const due = await findAll<Pick<Certificate, 'id'>>(
      tx,
      sql`
      update certificates set queued_until = now() + ${certificateLimits.queuedSeconds} * interval '1 second'
      where id in (
        select id from certificates where next_attempt_at <= ${now()} and (held_until is null or held_until <= ${now()})
          and (queued_until is null or queued_until < now()) and (claimed_until is null or claimed_until < now())
        order by next_attempt_at limit ${certificateLimits.sweepRows} for no key update skip locked
      ) returning id`,
    )
    for (const { id } of due) await jobs.enqueue(tx, obtainCertificate, { certificateId: id })
  })
}

/** Makes the certificates of another authority due, after the setting was changed. */
export async function adoptAuthority(db: Db, issuer: string): Promise<void> {
  await change(
    db,
    sql`update certificates set next_attempt_at = ${now()}, held_until = null, ${noOrder}
      where issuer is distinct from ${issuer} and (issuer is not null or next_attempt_at is null)`,
  )
}

/** Forgets orders that count for nothing any more. */
export async function forgetCertificateOrders(db: Db): Promise<void> {
  await change(db, sql`delete from certificate_orders where created_at < now() - interval '8 days'`)
}

type OrderCounts = { host: number; hour: number; week: number; all: number }

/**
 * Counts one more order, unless that would be too many.
 * @returns why not, and after how long it may be tried; null when it was counted.
 */
export async function reserveOrder(
  db: Db,
  { organizationId, host }: Pick<Certificate, 'organizationId' | 'host'>,
): Promise<{ reason: string; retrySeconds: number } | null> {
  return transaction(db, async (tx) => {
    const refusal = whyTooMany(await countOrders(tx, organizationId, host))
    if (refusal) return refusal
    await change(
      tx,
      sql`insert into certificate_orders (id, organization_id, host) values (${newUuid()}, ${organizationId}, ${host})`,
    )
    return null
  })
}

/** Counts under a lock, so that two workers do not both take the last one. */
async function countOrders(tx: Tx, organizationId: string, host: string): Promise<OrderCounts> {
  await sql`select pg_advisory_xact_lock(hashtextextended('certificate_orders', 0))`.execute(tx)
  const inHour = sql`created_at > now() - interval '1 hour'`
  const ofThem = sql`organization_id = ${organizationId}`
  return getOne<OrderCounts>(
    tx,
    sql`
    select count(*) filter (where ${inHour} and ${ofThem} and host = ${host})::int as host,
      count(*) filter (where ${inHour} and ${ofThem})::int as hour,
      count(*) filter (where ${ofThem})::int as week, count(*) filter (where ${inHour})::int as all
    from certificate_orders where created_at > now() - interval '7 days' and (${ofThem} or ${inHour})`,
  )
}

function whyTooMany(counts: OrderCounts): { reason: string; retrySeconds: number } | null {
  const { ordersOfHostPerHour, ordersOfOrganizationPerHour, ordersOfOrganizationPerWeek, ordersPerHour } =
    certificateLimits
  const later = 'It is tried again by itself.'
  if (counts.week >= ordersOfOrganizationPerWeek)
    return {
      reason: `This organization has ordered ${counts.week} certificates within a week, which is the most. ${later}`,
      retrySeconds: 6 * 3600,
    }
  if (counts.hour >= ordersOfOrganizationPerHour)
    return {
      reason: `This organization has ordered ${counts.hour} certificates within an hour, which is the most. ${later}`,
      retrySeconds: 900,
    }
  if (counts.host >= ordersOfHostPerHour)
    return {
      reason: `A certificate of this name was ordered ${counts.host} times within an hour, which is the most. ${later}`,
      retrySeconds: 900,
    }
  if (counts.all >= ordersPerHour)
    return { reason: `Many certificates are being ordered here. ${later}`, retrySeconds: 900 }
  return null
}

/** What workers do for certificates. */
export const certificateUpkeep: readonly Upkeep[] = [
  { every: 15, doing: 'requeueing certificates', work: sweepCertificates },
]

/** How long orders of certificates stay. */
export const certificateRetention: readonly Retention[] = [
  { what: 'Orders of certificates', until: 'after 8 days', forget: ({ db }) => forgetCertificateOrders(db) },
]
