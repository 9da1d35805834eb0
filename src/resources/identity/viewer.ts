/** The authenticated caller. */
import type { Caller } from '#src/platform/access.ts'
import { lesserRole, type Role } from '#src/platform/access/permissions.ts'
import type { Call } from '#src/platform/services.ts'

/** The caller: a person, or an organization's API key; stored ids. The role is the current one. */
export type Viewer = { userId: string | null; organizationId: string | null; role: Role | null; keyId: string | null }

/** The authenticated caller. Needs no permission. @throws BerthError 401 when there is no valid caller. */
export function getViewer({ caller }: Pick<Call, 'caller'>): Viewer {
  if (caller.kind === 'nobody') throw caller.refusal
  if (caller.kind === 'system') throw new Error('the system has no viewer')
  return caller.kind === 'key'
    ? { userId: null, organizationId: caller.organizationId, role: null, keyId: caller.keyId }
    : { userId: caller.userId, organizationId: caller.organizationId, role: roleOf(caller), keyId: null }
}

/** The token inside a VM never has more than the member role. */
function roleOf({ role, vmId }: Extract<Caller, { kind: 'person' }>): Role | null {
  return role !== null && vmId !== null ? lesserRole(role, 'member') : role
}
