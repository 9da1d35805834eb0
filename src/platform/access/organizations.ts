/** The organizations of a caller. */
import { actingIn, allow, allowIn, type Caller, type Scope } from '#src/platform/access.ts'
import type { Permission } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'

const namedMax = 10 // organizations in a sentence

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

/**
 * As allowIn, in the organization that the caller names by its id; without one, in the active one of their token.
 * @throws BerthError as allowIn; invalid_request, with the ids to choose from, when the token names none and they belong to
 * several.
 */
export function allowInGiven(caller: Caller, permission: Permission, publicId: string | null | undefined): Scope {
  if (publicId !== null && publicId !== undefined)
    return allowIn(caller, permission, decodeId('organization', publicId))
  if (caller.kind !== 'person' || caller.organizationId !== null) return allow(caller, permission)
  const [only, ...others] = caller.memberships.keys()
  if (only === undefined) return allow(caller, permission) // which says that it names none
  if (others.length === 0) return allowIn(caller, permission, only)
  const ids = [only, ...others].map((id) => encodeId('organization', id))
  const shown = ids.slice(0, namedMax).join(', ')
  throw new BerthError(
    'invalid_request',
    `Your request names no organization, and you belong to ${ids.length}. Name one in organizationId: ${shown}${ids.length > namedMax ? ' …' : ''}.`,
    { field: 'organizationId' },
  )
}

/** The header in which a request names the organization that it is about, where its token may act for several. */
export const organizationHeader = 'berth-organization'

/**
 * The caller, acting in the organization that a request names; the same caller where it names none.
 * @throws BerthError 401 when there is no valid caller, 403 forbidden when they do not belong to it.
 */
export function actingInNamed(caller: Caller, publicId: unknown): Caller {
  if (publicId === undefined || caller.kind === 'nobody') return caller
  return actingIn(caller, typeof publicId === 'string' ? decodeId('organization', publicId) : undefined)
}
