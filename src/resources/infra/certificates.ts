/**
 * Certificates of domains: one for each organization and host name. A domain orders its certificate in its own transaction;
 * a worker obtains it from the ACME authority, or the node's own authority signs where none is set.
 */
import { allowAnywhere, owned } from '#src/platform/access.ts'
import { momentAt, now, nowMs } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import {
  certificatesTopic,
  findCertificateRow,
  obtainCertificate,
  ownIssuer,
  type Certificate,
} from './certificates/rows.ts'

/** Whose certificate, and for which host name; one that begins with `*.` is for all names one level below. */
export type CertificateName = { organizationId: string; host: string }

/**
 * Orders the certificate of a domain whose DNS is verified. Where there is one, it stays; one that failed is tried again now,
 * unless its authority asked to wait. Enqueues the job in the caller's transaction.
 */
export async function orderCertificate(
  { jobs, config }: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  { organizationId, host, domainId }: CertificateName & { domainId: string },
): Promise<Certificate> {
  const [status, issuer, at] =
    config.acmeDirectory === null ? ['issued', ownIssuer, null] : ['pending', null, now().toISOString()]
  const certificate = await getOne<Certificate>(
    tx,
    sql`
    insert into certificates (id, organization_id, domain_id, host, status, issuer, next_attempt_at, queued_until)
    values (${newUuid()}, ${organizationId}, ${domainId}, ${host}, ${status}, ${issuer}, ${at}, ${at === null ? null : queuedUntil})
    on conflict (organization_id, host) do update set domain_id = excluded.domain_id, updated_at = now(),
      next_attempt_at = case when certificates.status = 'failed' then ${now()} else certificates.next_attempt_at end
    returning *`,
  )
  if (certificate.status !== 'issued') await jobs.enqueue(tx, obtainCertificate, { certificateId: certificate.id })
  publish(tx, certificatesTopic, certificate.id)
  return certificate
}
const queuedUntil = sql`now() + ${certificateLimits.queuedSeconds} * interval '1 second'`

/** Removes the certificate of an organization's host name, with its key. Idempotent. */
export async function removeCertificate(tx: Tx, { organizationId, host }: CertificateName): Promise<void> {
  const removed = await findOne<Pick<Certificate, 'id'>>(
    tx,
    sql`delete from certificates where organization_id = ${organizationId} and host = ${host} returning id`,
  )
  if (removed) publish(tx, certificatesTopic, removed.id)
}

/** The certificates of these names; those that do not exist are missing. */
export async function findCertificates(db: Db, names: readonly CertificateName[]): Promise<Certificate[]> {
  const organizationIds = names.map(({ organizationId }) => organizationId)
  return findAll<Certificate>(
    db,
    sql`
    select c.* from certificates c
    join unnest(${organizationIds}::uuid[], ${names.map(({ host }) => host)}::text[]) as wanted (organization_id, host)
      on c.organization_id = wanted.organization_id and c.host = wanted.host`,
  )
}

/** The certificates of these domains, by their stored ids, of the caller's organizations. */
export async function findDomainCertificates(call: Call, domainIds: readonly string[]): Promise<Certificate[]> {
  const reach = owned(allowAnywhere(call.caller, 'domains:read'))
  return findAll<Certificate>(
    call.db,
    sql`select * from certificates where domain_id = any(${domainIds}::uuid[]) and ${reach}`,
  )
}

/**
 * Waits for the next attempt at a certificate that was ordered.
 * @returns the certificate as it is then, or when the time is over; undefined when it was removed.
 */
export async function waitForCertificate(
  { db, pubsub }: Pick<Background, 'db' | 'pubsub'>,
  { id, attempts, reason }: Certificate,
  limitSeconds: number,
): Promise<Certificate | undefined> {
  const find = () => findCertificateRow(db, id)
  return waitUntil<Certificate | undefined>(pubsub, {
    topic: certificatesTopic,
    id,
    limitSeconds,
    first: find,
    again: find,
    isDone: (now) => now?.status === 'issued' || now?.attempts !== attempts || now.reason !== reason || isHeldBack(now),
  })
}

/** Whether its authority asked to wait: then there is no attempt soon. */
function isHeldBack({ heldUntil }: Certificate): boolean {
  return heldUntil !== null && momentAt(heldUntil).getTime() > nowMs()
}

/**
 * Why this certificate cannot be shown, or soon cannot: it has ended, or ends within three days and could not be renewed.
 * Null while all is well, and while it is obtained for the first time.
 */
export function whyNotCertified(certificate: Pick<Certificate, 'status' | 'reason' | 'notAfter'>): string | null {
  const { status, reason, notAfter } = certificate
  if (status === 'failed') return reason ?? 'There is no certificate.'
  if (notAfter === null || reason === null) return null
  const leftMs = momentAt(notAfter).getTime() - nowMs()
  return leftMs < certificateLimits.criticalDays * 86_400_000 ? reason : null
}
