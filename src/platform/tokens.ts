/**
 * Bearer tokens: JWTs by issuer and key set (jose), and the format of API keys. A verified token is cached by its exact
 * text for 60 s at most. Revocation never relies on the text, because one token can be written in several ways
 * (padding, unused bits of the last character): it checks memberships, on every request.
 */
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  jwtVerify,
  type FetchImplementation,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyResult,
} from 'jose'
import { z } from 'zod'
import { lesserRole, roles, type Role } from './access/permissions.ts'
import { createBoundedMap } from './caches/bounded-map.ts'
import { now, nowMs } from './clock.ts'
import { BerthError } from './errors.ts'
import { decodeId } from './ids.ts'
import { sameDigest, sha256 } from './secrets.ts'

const wholeHeader = 'Authorization: Bearer <ACCESS_TOKEN>'
const howToGetToken = 'On a single host, `npm run -s token` creates one.'
const algorithms = ['RS256', 'ES256', 'EdDSA']
const accessTypes = ['jwt', 'at+jwt', 'application/at+jwt'] // issuers write one of these, or none
const leewaySeconds = 60
const longestTokenCharacters = 8_192
const membershipsMax = 100
const rememberedMsMax = 60_000
const rememberedTokensMax = 10_000
const keySetFetchTimeoutMs = 5_000
const keySetCooldownMs = 30_000 // tokens with unknown key ids cannot make us flood the issuer

/** The claim of a token that Berth put into a VM: that VM's id. */
export const vmClaim = 'vm_id'

/** The secret in the cookie of a session in a browser. It is an object, so that no text that a client sends is taken for one. */
export type BrowserCookie = { readonly cookie: string }

/** Stands for a token in a header that is not `Bearer` and one word. No header can be this, because HTTP trims them. */
export const withoutScheme = ' '

/** The verified claims of a token: stored uuids, and memberships by their id. `vmId`: the VM that Berth put it into. */
export type Token = {
  userId: string
  organizationId: string | null
  role: Role | null
  memberships: readonly { membershipId: string; organizationId: string; role: Role }[]
  vmId: string | null
  tokenId: string
  /** When it was signed. Unix seconds, as are those of its end. */
  issuedAtSeconds: number
  expiresAtSeconds: number
}

/** An issuer whose tokens are accepted, and how its keys are found. */
export type TrustedIssuer = { issuer: string; audience: string; keys: JWTVerifyGetKey }

/** Checks tokens. */
export type TokenChecker = {
  /** @throws BerthError 401 for a token that is not valid here, 503 when its issuer's keys cannot be fetched. */
  check(text: string): Promise<Token>
}

const membership = z.object({ org_id: z.string(), membership_id: z.string(), role: z.enum(roles) })
const claims = z.object({
  iss: z.string(),
  sub: z.string(),
  exp: z.number(),
  jti: z.string().max(255).optional(),
  org_id: z.string().nullish(),
  role: z.enum(roles).nullish(),
  org_memberships: z.array(membership).max(membershipsMax).default([]),
  [vmClaim]: z.string().optional(),
})

/**
 * The keys at an issuer's JWKS URL, fetched when first needed and again for an unknown key id.
 * @param fetchKeys fetches them, within limits.
 */
export function remoteKeys(jwksUri: string, fetchKeys: FetchImplementation): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(jwksUri), {
    timeoutDuration: keySetFetchTimeoutMs,
    cooldownDuration: keySetCooldownMs,
    [customFetch]: fetchKeys,
  })
}

/**
 * The claims of an access token of this issuer, for whomever it was made.
 * @throws BerthError 401 for a token that is not valid here, 503 when its issuer's keys cannot be fetched.
 */
export async function verifyClaims(text: string, { issuer, audience, keys }: TrustedIssuer): Promise<JWTPayload> {
  try {
    const options = { clockTolerance: leewaySeconds, requiredClaims: ['sub', 'exp'], algorithms, currentDate: now() }
    const { payload, protectedHeader } = await jwtVerify(text, keys, { ...options, issuer, audience })
    refuseOtherKinds(protectedHeader.typ)
    return payload
  } catch (error) {
    throw explain(error)
  }
}

/** Makes a checker for these issuers. */
export function createTokenChecker(
  issuers: readonly TrustedIssuer[],
  hs256: { secret: string; audience: string } | null,
): TokenChecker {
  const remembered = createBoundedMap<string, { token: Token; untilMs: number }>({ entriesMax: rememberedTokensMax })

  async function verify(text: string): Promise<Token> {
    if (text.length > longestTokenCharacters) throw refused('it is longer than any token of Berth')
    if (text === '')
      throw new BerthError('unauthorized', `The token is empty. Send one: ${wholeHeader}. ${howToGetToken}`)
    if (text === withoutScheme)
      throw new BerthError('unauthorized', `Write \`Bearer \` before the token, and no other space: ${wholeHeader}.`)
    let claimed: JWTPayload
    try {
      claimed = decodeJwt(text)
    } catch {
      throw refused('it is neither a JWT nor a key of this Berth')
    }
    const trusted = issuers.find((one) => one.issuer === claimed.iss)
    const options = {
      clockTolerance: leewaySeconds,
      requiredClaims: ['sub', 'exp', 'iat'],
      algorithms,
      currentDate: now(),
    }
    try {
      if (trusted)
        return read(
          await jwtVerify(text, trusted.keys, { ...options, issuer: trusted.issuer, audience: trusted.audience }),
        )
      if (hs256)
        return read(
          await jwtVerify(text, Buffer.from(hs256.secret), {
            ...options,
            algorithms: ['HS256'],
            audience: hs256.audience,
          }),
        )
    } catch (error) {
      throw explain(error)
    }
    throw refused('its issuer is not one that this Berth trusts')
  }

  return {
    async check(text) {
      const known = remembered.get(text)
      const nowIs = nowMs()
      if (known && known.untilMs > nowIs) return known.token
      const token = await verify(text)
      remembered.set(text, { token, untilMs: Math.min(nowIs + rememberedMsMax, token.expiresAtSeconds * 1000) })
      return token
    },
  }
}

function read({ payload, protectedHeader }: JWTVerifyResult): Token {
  refuseOtherKinds(protectedHeader.typ)
  if ((payload.iat ?? 0) > nowMs() / 1000 + leewaySeconds)
    throw refused('it was issued in the future; check the clocks')
  const outcome = claims.safeParse(payload)
  if (!outcome.success) throw refused('its claims do not have the form that Berth expects')
  const payloadClaims = outcome.data
  const userId = decodeId('user', payloadClaims.sub)
  if (!userId) throw refused('its subject is not a user id of Berth')
  const organizationId = payloadClaims.org_id ? (decodeId('organization', payloadClaims.org_id) ?? null) : null
  const memberships = payloadClaims.org_memberships.map((one) => {
    const orgId = decodeId('organization', one.org_id)
    const membershipId = decodeId('membership', one.membership_id)
    if (!orgId || !membershipId) throw refused('it names an organization or a membership whose id is not one of Berth')
    // The token states the role in the active organization twice: the lesser one counts, also when a request names that organization.
    const role = orgId === organizationId ? lesserRole(one.role, payloadClaims.role ?? one.role) : one.role
    return { membershipId, organizationId: orgId, role }
  })
  // The role counts only where a membership of that very organization backs it: the claim alone could outlive it.
  const active = memberships.find((one) => one.organizationId === organizationId)
  const role = active?.role ?? null
  const vmId = payloadClaims[vmClaim] === undefined ? null : decodeId('vm', payloadClaims[vmClaim])
  if (vmId === undefined) throw refused('it names a VM whose id is not one of Berth')
  return {
    userId,
    organizationId: active ? organizationId : null,
    role,
    memberships,
    vmId,
    tokenId: payloadClaims.jti ?? '',
    issuedAtSeconds: payload.iat ?? 0,
    expiresAtSeconds: payloadClaims.exp,
  }
}

/** An issuer signs other things with the same key: logout and event tokens say so in their type. */
function refuseOtherKinds(type: string | undefined): void {
  if (type !== undefined && !accessTypes.includes(type.toLowerCase())) throw refused('it is not an access token')
}

function explain(error: unknown): BerthError {
  if (error instanceof BerthError) return error
  if (error instanceof errors.JWTExpired)
    return new BerthError('unauthorized', 'Your token has expired. Get a new one and try again.')
  const keysAway =
    error instanceof errors.JWKSTimeout ||
    (error instanceof TypeError && /fetch/.test(error.message)) ||
    (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC')
  if (keysAway)
    return new BerthError(
      'service_unavailable',
      'The keys of the token’s issuer cannot be fetched right now. Try again soon.',
      { retryAfterSeconds: 5 },
    )
  return refused('its signature, issuer, audience or dates are not right')
}

function refused(because: string): BerthError {
  return new BerthError('unauthorized', `Your token is not valid here: ${because}.`)
}

/** The parts of an organization key, or undefined when the text does not have that form. */
export function parseApiKey(text: string, prefix: string): { keyId: string; secret: string } | undefined {
  if (!text.startsWith(prefix)) return undefined
  const match = /^([0-9a-z]{16})\.([A-Za-z0-9_-]{43})$/.exec(text.slice(prefix.length))
  return match ? { keyId: match[1] ?? '', secret: match[2] ?? '' } : undefined
}

/** Whether this secret has that hash. */
export function secretMatches(secret: string, secretSha256: Buffer): boolean {
  return sameDigest(sha256(secret), secretSha256)
}
