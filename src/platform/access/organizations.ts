/** The organizations of a caller. */
import { allow, allowIn, type Caller, type Permission, type Scope } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'

/**
 * The organizations that the caller belongs to, the active one first. Needs no permission in them.
 * @throws BerthError 401 when there is no valid caller.
 */
export function organizationsOf(caller: Caller): string[] {
  if (caller.kind === 'nobody') throw caller.refusal
  if (caller.kind === 'system') throw new Error('the system belongs to no organization')
  const active = caller.organizationId === null ? [] : [caller.organizationId]
  return caller.kind === 'key' || caller.vmId !== null
    ? active
    : [...new Set([...active, ...caller.memberships.keys()])]
}

/**
 * As allowIn, for the agents service, where an organization that the caller does not belong to counts as not found.
 * @throws BerthError 401 when there is no valid caller, 403 when they may not do this anywhere, not_found.
 */
export function allowInKnown(caller: Caller, permission: Permission, organizationId: string | undefined): Scope {
  const active = allow(caller, permission) // a missing permission for the operation itself comes first
  const known =
    organizationId === active.organizationId ||
    (caller.kind === 'person' && caller.memberships.has(organizationId ?? ''))
  if (!known) throw notFound('organization')
  return allowIn(caller, permission, organizationId)
}
