/** Authentication: turns a bearer credential into a Caller, for GraphQL, web sockets and REST alike. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { missingToken, type Caller } from '#src/platform/access.ts'
import { lesserRole } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { RateLimiter } from '#src/platform/rate-limits.ts'
import type { Services } from '#src/platform/services.ts'
import { keySetFetch } from '#src/drivers/key-sets.ts'
import {
  createTokenChecker,
  remoteKeys,
  withoutScheme,
  type BrowserCookie,
  type TrustedIssuer,
} from '#src/platform/tokens.ts'
import { createAuthorizationChecker } from '#src/resources/identity/authorizations/checker.ts'
import { isAccessToken } from '#src/resources/identity/authorizations/tokens.ts'
import { createBrowserSessionChecker } from '#src/resources/identity/browser-sessions/checker.ts'
import { createMembershipChecker } from '#src/resources/identity/memberships.ts'
import { createRolesReader } from '#src/resources/identity/memberships/roles.ts'
import { listPublicKeys, signingKeysNotice } from '#src/resources/identity/signing-keys.ts'
import { createApiKeyChecker } from '#src/resources/identity/api-key-checker.ts'

const rereadMs = 1_000

/** What came to authenticate a request: the text of a token or a key, or the secret in a browser's cookie, never mixed up. */
export type Credential = string | BrowserCookie

/** Finds out who is calling. */
export type Authenticator = {
  /**
   * The caller of a credential. One that is missing or not valid makes a caller `nobody` whose refusal is thrown when
   * something needs a caller. Rejects only when it cannot be decided (503). No promise for a key that is remembered.
   */
  authenticate(credential: Credential | undefined): Caller | Promise<Caller>
}

/**
 * The bearer credential of a request's headers: `Authorization: Bearer …`, or `x-api-key`, as Anthropic's clients send a
 * key. It is `withoutScheme` for another form of the first header, and empty where nothing follows `Bearer`.
 */
export function bearerOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const authorization = headers['authorization']
  if (typeof authorization === 'string') return credentialIn(authorization.trim())
  const alias = headers['x-api-key']
  return typeof alias === 'string' ? alias : undefined
}

const scheme = 'bearer'

function credentialIn(authorization: string): string {
  if (authorization === '') return ''
  if (authorization.slice(0, scheme.length).toLowerCase() !== scheme) return withoutScheme
  const rest = authorization.slice(scheme.length)
  if (rest === '') return ''
  const credential = rest.replace(/^ +/, '')
  return rest.startsWith(' ') && !/\s/.test(credential) ? credential : withoutScheme
}

/**
 * The credential in the query parameter `token`, for event streams only: browsers open those with EventSource, which
 * sends no headers. A header takes precedence.
 */
export function tokenInQuery(query: unknown): string | undefined {
  const token = typeof query === 'object' && query !== null && 'token' in query ? query.token : undefined
  return typeof token === 'string' && token !== '' ? token : undefined
}

/**
 * Counts a refused credential against the address it came from, for GraphQL and its web sockets together: after too
 * many in a minute, that address has to wait. Valid credentials still pass, so nobody can lock out others who share the
 * address.
 * @throws BerthError rate_limited.
 */
export async function countRefusedCredential(limiter: RateLimiter, address: string): Promise<void> {
  await limiter.spend(`refused:${address}`, limits.anonymousPerMinute)
}

/** Makes the process's authenticator. */
export function createAuthenticator(services: Services): Authenticator {
  const { config, db, pubsub } = services
  const tokens = createTokenChecker(
    trustedIssuers(services),
    config.hs256Secret ? { secret: config.hs256Secret, audience: config.audience } : null,
  )
  const keys = createApiKeyChecker(db, pubsub, config.apiKeyPrefix)
  const memberships = createMembershipChecker(db, pubsub)
  const rolesOf = createRolesReader(db, pubsub)
  const browserSessions = createBrowserSessionChecker(db, pubsub, rolesOf)
  const programs = createAuthorizationChecker(db, pubsub, rolesOf)
  const personOf = async (credential: string): Promise<Caller> => {
    try {
      const token = await tokens.check(credential)
      const checked = memberships.check(token)
      const current = checked instanceof Promise ? await checked : checked
      const { userId, organizationId, vmId, tokenId, expiresAtSeconds } = token
      const role =
        organizationId === null || token.role === null
          ? null
          : lesserRole(token.role, current.get(organizationId) ?? token.role)
      return { kind: 'person', userId, organizationId, role, memberships: current, vmId, tokenId, expiresAtSeconds }
    } catch (error) {
      if (error instanceof BerthError && error.status === 401) return { kind: 'nobody', refusal: error }
      throw error
    }
  }
  return {
    authenticate(credential) {
      if (credential === undefined) return { kind: 'nobody', refusal: missingToken() }
      if (typeof credential === 'object') return browserSessions.check(credential.cookie)
      if (isAccessToken(credential)) return programs.check(credential)
      return credential.startsWith(config.apiKeyPrefix) ? keys.check(credential) : personOf(credential)
    },
  }
}

function trustedIssuers({ config, db, pubsub }: Services): TrustedIssuer[] {
  const trusted = config.issuers.flatMap(
    ({ issuer, audience, jwksUri }) =>
      jwksUri === null ? [] : [{ issuer, audience, keys: remoteKeys(jwksUri, keySetFetch(fetch)) }], // at whatever address the operator has set
  )
  if (config.builtInIssuer)
    trusted.push({ issuer: config.publicUrl, audience: config.audience, keys: builtInKeys(db, pubsub) })
  return trusted
}

/** The built-in issuer's keys, read from our own table: no request to ourselves. */
function builtInKeys(db: Services['db'], pubsub: Services['pubsub']): JWTVerifyGetKey {
  const remembered = createNoticedCache<JWTVerifyGetKey>(pubsub, {
    topic: signingKeysNotice.topic,
    entriesMax: 1,
    rememberedMs: Infinity,
  })
  const read = (): Promise<JWTVerifyGetKey> =>
    remembered.read(signingKeysNotice.key, async () => createLocalJWKSet({ keys: await listPublicKeys(db) }))
  let rereadAt = -Infinity
  return async (header, token) => {
    try {
      return await (remembered.find(signingKeysNotice.key)?.value ?? (await read()))(header, token)
    } catch (error) {
      // The key may be newer than our copy, whose notice is on its way. Read again, but not for every invented key id.
      if (!(error instanceof errors.JWKSNoMatchingKey) || performance.now() - rereadAt < rereadMs) throw error
      rereadAt = performance.now()
      return (await read())(header, token)
    }
  }
}
