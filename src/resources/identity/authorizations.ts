/** Authorizations: the programs that a person lets act for them in an organization, each within its scope. */
import { userTokenRequired } from '#src/platform/access.ts'
import type { ProgramScope } from '#src/platform/access/permissions.ts'
import { findPerson } from '#src/platform/access/callers.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import {
  change,
  findAll,
  findOne,
  getOne,
  noticesSent,
  sql,
  transaction,
  type Db,
  type Tx,
} from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { authorizationLimits, clientLimits } from './authorizations/limits.ts'

/** An authorization as it is stored; ids are uuids, moments wire text. */
export type Authorization = Pick<
  Row<'authorizations', { scope: ProgramScope }>,
  'id' | 'userId' | 'organizationId' | 'clientId' | 'clientName' | 'scope' | 'createdAt' | 'usedAt' | 'expiresAt'
>

/** The topic of notices about access tokens that have ended; the id is the hexadecimal digest of one. */
export const accessTokenTopic = 'program_token'

const columns = sql`id, user_id, organization_id, client_id, client_name, scope, created_at, used_at, expires_at`
const { unusedDays, lifetimeDays, authorizationsPerPerson } = authorizationLimits

/** The condition for authorizations that have not ended by themselves. */
export const isOpenAuthorization = sql<boolean>`(used_at > now() - ${sql.lit(unusedDays)} * interval '1 day' and expires_at > now())`

/** What the caller has let in, what was used last first; null for a key, a program, and the token inside a VM. */
export async function listAuthorizations(call: Call): Promise<Authorization[] | null> {
  const userId = findPerson(call.caller)
  return userId === null
    ? null
    : findAll<Authorization>(
        call.db,
        sql`select ${columns} from authorizations where user_id = ${userId} and ${isOpenAuthorization} order by used_at desc, id`,
      )
}

/** The caller's authorizations of these stored ids. */
export async function findAuthorizations(call: Call, ids: readonly string[]): Promise<Authorization[]> {
  return findAll<Authorization>(
    call.db,
    sql`
    select ${columns} from authorizations
    where id = any(${ids}::uuid[]) and user_id = ${findPerson(call.caller)}::uuid and ${isOpenAuthorization}`,
  )
}

/** Ends an authorization of the caller: every token of it is refused everywhere. @throws BerthError not_found. */
export async function revokeAuthorization(call: Call, publicId: string): Promise<Authorization> {
  const userId = findPerson(call.caller)
  if (userId === null) throw userTokenRequired()
  const id = decodeId('authorization', publicId)
  const ended = id && (await transaction(call.db, (tx) => end(tx, sql`id = ${id} and user_id = ${userId}`)))[0]
  if (!ended) throw notFound('authorization')
  await noticesSent(call.db)
  return ended
}

/** Lets a program in. The ones that were not used for longest end when the person has too many. @returns its stored id. */
export async function beginAuthorization(
  tx: Tx,
  given: Pick<Authorization, 'userId' | 'organizationId' | 'clientId' | 'clientName' | 'scope'>,
): Promise<string> {
  const { userId, organizationId, clientId, clientName, scope } = given
  await end(
    tx,
    sql`id in (select id from authorizations where user_id = ${userId} order by used_at desc offset ${authorizationsPerPerson - 1})`,
  )
  await end(
    tx,
    sql`user_id = ${userId} and client_id in (
      select client_id from authorizations join oauth_clients using (client_id)
      where user_id = ${userId} and client_id <> ${clientId}
      group by client_id order by max(authorizations.used_at) desc offset ${clientLimits.clientsPerPerson - 1})`,
  )
  const { id } = await getOne<{ id: string }>(
    tx,
    sql`
    insert into authorizations (id, user_id, organization_id, client_id, client_name, scope, expires_at)
    values (${newUuid()}, ${userId}, ${organizationId}, ${clientId}, ${clientName}, ${scope}, now() + ${lifetimeDays} * interval '1 day')
    returning id`,
  )
  return id
}

/** Ends one by its stored id, if it is still there: its program has asked for that, or a secret of it was used twice. */
export async function endAuthorization(db: Db, id: string): Promise<void> {
  await transaction(db, (tx) => end(tx, sql`id = ${id}`))
  await noticesSent(db)
}

/** Ends what a person has let in to an organization that they leave. */
export async function endAuthorizationsOf(tx: Tx, organizationId: string, userId: string): Promise<void> {
  await end(tx, sql`organization_id = ${organizationId} and user_id = ${userId}`)
}

/** Whoever locks both locks the authorization before its tokens. */
async function end(tx: Tx, which: ReturnType<typeof sql>): Promise<Authorization[]> {
  const ended = await findAll<Authorization>(
    tx,
    sql`select ${columns} from authorizations where ${which} order by id for update`,
  )
  if (ended.length === 0) return []
  const ids = ended.map(({ id }) => id)
  const tokens = await findAll<{ digest: string }>(
    tx,
    sql`
    delete from authorization_tokens where authorization_id = any(${ids}::uuid[]) and kind = 'access'
    returning encode(secret_sha256, 'hex') as digest`,
  )
  await change(tx, sql`delete from authorizations where id = any(${ids}::uuid[])`)
  for (const { digest } of tokens) publish(tx, accessTokenTopic, digest)
  return ended
}

/** What a program may do now, by the stored id of what let it in; null once that has ended. */
export async function findOpenScope(db: Db, id: string): Promise<ProgramScope | null> {
  const found = await findOne<Pick<Authorization, 'scope'>>(
    db,
    sql`select scope from authorizations where id = ${id} and ${isOpenAuthorization}`,
  )
  return found?.scope ?? null
}

/** Notes that an authorization is in use. */
export async function noteAuthorizationUse(db: Db, id: string): Promise<void> {
  await change(db, sql`update authorizations set used_at = now() where id = ${id}`)
}
