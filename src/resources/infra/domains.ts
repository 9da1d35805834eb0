/**
 * Custom domains: an organization claims a name, proves it by DNS records, activates it, and links it to a port of a VM or to
 * a function. Any number of organizations may claim a name; the first to prove it has it.
 */
import { allowIn, owned, type Scope } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid, randomToken } from '#src/platform/ids.ts'
import { now } from '#src/platform/clock.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { isGiven } from '#src/platform/pages.ts'
import { change, findOne, getOne, isSqlState, sql, sqlState, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { checkNow } from './domains/checks.ts'
import { leadsTo, namesTarget, readTarget, setTarget, type TargetGiven } from './domains/links.ts'
import { checkNotOurs, readDomainName, readDomainPath } from './routes/names.ts'
import { whatIsMissing } from './domains/records.ts'
import { getDomainRow, lockDomain, targetOf, type Domain } from './domains/rows.ts'
import {
  addDomainEvent,
  certificateOf,
  domainsTopic,
  installRoute,
  isHeld,
  isProvedElsewhere,
  lockClaims,
  moveDomain,
  takenPath,
} from './domains/states.ts'
import { lockVmsOfDomain, removeProxiesOfDomain } from './proxies/rows.ts'
import { orderCertificate, removeCertificate, waitForCertificate } from './certificates.ts'
import type { Certificate } from './certificates/rows.ts'
import { removeRoute } from './routes.ts'
import { noteChange } from './vms/states.ts'

const tokenBytes = 16

/** The input to claim a domain. */
export type DomainOrder = Pick<TargetGiven, 'vmId' | 'vmPort'> & {
  domain: string
  organizationId?: string | null
  path?: string | null
  verifyOwnership?: boolean | null
}

/**
 * Claims a name. One that the organization has claimed before stays as it is, with its token; one that failed is checked
 * again.
 * @throws BerthError invalid_domain, invalid_target, invalid_request; rate_limited when there are too many.
 */
export async function createDomain(call: Call, order: DomainOrder): Promise<Domain> {
  const scope = scopeOf(call, order.organizationId)
  const name = readDomainName(order.domain)
  checkNotOurs(call.config, name)
  const path = readDomainPath(order.path)
  if (order.verifyOwnership === false)
    throw new BerthError(
      'invalid_request',
      'verify_ownership must be true, or left out: every domain is proved by its DNS.',
      {
        field: 'verify_ownership',
      },
    )
  return transaction(call.db, async (tx) => {
    await change(tx, sql`select 1 from organizations where id = ${scope.organizationId} for no key update`)
    const target = namesTarget(order) ? await readTarget(tx, scope, order).catch(asInvalidTarget) : null
    const before = await findOne<Domain>(
      tx,
      sql`select * from domains where name = ${name} and ${owned(scope)} for no key update`,
    )
    if (await isProvedElsewhere(tx, { organizationId: scope.organizationId, name, path: before?.path ?? path }))
      throw takenPath(name, before?.path ?? path)
    if (!before) {
      const claimed = await insertDomain(tx, scope, name, path)
      return target ? setTarget(tx, claimed, target) : claimed
    }
    if (isGiven(order.path) && path !== before.path)
      throw new BerthError(
        'invalid_domain',
        `Your organization has ${name} with the path ${before.path}. Change the path when you link it.`,
        { field: 'path' },
      )
    if (target && targetOf(before) !== null && !leadsTo(before, target))
      throw new BerthError('invalid_target', `${name} is linked to ${targetOf(before)}. Unlink it first.`)
    const claimed = before.status === 'failed' ? await moveDomain(tx, before, 'pending') : before
    return target && !leadsTo(claimed, target) ? setTarget(tx, claimed, target) : claimed
  })
}

/** Where a claim is made: in the organization that is named, or the active one. */
function scopeOf(call: Call, organizationId: string | null | undefined): Scope {
  if (!isGiven(organizationId)) return allowInGiven(call.caller, 'domains:write', null)
  try {
    return allowIn(call.caller, 'domains:write', decodeId('organization', organizationId))
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'forbidden') throw error
    throw new BerthError('invalid_request', 'organization_id must name an organization that you belong to.', {
      field: 'organization_id',
    })
  }
}

/** The interface lists no 404 for a claim. */
function asInvalidTarget(error: unknown): never {
  if (error instanceof BerthError && error.code === 'not_found')
    throw new BerthError(
      'invalid_target',
      'vm_id names no VM of yours. Give the id of one, or link the domain later.',
      { field: 'vm_id' },
    )
  throw error
}

async function insertDomain(tx: Tx, scope: Scope, name: string, path: string): Promise<Domain> {
  await checkCount(tx, scope.organizationId, { table: 'domains', most: domainLimits.domainsMax })
  const domain = await getOne<Domain>(
    tx,
    sql`
    insert into domains (id, organization_id, user_id, name, path, status, verification_token, pending_since, next_check_at, event_position)
    values (${newUuid()}, ${scope.organizationId}, ${scope.userId}, ${name}, ${path}, 'pending', ${newVerificationToken()}, ${now()}, ${now()}, 1)
    returning *`,
  )
  await addDomainEvent(tx, domain)
  return domain
}

/** 32 hexadecimal digits, which nobody can guess. */
function newVerificationToken(): string {
  return Buffer.from(randomToken(tokenBytes), 'base64url').toString('hex')
}

/**
 * Checks a domain's records now; one that is proved by that is `verified`.
 * @throws BerthError invalid_domain, not_found, forbidden, rate_limited.
 */
export async function checkDomain(call: Call, given: string): Promise<Domain> {
  const domain = await getDomainRow(call, 'domains:write', given)
  return checkNow(call, domain, async (_, checked) => checked)
}

/**
 * Activates a domain: checks its records now, waits for its certificate, and installs its route. One that is active stays as
 * it is.
 * @throws BerthError dns_not_verified with what was seen; invalid_domain, also when there is no certificate yet; not_found,
 * forbidden, rate_limited.
 */
export async function activateDomain(call: Call, given: string): Promise<Domain> {
  const found = await getDomainRow(call, 'domains:write', given)
  if (found.status === 'active') return found
  const { domain, problem, certificate } = await checkNow(call, found, async (tx, checked, check) => {
    if (checked.status === 'active') return { domain: checked, problem: null, certificate: null }
    if (!check.isProved || !(await mayServe(tx, checked)))
      return { domain: checked, problem: checked.statusReason ?? whatIsMissing(check.records), certificate: null }
    const ordered = await orderCertificate(call, tx, certificateOf(checked))
    if (ordered.status !== 'issued') return { domain: checked, problem: null, certificate: ordered }
    return { domain: await serve(tx, checked), problem: null, certificate: null }
  })
  if (problem !== null) throw new BerthError('dns_not_verified', `${found.name} is not proved yet. ${problem}`)
  return certificate ? serveCertified(call, domain, certificate) : domain
}

/** Whether the organization may have a domain whose records are right. */
async function mayServe(tx: Tx, domain: Domain): Promise<boolean> {
  return domain.status === 'verified' || (domain.status === 'failed' && !(await isProvedElsewhere(tx, domain)))
}

async function serve(tx: Tx, domain: Domain): Promise<Domain> {
  const active = await moveDomain(tx, domain, 'active')
  await installRoute(tx, active)
  return active
}

/** Activates a domain as soon as its certificate is there. @throws BerthError invalid_domain when that takes too long. */
async function serveCertified(call: Call, { id, name }: Domain, ordered: Certificate): Promise<Domain> {
  const certificate = await waitForCertificate(call, ordered, domainLimits.certificateSeconds)
  if (certificate?.status !== 'issued') {
    const why = certificate?.reason ?? 'Its certificate authority is still looking.'
    throw new BerthError(
      'invalid_domain',
      `${name} is proved, but has no certificate yet. ${why} Activate it again in a while.`,
    )
  }
  return transaction(call.db, async (tx) => {
    await lockClaims(tx, name)
    const domain = await lockDomain(tx, id)
    if (domain.status === 'active') return domain
    if (!(await mayServe(tx, domain)))
      throw new BerthError('dns_not_verified', `${name} is not proved any more. ${domain.statusReason ?? ''}`.trim())
    return serve(tx, domain)
  })
}

/** The input to link a domain. */
export type DomainLink = TargetGiven & { path?: string | null }

/**
 * Links a domain to a port of a VM or to a function. Linking it again to the same changes nothing but the path.
 * @throws BerthError invalid_target, invalid_domain, invalid_request, not_found, forbidden; domain_already_linked.
 */
export async function linkDomain(
  call: Call,
  given: string,
  { path: givenPath, ...order }: DomainLink,
): Promise<Domain> {
  const { id, name, organizationId } = await getDomainRow(call, 'domains:write', given)
  const scope = allowIn(call.caller, 'domains:write', organizationId)
  const path = isGiven(givenPath) ? readDomainPath(givenPath) : undefined
  try {
    return await transaction(call.db, async (tx) => {
      const target = await readTarget(tx, scope, order) // the VM is locked before the domain, as when it is deleted
      if (path !== undefined) await lockClaims(tx, name)
      const before = await lockDomain(tx, id)
      if (before.status === 'failed')
        throw new BerthError('invalid_domain', `${name} has failed: ${before.statusReason} Then link it.`)
      const linked = targetOf(before)
      const isSame = leadsTo(before, target)
      if (linked !== null && !isSame)
        throw new BerthError('domain_already_linked', `${name} is linked to ${linked}. Unlink it first.`, {
          current_target: linked,
        })
      const isSamePath = path === undefined || path === before.path
      if (isSame && isSamePath) return before
      if (!isSamePath && (await isProvedElsewhere(tx, { organizationId, name, path }))) throw takenPath(name, path)
      return setTarget(tx, before, target, path)
    })
  } catch (error) {
    if (isSqlState(error, sqlState.uniqueViolation, 'domains_proved')) throw takenPath(name, path ?? '/')
    throw error
  }
}

/** Unlinks a domain; one that is not linked stays as it is. @throws BerthError invalid_domain, not_found, forbidden. */
export async function unlinkDomain(call: Call, given: string): Promise<Domain> {
  const { id } = await getDomainRow(call, 'domains:write', given)
  return transaction(call.db, async (tx) => {
    const before = await lockDomain(tx, id)
    return targetOf(before) === null ? before : setTarget(tx, before, null)
  })
}

/**
 * Deletes a domain and its route. Whoever claims the name afterwards gets a new token.
 * @returns what it was. @throws BerthError invalid_domain, not_found, forbidden.
 */
export async function deleteDomain(call: Call, given: string): Promise<Domain> {
  const { id } = await getDomainRow(call, 'domains:delete', given)
  return transaction(call.db, async (tx) => {
    await lockVmsOfDomain(tx, id)
    const domain = await lockDomain(tx, id)
    await removeRoute(tx, id)
    for (const vmId of await removeProxiesOfDomain(tx, id)) await noteChange(tx, vmId)
    await removeCertificate(tx, { organizationId: domain.organizationId, host: domain.name })
    await change(tx, sql`delete from domains where id = ${id}`)
    publish(tx, domainsTopic, id)
    return domain
  })
}

/** What became of a domain, as a sentence. */
export function messageOf(domain: Domain): string {
  const target = targetOf(domain)
  const leads = target === null ? 'is not linked to anything yet' : `leads to ${target}`
  if (domain.status === 'active') return `${domain.name} is active and ${leads}.`
  return isHeld(domain)
    ? `${domain.name} ${leads}; it serves that once you activate it.`
    : `${domain.name} ${leads}; it serves that once its DNS records are there and you activate it.`
}
