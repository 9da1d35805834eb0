/**
 * Databases that are linked to a function: its programs log in with a password of their own, which works from its VMs only. It
 * is sealed, and changes whenever the credentials of the database do.
 */
import { allowAnywhere, owned, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { randomToken } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import type { PagesOf, PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import type { Call } from '#src/platform/services.ts'
import type { LinkedDatabase } from '#src/resources/infra/functions/environments.ts'
import { lockFunction } from '#src/resources/infra/functions/rows.ts'
import { databaseRows, notDeleted, type Database } from './rows.ts'
import { addDatabaseEvent } from './states.ts'

/** The columns of a link: all of them are null without one. */
export type DatabaseLink = Pick<Database, 'functionId' | 'linkVerifier' | 'sealedLink'>

const passwordBytes = 32
const noLink: DatabaseLink = { functionId: null, linkVerifier: null, sealedLink: null }

/** A new link of this database, with a new password. @param functionId stored; null: none */
export async function makeLink(sealer: Sealer, databaseId: string, functionId: string | null): Promise<DatabaseLink> {
  if (functionId === null) return noLink
  const password = randomToken(passwordBytes)
  return {
    functionId,
    linkVerifier: await makeVerifier(password),
    sealedLink: sealer.seal(password, placeOf(databaseId)),
  }
}

/** The assignments that store a link. */
export function linkSet({ functionId, linkVerifier, sealedLink }: DatabaseLink) {
  return sql`function_id = ${functionId}, link_verifier = ${linkVerifier}, sealed_link = ${sealedLink}`
}

/**
 * The stored id of the function to which somebody links a database. It is locked until the transaction ends.
 * @throws BerthError invalid_request, also for a function of another organization.
 */
export async function readLinkTarget(tx: Tx, scope: Scope, publicId: string): Promise<string> {
  const field = 'function_id'
  const id = await lockFunction(tx, scope, publicId).then(
    (one) => one.id,
    (error: unknown) => {
      if (!(error instanceof BerthError) || error.code !== 'not_found') throw error
      throw new BerthError(
        'invalid_request',
        'function_id names no function of yours. Name one of them, or leave it out.',
        {
          field,
        },
      )
    },
  )
  const { linked } = await getOne<{ linked: number }>(
    tx,
    sql`select count(*) as linked from databases where function_id = ${id}`,
  )
  if (linked < functionLimits.linkedDatabasesMax) return id
  throw new BerthError(
    'invalid_request',
    `${linked} databases are linked to this function, which is the limit. Unlink one of them first.`,
    { field },
  )
}

/** The databases of a function that take connections, the oldest first, with the passwords of their links. */
export async function findLinkedDatabases(db: Db, sealer: Sealer, functionId: string): Promise<LinkedDatabase[]> {
  const rows = await findAll<Database>(
    db,
    sql`
    select * from databases where function_id = ${functionId} and folder_id is not null and sealed_link is not null
    order by id limit ${functionLimits.linkedDatabasesMax}`,
  )
  return rows.flatMap(({ id, name, pgDatabase, pgUser, sealedLink }) =>
    sealedLink ? [{ name, pgDatabase, pgUser, password: sealer.open(sealedLink, placeOf(id)) }] : [],
  )
}

/** Unlinks the databases of a function that is deleted. */
export async function unlinkDatabasesOfFunction(tx: Tx, functionId: string): Promise<void> {
  const unlinked = await findAll<Database>(
    tx,
    sql`
    update databases set ${linkSet(noLink)}, event_position = event_position + 1, updated_at = now() where id in (
      select id from databases where function_id = ${functionId} order by id for no key update)
    returning *`,
  )
  for (const database of unlinked) await addDatabaseEvent(tx, database)
}

/** The same page of the databases that are linked to each of these functions, newest first. @throws BerthError invalid_request. */
export async function pageLinkedDatabasesOfEach(
  call: Call,
  functionIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<Database>> {
  const scope = allowAnywhere(call.caller, 'databases:read')
  return databaseRows.pageOfEach(call.db, window, {
    parents: sql`select id from functions where id = any(${functionIds}::uuid[]) and ${owned(scope)}`,
    parentName: 'function',
    chosen: sql`function_id = parent.id and ${notDeleted}`,
  })
}

function placeOf(databaseId: string): string {
  return `databases.sealed_link:${databaseId}`
}
