/**
 * Tokens with which clients log in to a database: JWTs of the issuers that the platform trusts, if their owner belongs to the
 * database's organization.
 */
import { decodeJwt, type JWTPayload } from 'jose'
import type { Authenticator } from '#schema/context.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { CheckToken, Identity } from './databases.ts'
import { PostgresRefusal } from './postgres/refusals.ts'

/** Claims are written at each hand-over of a session, so they are short. Unit: characters of JSON. */
const claimsLengthMax = 16 * 1024

/** Makes the check. */
export function createTokenCheck(authenticator: Authenticator): CheckToken {
  return async (database, token) => {
    try {
      const caller = await authenticator.authenticate(token)
      const isMember =
        caller.kind === 'person' && caller.vmId === null && caller.memberships.has(database.organizationId)
      return isMember ? identityOf(decodeJwt(token)) : null
    } catch (error) {
      if (!(error instanceof BerthError)) log.warn({ err: error }, 'a client’s token could not be checked')
      throw new PostgresRefusal('cannot_connect_now', 'the token cannot be checked right now: try again in a moment')
    }
  }
}

/** Who a verified token makes its bearer. Its role counts if it is one that databases have; policies see which it became. */
function identityOf(payload: JWTPayload): Identity | null {
  const kind = payload['role'] === 'anon' ? 'anonymous' : 'authenticated'
  const claims = JSON.stringify({ ...payload, role: kind === 'anonymous' ? 'anon' : 'authenticated' })
  // Postgres has no text with this character in it.
  return claims.length > claimsLengthMax || claims.includes(String.raw`\u0000`) ? null : { kind, claims }
}
