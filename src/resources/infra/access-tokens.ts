/** Access tokens of the built-in issuer: claims as decisions.md §1 lays them out, signed with the newest key (ES256). */
import { importJWK, SignJWT } from 'jose'
import { permissions, roles, type Role } from '#src/platform/access.ts'
import { nowMs } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import type { Background } from '#src/platform/services.ts'
import type { Identity } from './memberships.ts'
import { findSigningKey } from './signing-keys.ts'

/** How the built-in issuer signs. */
export const signingAlgorithm = 'ES256'

/** What a role may do, as the `permissions` claim lists it. */
export function permissionsOf(role: Role): string[] {
  return Object.entries(permissions).filter(([, [least]]) => roles.indexOf(role) >= roles.indexOf(least)).map(([name]) => name)
}

/**
 * Signs a token for this person.
 * @throws Error when the issuer has no key yet: it is made when the web process first starts.
 */
export async function signAccessToken({ config, db, sealer }: Pick<Background, 'db' | 'sealer'> & { config: Pick<Background['config'], 'publicUrl' | 'audience'> }, identity: Identity, ttlSeconds: number): Promise<{ token: string; expiresAtSeconds: number }> {
  const jwk = await findSigningKey(db, sealer)
  if (!jwk?.kid) throw new Error('the built-in issuer has no signing key yet')
  const issuedAt = Math.floor(nowMs() / 1000)
  const expiresAtSeconds = issuedAt + ttlSeconds
  const token = await new SignJWT({
    sid: newUuid(), ...(identity.email ? { email: identity.email } : {}), org_id: identity.organizationId, role: identity.role, permissions: permissionsOf(identity.role),
    org_memberships: identity.memberships.map((one) => ({ org_id: one.organizationId, membership_id: one.membershipId, role: one.role })),
  })
    .setProtectedHeader({ alg: signingAlgorithm, kid: jwk.kid, typ: 'JWT' })
    .setIssuer(config.publicUrl).setAudience(config.audience).setSubject(identity.userId)
    .setJti(newUuid()).setIssuedAt(issuedAt).setExpirationTime(expiresAtSeconds)
    .sign(await importJWK(jwk, signingAlgorithm))
  return { token, expiresAtSeconds }
}
