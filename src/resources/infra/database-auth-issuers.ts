/** Issuers whose tokens let clients in to one database, besides those of the platform: those of the users of an application. */
import { readServerUrl } from '#src/drivers/outbound-fetch.ts'
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { lockDatabase, notDeleted } from './databases/rows.ts'

/** An issuer as it is stored. */
export type DatabaseAuthIssuer = Pick<
  Row<'database_auth_issuers'>,
  'databaseId' | 'issuer' | 'jwksUri' | 'audience' | 'createdAt'
>

/** A new one: what its tokens say of themselves, and where its keys are. */
export type DatabaseAuthIssuerOrder = { databaseId: string; issuer: string; jwksUri: string; audience: string }

/** Adds an issuer to a database. @throws BerthError not_found, invalid_request */
export async function createDatabaseAuthIssuer(
  call: Call,
  { databaseId, issuer, jwksUri, audience }: DatabaseAuthIssuerOrder,
): Promise<DatabaseAuthIssuer> {
  const scope = allow(call.caller, 'databases:write')
  readText(issuer, 'issuer')
  readText(audience, 'audience')
  const { text } = readServerUrl(call.config, jwksUri, 'jwksUri')
  await checkStorage(call, scope.organizationId, 'definitions')
  return transaction(call.db, async (tx) => {
    const { id } = await lockDatabase(tx, scope, databaseId)
    const known = await listAuthIssuers(tx, id)
    if (known.some((one) => one.issuer === issuer))
      throw new BerthError('invalid_request', 'The database has this issuer already: delete it first.', {
        field: 'issuer',
      })
    if (known.length >= limits.databaseAuthIssuersMax)
      throw new BerthError(
        'invalid_request',
        `A database has up to ${limits.databaseAuthIssuersMax} issuers: delete one.`,
      )
    const made = await getOne<DatabaseAuthIssuer>(
      tx,
      sql`insert into database_auth_issuers (database_id, issuer, jwks_uri, audience) values (${id}, ${issuer}, ${text}, ${audience}) returning *`,
    )
    publish(tx, 'database', id)
    return made
  })
}

/** Takes an issuer from a database: its tokens let nobody in any more. Sessions that are open stay. @throws BerthError not_found */
export async function deleteDatabaseAuthIssuer(
  call: Call,
  { databaseId, issuer }: Pick<DatabaseAuthIssuerOrder, 'databaseId' | 'issuer'>,
): Promise<DatabaseAuthIssuer> {
  const scope = allow(call.caller, 'databases:write')
  return transaction(call.db, async (tx) => {
    const { id } = await lockDatabase(tx, scope, databaseId)
    const deleted = await findOne<DatabaseAuthIssuer>(
      tx,
      sql`select * from database_auth_issuers where database_id = ${id} and issuer = ${issuer}`,
    )
    if (!deleted) throw notFound('issuer')
    await change(tx, sql`delete from database_auth_issuers where database_id = ${id} and issuer = ${issuer}`)
    publish(tx, 'database', id)
    return deleted
  })
}

/** The issuers of a database, the oldest first; for the edge. */
export async function listAuthIssuers(db: Db, databaseId: string): Promise<DatabaseAuthIssuer[]> {
  return findAll<DatabaseAuthIssuer>(
    db,
    sql`select * from database_auth_issuers where database_id = ${databaseId} order by created_at, issuer`,
  )
}

/** The same of each of these databases of the caller's organizations. */
export async function listAuthIssuersOfEach(
  call: Call,
  databaseIds: readonly string[],
): Promise<{ databaseId: string; issuers: DatabaseAuthIssuer[] }[]> {
  const scope = allowAnywhere(call.caller, 'databases:read')
  const found = await findAll<DatabaseAuthIssuer>(
    call.db,
    sql`
    select * from database_auth_issuers where database_id in (
      select id from databases where id = any(${databaseIds}::uuid[]) and ${owned(scope)} and ${notDeleted})
    order by created_at, issuer`,
  )
  return databaseIds.map((databaseId) => ({
    databaseId,
    issuers: found.filter((one) => one.databaseId === databaseId),
  }))
}

function readText(given: string, field: string): void {
  if (given !== '' && given.length <= limits.serverUrlLength && !given.includes('\0')) return
  throw new BerthError('invalid_request', `${field} must be text of 1 to ${limits.serverUrlLength} characters.`, {
    field,
  })
}
