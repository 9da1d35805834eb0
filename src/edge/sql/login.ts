/** Lets a caller of `POST /sql` prove who it is. What is not there and what is wrong look the same. */
import { BerthError } from '#src/platform/errors.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import { anonymousClaims, type CheckToken, type EdgeDatabases, type Sought } from '../databases.ts'
import type { Identity } from '../databases/servers.ts'
import type { Admission } from '../postgres/directory.ts'
import type { FailedLogins } from '../postgres/logins/failed-logins.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'
import type { SqlCaller } from './request.ts'

/** What a login needs. */
export type SqlLogin = {
  databases: Pick<EdgeDatabases, 'lookUp' | 'howToName'>
  checkToken: CheckToken
  failedLogins: FailedLogins
}

const tokenPrefix = 'bdb_'

/** @throws BerthError invalid_request for somebody who does not say which database; unauthorized, rate_limited, service_unavailable */
export async function logInForSql(
  { databases, checkToken, failedLogins }: SqlLogin,
  caller: SqlCaller & { isOwner: boolean },
  address: string,
): Promise<Admission> {
  const asked = { user: caller.user, database: caller.database, serverName: caller.serverName }
  const naming = databases.howToName(asked)
  if (naming !== null) throw new BerthError('invalid_request', naming)
  const sought = await databases.lookUp(asked)
  const identity = sought && (await identify(sought, caller, checkToken))
  if (!identity) {
    if (await failedLogins.failed(address, asked))
      throw new BerthError(
        'rate_limited',
        'Too many failed logins from this address, and this one has failed too: check the token. A right one is let in at once.',
        { retryAfterSeconds: 60 },
      )
    throw new BerthError(
      'unauthorized',
      'The database is not there, its client access is off, or its user or the token is not right. A token that was lost is replaced by the mutation rotateDatabaseToken.',
    )
  }
  const admission = sought.admit(identity)
  if (admission.refusal)
    throw new BerthError('service_unavailable', `${admission.refusal.message}.`, { retryAfterSeconds: 2 })
  return admission
}

async function identify(
  { database, as }: Sought,
  { token, isOwner }: SqlCaller & { isOwner: boolean },
  checkToken: CheckToken,
): Promise<Identity | null> {
  if (as.kind === 'role') return null // by its password only, which Postgres' own protocol proves
  if (isOwner) return { kind: 'owner' }
  if (token?.startsWith(tokenPrefix))
    return database.tokenHash !== null && sameDigest(sha256(token), database.tokenHash) ? { kind: 'owner' } : null
  if (!database.clientModeEnabled) return null // a sentence of its own would tell strangers that there is such a user
  if (token === null) return { kind: 'anonymous', claims: anonymousClaims }
  try {
    return await checkToken(database, token)
  } catch (error) {
    if (!(error instanceof PostgresRefusal)) throw error
    throw new BerthError('service_unavailable', `${error.message}.`, { retryAfterSeconds: 5 })
  }
}
