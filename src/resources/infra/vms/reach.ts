/**
 * How far the token inside a VM reaches: no further than that VM may. Whoever may run commands in a VM with a network policy has
 * its token, and would otherwise leave by another VM, a build or an agent.
 */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { NetworkPolicy, Vm } from './rows.ts'

type Own = Pick<Vm, 'networkPolicy' | 'projectId'>

/** The VM whose token asks, and what it may reach; null for every other caller. A VM that is gone reaches nothing. */
export async function ownVm(db: Db, { vmId }: Pick<Scope, 'vmId'>): Promise<Own | null> {
  if (vmId === null) return null
  const own = await findOne<Own>(db, sql`select network_policy, project_id from vms where id = ${vmId}`)
  return own ?? { networkPolicy: { type: 'none' }, projectId: null }
}

/**
 * Keeps the token inside a VM from what reaches further than that VM.
 * @param wanted what is reached; by default everything, as builds and agents do.
 * @throws BerthError forbidden.
 */
export async function refuseWiderReach(
  db: Db,
  scope: Pick<Scope, 'vmId'>,
  wanted: NetworkPolicy = { type: 'unrestricted' },
): Promise<void> {
  const own = await ownVm(db, scope)
  if (own && !isWithin(wanted, own.networkPolicy)) throw reachesFurther()
}

/** The error for that. */
export function reachesFurther(): BerthError {
  return new BerthError(
    'forbidden',
    'The token inside a VM reaches no further than the network policy of that VM, also not by another VM, a build or an agent. Use your own token from outside the VM.',
  )
}

/** Whether a policy opens nothing that another one does not open. */
export function isWithin(policy: NetworkPolicy, other: NetworkPolicy): boolean {
  if (other.type === 'unrestricted' || policy.type === 'none') return true
  if (other.type === 'none' || policy.type === 'unrestricted') return false
  const isOpen = (host: string): boolean =>
    other.allowedHosts.some((one) => one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))))
  return policy.allowedHosts.every(isOpen) && (other.allowPackageManagers || !policy.allowPackageManagers)
}
