/**
 * Tokens with which clients log in to a database: JWTs of the database's own issuers, and of those that the platform trusts if
 * their owner belongs to the database's organization.
 */
import { decodeJwt, type JWTPayload } from 'jose'
import { createAuthenticator } from '#schema/context.ts'
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { verifyClaims } from '#src/platform/tokens.ts'
import { listAuthIssuers, type DatabaseAuthIssuer } from '#src/resources/infra/database-auth-issuers.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import type { CheckToken } from '../databases.ts'
import type { Identity } from './servers.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'
import { createDatabaseCache } from './cache.ts'
import { createKeySets } from './key-sets.ts'

/** Claims are written at each hand-over of a session, so they are short. Unit: characters of JSON. */
const claimsLengthMax = 16 * 1024

/** Makes the check. */
export function createTokenCheck(services: Services): CheckToken {
  const { db, config } = services
  const authenticator = createAuthenticator(services)
  const issuers = createDatabaseCache<readonly DatabaseAuthIssuer[]>(services)
  const keySets = createKeySets(config)

  async function claimsOf({ id, organizationId }: Database, token: string): Promise<JWTPayload | null> {
    const read = issuerIn(token)
    if (read === null) return null
    const known = issuers.find(id)?.value ?? (await issuers.read(id, () => listAuthIssuers(db, id)))
    const own = known.find(({ issuer }) => issuer === read)
    if (own) return verifyClaims(token, { ...own, keys: keySets(own.jwksUri) })
    const caller = await authenticator.authenticate(token)
    const isMember = caller.kind === 'person' && caller.vmId === null && caller.memberships.has(organizationId)
    return isMember ? decodeJwt(token) : null
  }

  return async (database, token) => {
    if (token.length > limits.tokenLength) return null
    try {
      const claims = await claimsOf(database, token)
      return claims && identityOf(token)
    } catch (error) {
      if (error instanceof BerthError && error.status === 401) return null
      if (!(error instanceof BerthError)) log.warn({ err: error }, 'a client’s token could not be checked')
      throw new PostgresRefusal('cannot_connect_now', 'the token cannot be checked right now: try again in a moment')
    }
  }
}

/** What a token says of its issuer; null where it is none. */
function issuerIn(token: string): string | null {
  try {
    return decodeJwt(token).iss ?? null
  } catch {
    return null // it is no JWT
  }
}

/**
 * Who a verified token makes its bearer. Its role counts if it is one that databases have; policies see which it became,
 * and every claim with the numbers that it has, which decoding would change.
 */
function identityOf(token: string): Identity | null {
  const payload = parseExactly(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload // it was verified
  const kind = payload['role'] === 'anon' ? 'anonymous' : 'authenticated'
  const claims = JSON.stringify({ ...payload, role: kind === 'anonymous' ? 'anon' : 'authenticated' })
  // Postgres has no text with this character in it.
  return claims.length > claimsLengthMax || claims.includes(String.raw`\u0000`) ? null : { kind, claims }
}
