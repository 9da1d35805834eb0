/** Who the caller is. */
import { allow, type Role } from '#src/platform/access.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { findOrganization, findUser } from './memberships.ts'

/** The caller: a person, or an organization's key. The role is that of this moment. */
export type Account = {
  user: { id: string; name: string } | null
  organization: { id: string; name: string }
  role: Role | null
  key: { keyId: string; name: string; scopes: string[]; expiresAt: string | null } | null
}

/** The caller's own account; of a key, what it is. */
export async function getAccount(call: Call): Promise<Account> {
  const scope = allow(call.caller, 'account:read')
  const organization = await findOrganization(call.db, scope.organizationId)
  if (!organization) throw new Error('the caller’s organization is not there')
  const user = scope.userId ? await findUser(call.db, scope.userId) : undefined
  const key = scope.keyId
    ? await getOne<NonNullable<Account['key']>>(
        call.db,
        sql`select key_id, name, scopes, expires_at from api_keys where key_id = ${scope.keyId}`,
      )
    : null
  return { user: user ?? null, organization, role: scope.role, key }
}
