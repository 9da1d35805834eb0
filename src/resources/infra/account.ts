/** Who the caller is. */
import { allow, type Role } from '#src/platform/access.ts'
import type { Call } from '#src/platform/services.ts'
import { findOrganization, findUser } from './memberships.ts'

/** The caller: a person, or an organization's key. */
export type Account = { user: { id: string; name: string } | null; organization: { id: string; name: string }; role: Role | null }

/** The caller's own account. */
export async function getAccount(call: Call): Promise<Account> {
  const scope = allow(call.caller, 'account:read')
  const organization = await findOrganization(call.db, scope.organizationId)
  const user = scope.userId ? await findUser(call.db, scope.userId) : undefined
  if (!organization) throw new Error('the caller’s organization is not there')
  return { user: user ?? null, organization, role: scope.role }
}
