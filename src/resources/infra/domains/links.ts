/** What domains lead to: a port of a VM, or a function. The route of an active domain changes in the same transaction. */
import type { RawBuilder } from 'kysely'
import type { Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { isGiven } from '#src/platform/pages.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { findFunctionOfOrganization } from '#src/resources/infra/functions/rows.ts'
import { lockVm } from '#src/resources/infra/vms/rows.ts'
import { changeDomain, installRoute } from './states.ts'
import { targetOf, type Domain } from './rows.ts'

/** The input of a target, by public ids: a port of a VM, or a function. */
export type TargetGiven = { functionId?: string | null; vmId?: string | null; vmPort?: number | null }

/** A target as it is stored. */
export type Target = Pick<Domain, 'vmId' | 'vmPort' | 'functionId'>

const portMax = 65_535

/** Whether the input names any target. */
export function namesTarget({ functionId, vmId, vmPort }: TargetGiven): boolean {
  return isGiven(functionId) || isGiven(vmId) || isGiven(vmPort)
}

/**
 * The target of the input, which stays until the transaction ends.
 * @throws BerthError invalid_target unless it is exactly one; not_found when there is no such VM or function of the caller's.
 */
export async function readTarget(tx: Tx, scope: Scope, given: TargetGiven): Promise<Target> {
  const { functionId, vmId, vmPort } = given
  if (isGiven(functionId)) {
    if (isGiven(vmId) || isGiven(vmPort)) throw wrongTarget()
    const found = await findFunctionOfOrganization(tx, scope.organizationId, functionId)
    if (!found) throw notFound('function')
    return { vmId: null, vmPort: null, functionId: found.id }
  }
  if (!isGiven(vmId) || !isGiven(vmPort)) throw wrongTarget()
  if (!Number.isInteger(vmPort) || vmPort < 1 || vmPort > portMax)
    throw new BerthError('invalid_target', `vm_port must be a whole number from 1 to ${portMax}.`, { field: 'vm_port' })
  return { vmId: (await lockVm(tx, scope, vmId, 'share')).id, vmPort, functionId: null }
}

function wrongTarget(): BerthError {
  return new BerthError('invalid_target', 'Name exactly one target: function_id, or vm_id together with vm_port.')
}

/** Whether a domain leads to this already. */
export function leadsTo(domain: Domain, target: Target): boolean {
  return targetOf(domain) === targetOf(target)
}

/** Lets a locked domain lead to this target, or with null nowhere. @throws BerthError invalid_domain when its path is taken. */
export async function setTarget(tx: Tx, domain: Domain, target: Target | null, path = domain.path): Promise<Domain> {
  const { vmId, vmPort, functionId } = target ?? { vmId: null, vmPort: null, functionId: null }
  const serviceId = target && (leadsTo(domain, target) ? domain.serviceId : newUuid())
  const changed = await changeDomain(
    tx,
    domain.id,
    sql`vm_id = ${vmId}, vm_port = ${vmPort}, function_id = ${functionId}, service_id = ${serviceId}, path = ${path}`,
  )
  if (changed.status === 'active') await installRoute(tx, changed)
  return changed
}

/** Unlinks the domains of a locked VM that is deleted. */
export async function unlinkDomainsOfVm(tx: Tx, vmId: string): Promise<void> {
  await unlink(tx, sql`vm_id = ${vmId}`)
}

/** Unlinks the domains of a locked function that is deleted. */
export async function unlinkDomainsOfFunction(tx: Tx, functionId: string): Promise<void> {
  await unlink(tx, sql`function_id = ${functionId}`)
}

async function unlink(tx: Tx, linked: RawBuilder<unknown>): Promise<void> {
  const domains = await findAll<Domain>(tx, sql`select * from domains where ${linked} order by id for no key update`)
  for (const domain of domains) await setTarget(tx, domain, null)
}
