/** Tokens of an authorization: short ones for requests, and one that is exchanged for the next two. Only digests are kept. */
import { programScopes, type ProgramScope } from '#src/platform/access/permissions.ts'
import { randomToken } from '#src/platform/ids.ts'
import { change, findAll, findOne, noticesSent, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { lockMember } from '../memberships.ts'
import { accessTokenTopic, isOpenAuthorization, type Authorization } from '../authorizations.ts'
import { authorizationLimits } from './limits.ts'

/** How the texts of tokens begin. Neither a JWT nor a key does. */
export const tokenPrefixes = { access: 'berth_at_', refresh: 'berth_rt_' } as const

/** What a program gets, once; `scope`: the authorization's. */
export type IssuedTokens = { accessToken: string; refreshToken: string; scope: ProgramScope }
/**
 * What became of an exchange. `unknown`: no such secret, or not this program's; `larger`: for more than it was let in for; `reused`: it was exchanged before, so somebody
 * else has it, and the authorization is to end.
 */
export type Exchange =
  | { status: 'exchanged'; tokens: IssuedTokens }
  | { status: 'unknown' | 'larger' }
  | { status: 'reused'; authorizationId: string; userId: string }

const { accessTokenSeconds, accessTokensMax, refreshTokensKept, lifetimeDays } = authorizationLimits

/** Whether a credential has the form of an access token of a program. */
export function isAccessToken(text: string): boolean {
  return text.startsWith(tokenPrefixes.access)
}

/**
 * Makes the next two tokens of an authorization, which is locked until the transaction ends.
 * @returns undefined when it has ended, is another program's, or its person has left the organization.
 */
export async function issueTokens(
  tx: Tx,
  authorizationId: string,
  clientId: string,
): Promise<IssuedTokens | undefined> {
  const held = await lockAuthorization(tx, authorizationId, clientId)
  return held && issue(tx, held)
}

/** Exchanges a refresh token for the next two. The one that was exchanged holds no more. `scope`: what is asked for, if anything. */
export async function refreshTokens(
  db: Db,
  { secret, clientId, scope }: { secret: string; clientId: string; scope: ProgramScope | null },
): Promise<Exchange> {
  const exchange = await transaction(db, async (tx): Promise<Exchange> => {
    const digest = sha256(secret)
    const found = await findRefreshToken(tx, digest)
    const held = found && (await lockAuthorization(tx, found.authorizationId, clientId))
    if (!held) return { status: 'unknown' }
    if (scope !== null && programScopes.indexOf(scope) > programScopes.indexOf(held.scope)) return { status: 'larger' }
    const taken = await change(
      tx,
      sql`update authorization_tokens set exchanged_at = now() where secret_sha256 = ${digest} and exchanged_at is null`,
    )
    if (taken === 0) return { status: 'reused', authorizationId: held.id, userId: held.userId }
    return { status: 'exchanged', tokens: await issue(tx, held) }
  })
  await noticesSent(db)
  return exchange
}

/** Whose a token is, for its program to give it back; undefined for one that is unknown, or another program's. */
export async function findAuthorizationOf(
  db: Db,
  { secret, clientId }: { secret: string; clientId: string },
): Promise<Pick<Authorization, 'id' | 'userId'> | undefined> {
  return findOne<Pick<Authorization, 'id' | 'userId'>>(
    db,
    sql`
    select a.id, a.user_id from authorization_tokens t join authorizations a on a.id = t.authorization_id
    where t.secret_sha256 = ${sha256(secret)} and a.client_id = ${clientId}`,
  )
}

type TokenRow = Pick<Row<'authorization_tokens'>, 'authorizationId'>

function findRefreshToken(tx: Tx, digest: Buffer): Promise<TokenRow | undefined> {
  return findOne<TokenRow>(
    tx,
    sql`
    select authorization_id from authorization_tokens
    where secret_sha256 = ${digest} and kind = 'refresh' and expires_at > now()`,
  )
}

type Held = Pick<Authorization, 'id' | 'userId' | 'organizationId' | 'clientId' | 'scope'>

/** The person's membership is locked before the authorization, as by whoever removes them. */
async function lockAuthorization(tx: Tx, id: string, clientId: string): Promise<Held | undefined> {
  const which = sql`
    select id, user_id, organization_id, client_id, scope from authorizations
    where id = ${id} and client_id = ${clientId} and ${isOpenAuthorization}`
  const found = await findOne<Held>(tx, sql`${which}`)
  if (!found) return undefined
  const { role, isDeactivated } = await lockMember(tx, found)
  return role === null || isDeactivated ? undefined : findOne<Held>(tx, sql`${which} for update`)
}

async function issue(tx: Tx, { id, scope }: Held): Promise<IssuedTokens> {
  const accessToken = tokenPrefixes.access + randomToken()
  const refreshToken = tokenPrefixes.refresh + randomToken()
  await endOldest(tx, id)
  await change(
    tx,
    sql`
    insert into authorization_tokens (secret_sha256, authorization_id, kind, expires_at)
    select given.digest, ${id}, given.kind, now() + given.seconds * interval '1 second'
    from (values (${sha256(accessToken)}::bytea, 'access', ${accessTokenSeconds}::integer),
      (${sha256(refreshToken)}::bytea, 'refresh', ${lifetimeDays * 86_400}::integer)) as given (digest, kind, seconds)`,
  )
  await change(tx, sql`update authorizations set used_at = now() where id = ${id}`)
  return { accessToken, refreshToken, scope }
}

/** Makes room for one more of each kind. */
async function endOldest(tx: Tx, id: string): Promise<void> {
  const ended = await findAll<{ digest: string }>(
    tx,
    sql`
    delete from authorization_tokens where secret_sha256 in (
      select secret_sha256 from authorization_tokens where authorization_id = ${id} and kind = 'access'
      order by created_at desc offset ${accessTokensMax - 1})
    returning encode(secret_sha256, 'hex') as digest`,
  )
  for (const { digest } of ended) publish(tx, accessTokenTopic, digest)
  await change(
    tx,
    sql`
    delete from authorization_tokens where secret_sha256 in (
      select secret_sha256 from authorization_tokens where authorization_id = ${id} and kind = 'refresh' and exchanged_at is not null
      order by created_at desc offset ${refreshTokensKept - 1})`,
  )
}
