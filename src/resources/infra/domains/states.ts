/** The states of a domain, and the only place that moves one: row, route, event and notice change together. */
import { fromNow, momentAt, now, nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { change, findOne, getOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import type { RawBuilder } from 'kysely'
import { closeProxiesOfDomain, reopenProxiesOfDomain } from '#src/resources/infra/proxies/rows.ts'
import type { Background } from '#src/platform/services.ts'
import {
  findCertificates,
  orderCertificate,
  removeCertificate,
  whyNotCertified,
} from '#src/resources/infra/certificates.ts'
import { emitStatus, type NotifiedStatuses } from '#src/resources/infra/webhooks/emit.ts'
import { putRoute, removeRoute } from '#src/resources/infra/routes.ts'
import { whatIsMissing, type DomainCheck } from './records.ts'
import { targetOf, type Domain, type DomainStatus } from './rows.ts'

/** The topic of notices about domains; the id is the domain's. */
export const domainsTopic = 'domain'

const domainStates: States<DomainStatus> = states<DomainStatus>('domains', 'domain', {
  pending: ['verified', 'failed'],
  verified: ['active', 'failed'],
  active: ['failed'],
  failed: ['pending', 'active'],
})

/** Moves a locked domain to another status. @throws Error when that is not allowed, which is a bug. */
export async function moveDomain(
  tx: Tx,
  { id }: Pick<Domain, 'id'>,
  to: DomainStatus,
  { reason = null, set }: { reason?: string | null; set?: RawBuilder<unknown> } = {},
): Promise<Domain> {
  const moved = await transition<Domain, DomainStatus>(
    tx,
    domainStates,
    id,
    to,
    sql`status_reason = ${reason}, event_position = event_position + 1, updated_at = now(), ${stamps(to)} ${set ? sql`, ${set}` : sql``}`,
  )
  if (!moved) throw new Error(`a domain that is locked could not become ${to}`)
  await addDomainEvent(tx, moved)
  await emitStatus(tx, notified, 'domain', moved)
  if (to === 'failed') {
    await removeRoute(tx, id)
    await closeProxiesOfDomain(tx, id)
    await removeCertificate(tx, { organizationId: moved.organizationId, host: moved.name })
  } else if (isHeld(moved)) await reopenProxiesOfDomain(tx, id)
  return moved
}

const notified: NotifiedStatuses<DomainStatus> = {
  verified: 'domain.verified',
  active: 'domain.active',
  failed: 'domain.failed',
}

function stamps(to: DomainStatus): RawBuilder<unknown> {
  const next = sql`next_check_at = ${fromNow(domainLimits.hourlyCheckSeconds * 1000)}`
  switch (to) {
    case 'pending':
      return sql`pending_since = ${now()}, next_check_at = ${now()}, lost_at = null`
    case 'verified':
      return sql`pending_since = null, lost_at = null, verified_at = ${now()}, ${next}`
    case 'active':
      return sql`pending_since = null, lost_at = null, verified_at = coalesce(verified_at, ${now()}), activated_at = ${now()}, ${next}`
    case 'failed':
      return sql`pending_since = null, lost_at = null, next_check_at = null`
  }
}

/** Changes a locked domain without a move, as one event. */
export async function changeDomain(tx: Tx, id: string, set: RawBuilder<unknown>): Promise<Domain> {
  const changed = await getOne<Domain>(
    tx,
    sql`update domains set ${set}, event_position = event_position + 1, updated_at = now() where id = ${id} returning *`,
  )
  await addDomainEvent(tx, changed)
  return changed
}

/** Records a domain's state as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addDomainEvent(tx: Tx, domain: Domain): Promise<void> {
  const { id, eventPosition, status, statusReason } = domain
  await change(
    tx,
    sql`
      insert into domain_events (domain_id, position, status, status_reason, target)
      values (${id}, ${eventPosition}, ${status}, ${statusReason}, ${targetOf(domain)})`,
  )
  await change(
    tx,
    sql`delete from domain_events where domain_id = ${id} and position <= ${eventPosition - domainLimits.eventsKept}`,
  )
  publish(tx, domainsTopic, id)
}

/** Installs the route of an active domain, or replaces it. @throws BerthError invalid_domain when it is taken. */
export async function installRoute(tx: Tx, domain: Domain): Promise<void> {
  const { id, organizationId, name, path, vmId, vmPort, functionId } = domain
  const target = { vmId, vmPort, functionId }
  const isPut = await putRoute(tx, {
    id,
    organizationId,
    kind: 'domain',
    host: name,
    path,
    access: 'public',
    ...target,
  })
  if (!isPut) throw takenPath(name, path)
}

/** The 400 for a name and path that somebody else has. */
export function takenPath(name: string, path: string): BerthError {
  return new BerthError(
    'invalid_domain',
    `${name}${path} is taken already: another organization has proved it, or a proxy entry has it. Choose another path, or delete the entry if it is yours.`,
    { field: 'domain' },
  )
}

/** Locks all claims of a name, so that of two that prove it at once one is first. */
export async function lockClaims(tx: Tx, name: string): Promise<void> {
  await change(tx, sql`select 1 from domains where name = ${name} order by id for no key update`)
}

/** Whether another organization has proved this name and path. */
export async function isProvedElsewhere(
  tx: Tx,
  { organizationId, name, path }: Pick<Domain, 'organizationId' | 'name' | 'path'>,
): Promise<boolean> {
  const other = await findOne(
    tx,
    sql`select 1 from domains where name = ${name} and path = ${path} and status in ('verified', 'active') and organization_id <> ${organizationId}`,
  )
  return other !== undefined
}

const takenReason = 'Another organization has proved this name by its DNS. Ask the owner of its DNS.'

/**
 * Writes what a check found, and moves the domain if that makes it. The domain must be locked; all claims of its name, if the
 * check proved it.
 * @param number the check's.
 * @returns the domain as it is then.
 */
export async function applyCheck(
  services: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  domain: Domain,
  { number, check }: { number: number; check: DomainCheck },
): Promise<Domain> {
  const isNews = JSON.stringify(withoutMoments(check)) !== JSON.stringify(withoutMoments(domain))
  const noted = sql`records = ${JSON.stringify(check.records)}::jsonb, checked_at = ${now()}, checked_number = ${number}, check_ends_at = null`
  if (domain.status === 'pending' || domain.status === 'failed') {
    if (await isProvedElsewhere(tx, domain))
      return domain.status === 'failed'
        ? changeDomain(tx, domain.id, noted)
        : moveDomain(tx, domain, 'failed', { reason: takenReason, set: noted })
    if (domain.status === 'pending' && check.isProved) {
      await orderCertificate(services, tx, certificateOf(domain)) // it may be there when the domain is activated
      return moveDomain(tx, domain, 'verified', { set: noted })
    }
    if (domain.status === 'pending' && ageMs(domain.pendingSince) > domainLimits.pendingHours * 3_600_000)
      return moveDomain(tx, domain, 'failed', {
        reason: `Its DNS records were not there within ${domainLimits.pendingHours} hours. ${whatIsMissing(check.records)} Correct them, and claim the domain again.`,
        set: noted,
      })
  } else if (check.leadsHere === false && domain.lostAt && ageMs(domain.lostAt) > domainLimits.lostDays * 86_400_000) {
    return moveDomain(tx, domain, 'failed', {
      reason: `It has not led here for ${domainLimits.lostDays} days. ${whatIsMissing(check.records)} Correct that, and activate it again.`,
      set: noted,
    })
  }
  if (domain.status === 'active') {
    const [certificate] = await findCertificates(tx, [certificateOf(domain)])
    const ending = certificate ? whyNotCertified(certificate) : null
    if (ending !== null)
      return moveDomain(tx, domain, 'failed', {
        reason: `Its certificate could not be renewed. ${ending} Activate it again when that is put right.`,
        set: noted,
      })
  }
  const lost = check.leadsHere === null ? sql`lost_at` : check.leadsHere ? sql`null` : sql`coalesce(lost_at, ${now()})`
  const set = sql`${noted}, next_check_at = ${nextCheckAt(domain)}, lost_at = ${isHeld(domain) ? lost : null}`
  if (isNews) return changeDomain(tx, domain.id, set)
  return getOne<Domain>(tx, sql`update domains set ${set} where id = ${domain.id} returning *`)
}

/** Whose certificate a domain's is, and for which name. */
export function certificateOf({ id, organizationId, name }: Pick<Domain, 'id' | 'organizationId' | 'name'>) {
  return { organizationId, host: name, domainId: id }
}

/** Adds an event to a domain whose certificate changed, unless it is gone. */
export async function noteCertificateChange(tx: Tx, id: string): Promise<void> {
  const changed = await findOne<Domain>(
    tx,
    sql`update domains set event_position = event_position + 1 where id = ${id} returning *`,
  )
  if (changed) await addDomainEvent(tx, changed)
}

/** Whether an organization has proved it, so that nobody else can. */
export function isHeld({ status }: Pick<Domain, 'status'>): boolean {
  return status === 'verified' || status === 'active'
}

/** When the next check by itself is: soon while a claim is new, then less and less often. */
function nextCheckAt({ status, pendingSince }: Domain): Date | null {
  if (status === 'failed') return null
  const ageSeconds = status === 'pending' ? ageMs(pendingSince) / 1000 : Infinity
  const { quickUntilSeconds, quickCheckSeconds, slowUntilSeconds, slowCheckSeconds, hourlyCheckSeconds } = domainLimits
  if (ageSeconds < quickUntilSeconds) return fromNow(quickCheckSeconds * 1000)
  return fromNow((ageSeconds < slowUntilSeconds ? slowCheckSeconds : hourlyCheckSeconds) * 1000)
}

function ageMs(since: string | null): number {
  return since === null ? 0 : nowMs() - momentAt(since).getTime()
}

function withoutMoments({ records }: Pick<DomainCheck, 'records'>): unknown[] {
  return records.map(({ name, expected, seen, isRight, reason }) => [name, expected, seen, isRight, reason])
}
