/** Access tokens of the built-in issuer: their claims (docs/reference/access.md, "Tokens and keys"), signed with the newest key (ES256). */
import { importJWK, SignJWT } from 'jose'
import { isAtLeast, lesserRole, permissions, type Role } from '#src/platform/access/permissions.ts'
import { nowMs } from '#src/platform/clock.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import type { Background } from '#src/platform/services.ts'
import { vmClaim } from '#src/platform/tokens.ts'
import type { Identity } from './memberships.ts'
import { findSigningKey } from './signing-keys.ts'

/** How the built-in issuer signs. */
export const signingAlgorithm = 'ES256'

/**
 * The permissions of a role, for the `permissions` claim; for a token inside a VM, only those that such tokens have.
 */
export function permissionsOf(role: Role, isInVm = false): string[] {
  return Object.entries(permissions)
    .filter(([, [least, , inVms]]) => isAtLeast(role, least) && (inVms !== null || !isInVm))
    .map(([name]) => name)
}

type Parts = Pick<Background, 'db' | 'sealer'> & { config: Pick<Background['config'], 'publicUrl' | 'audience'> }

/**
 * Signs a token for this person.
 * @throws Error when the issuer has no key yet: it is created when the web process first starts.
 */
export async function signAccessToken(
  parts: Parts,
  identity: Identity,
  ttlSeconds: number,
): Promise<{ token: string; expiresAtSeconds: number }> {
  return sign(parts, identity, ttlSeconds, { permissions: permissionsOf(identity.role) })
}

/**
 * Signs a token to put into a VM: for the active organization only, as a member at most, and marked as a VM's token.
 */
export async function signVmToken(
  parts: Parts,
  identity: Identity,
  vmId: string,
  ttlSeconds: number,
): Promise<{ token: string; expiresAtSeconds: number }> {
  const role = lesserRole(identity.role, 'member')
  const memberships = identity.memberships
    .filter((one) => one.organizationId === identity.organizationId)
    .map((one) => ({ ...one, role }))
  return sign(parts, { ...identity, role, memberships }, ttlSeconds, {
    permissions: permissionsOf(role, true),
    [vmClaim]: encodeId('vm', vmId),
  })
}

async function sign(
  { config, db, sealer }: Parts,
  identity: Identity,
  ttlSeconds: number,
  more: Record<string, unknown>,
): Promise<{ token: string; expiresAtSeconds: number }> {
  const jwk = await findSigningKey(db, sealer)
  if (!jwk?.kid) throw new Error('the built-in issuer has no signing key yet')
  const issuedAt = Math.floor(nowMs() / 1000)
  const expiresAtSeconds = issuedAt + ttlSeconds
  const token = await new SignJWT({
    sid: newUuid(),
    ...(identity.email ? { email: identity.email } : {}),
    org_id: identity.organizationId,
    role: identity.role,
    ...more,
    org_memberships: identity.memberships.map((one) => ({
      org_id: one.organizationId,
      membership_id: one.membershipId,
      role: one.role,
    })),
  })
    .setProtectedHeader({ alg: signingAlgorithm, kid: jwk.kid, typ: 'JWT' })
    .setIssuer(config.publicUrl)
    .setAudience(config.audience)
    .setSubject(identity.userId)
    .setJti(newUuid())
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAtSeconds)
    .sign(await importJWK(jwk, signingAlgorithm))
  return { token, expiresAtSeconds }
}
