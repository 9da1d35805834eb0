/** What is put into the VM of a session: its row, and its queries. */
import { ownedByCaller, type Reach, type Scope } from '#src/platform/access.ts'
import { isParent, type ParentId, rowsOf } from '#src/platform/nouns.ts'
import { change, findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Sealer } from '#src/platform/secrets.ts'

/** What of a repository is checked out; null in a row: its default branch. Keys are spelled as on the wire. */
export type Checkout = { type: 'branch'; name: string } | { type: 'commit'; sha: string }

/** A resource as it is stored; times are RFC 3339 text, ids are uuids. The kinds are Anthropic's. */
export type SessionResource = Row<
  'session_resources',
  { type: 'file' | 'github_repository'; checkout: Checkout | null }
>

/** Resources as they are found. */
export const resourceRows = rowsOf<SessionResource>('sessionResource', 'session_resources', 'resource')

/** The sessions of a caller, as a condition on their resources. */
export function ofTheirSessions(scope: Scope | Reach): ReturnType<typeof sql<boolean>> {
  return sql<boolean>`session_id in (select id from sessions where ${ownedByCaller(scope)})`
}

/** The resource of the caller's. @param sessionId when given, one of another session is not found @throws BerthError not_found. */
export function readResource(db: Db, scope: Scope, sessionId: ParentId, id: string): Promise<SessionResource> {
  return resourceRows.read(
    db,
    id,
    sql`${isParent('session', sessionId, sql`session_id`)} and ${ofTheirSessions(scope)}`,
  )
}

/** The resources of a session, in the order in which they were added. */
export async function readResourcesOf(db: Db, sessionId: string): Promise<SessionResource[]> {
  return findAll<SessionResource>(db, sql`select * from session_resources where session_id = ${sessionId} order by id`)
}

/** Seals the token of a resource. */
export function sealToken(sealer: Sealer, id: string, token: string): Buffer {
  return sealer.seal(token, placeOf(id))
}

/** The token of a resource; null without one. */
export function openToken(
  sealer: Sealer,
  { id, sealedToken }: Pick<SessionResource, 'id' | 'sealedToken'>,
): string | null {
  return sealedToken && sealer.open(sealedToken, placeOf(id))
}

/** The tokens of a session's resources, which are masked in it. */
export async function readTokens({ db, sealer }: { db: Db; sealer: Sealer }, sessionId: string): Promise<string[]> {
  const rows = await findAll<Pick<SessionResource, 'id' | 'sealedToken'>>(
    db,
    sql`select id, sealed_token from session_resources where session_id = ${sessionId} and sealed_token is not null order by id`,
  )
  return rows.flatMap((row) => openToken(sealer, row) ?? [])
}

/** Removes the tokens of a session that has ended. */
export async function forgetTokens(tx: Tx, sessionId: string): Promise<void> {
  await change(
    tx,
    sql`update session_resources set sealed_token = null, updated_at = now() where session_id = ${sessionId} and sealed_token is not null`,
  )
}

function placeOf(id: string): string {
  return `session_resources.sealed_token:${id}`
}
