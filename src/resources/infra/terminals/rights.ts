/**
 * Who asked for a ticket, for a terminal or a tunnel: kept with it, without any secret, so that it can be checked what they may do
 * when the ticket is used, and for as long as what it opened stays open.
 */
import { missingToken, type Caller } from '#src/platform/access.ts'
import { lesserRole, type Role } from '#src/platform/access/permissions.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { findOpenScope } from '#src/resources/identity/authorizations.ts'
import { isOpen } from '#src/resources/identity/browser-sessions.ts'
import { findMember } from '#src/resources/identity/memberships.ts'

/**
 * The caller as they were. `role`: the highest that they may have. `isMember`: whether that came of a membership, and not of a
 * token alone. Ids are stored uuids.
 */
export type Rights =
  | { kind: 'key'; keyId: string; organizationId: string }
  | {
      kind: 'person'
      userId: string
      organizationId: string
      role: Role
      isMember: boolean
      vmId: string | null
      browserSessionId: string | null
      authorizationId?: string | null // absent in a ticket of an older Berth
      expiresAtSeconds: number
    }

/** What is kept of a caller who was allowed something. @throws BerthError 401 for nobody. */
export function rightsOf(caller: Caller): Rights {
  if (caller.kind === 'key') return { kind: 'key', keyId: caller.keyId, organizationId: caller.organizationId }
  if (caller.kind !== 'person' || caller.organizationId === null || caller.role === null) throw missingToken()
  const { userId, organizationId, role, vmId, memberships, browserSessionId = null, expiresAtSeconds } = caller
  const authorizationId = caller.program?.authorizationId ?? null
  const isMember = memberships.has(organizationId)
  const ends = { browserSessionId, authorizationId, expiresAtSeconds }
  return { kind: 'person', userId, organizationId, role, isMember, vmId, ...ends }
}

/** @throws BerthError forbidden for a ticket of a browser's session that another page than ours brings. */
export function checkPage(rights: Rights, isFromOurPage: boolean): void {
  if (rights.kind === 'person' && rights.browserSessionId !== null && !isFromOurPage)
    throw new BerthError('forbidden', 'This ticket is of a session in a browser, and holds for Berth’s own pages only.')
}

/** Who that is now. @throws BerthError 401 when they may do nothing any more. */
export async function callerNow(db: Db, rights: Rights): Promise<Caller> {
  return rights.kind === 'key' ? keyNow(db, rights.keyId) : personNow(db, rights)
}

type KeyRow = Pick<Row<'api_keys'>, 'keyId' | 'organizationId' | 'scopes'>

async function keyNow(db: Db, keyId: string): Promise<Caller> {
  const key = await findOne<KeyRow>(
    db,
    sql`select k.key_id, k.organization_id, k.scopes from api_keys k join organizations o on o.id = k.organization_id
    where k.key_id = ${keyId} and k.revoked_at is null and o.deactivated_at is null and (k.expires_at is null or k.expires_at > now())`,
  )
  if (!key) throw over('The key with which this ticket was made is no longer valid. Use another one.')
  return { kind: 'key', keyId: key.keyId, organizationId: key.organizationId, scopes: key.scopes }
}

async function personNow(db: Db, rights: Extract<Rights, { kind: 'person' }>): Promise<Caller> {
  const { userId, organizationId, vmId, browserSessionId, authorizationId = null, expiresAtSeconds } = rights
  // A program renews its token every hour: what lets it in says how long that goes on.
  const hasExpired = authorizationId === null && expiresAtSeconds * 1000 <= nowMs()
  if (hasExpired) throw over('Your token has expired. Get a new one, and a new ticket.')
  if (browserSessionId !== null && !(await isSessionOpen(db, browserSessionId)))
    throw over('Your session in this browser has ended. Sign in again.')
  if (authorizationId !== null && (await findOpenScope(db, authorizationId)) === null)
    throw over('The program that made this ticket may act for you no more. Let it in again.')
  const member = await findMember(db, { organizationId, userId }, 'terminal')
  if (!member?.role && rights.isMember) throw over('You are no longer a member of this organization.')
  const role = lesserRole(rights.role, member?.role ?? rights.role)
  const memberships = new Map([[organizationId, role]])
  return { kind: 'person', userId, organizationId, role, memberships, vmId, tokenId: 'terminal', expiresAtSeconds }
}

async function isSessionOpen(db: Db, id: string): Promise<boolean> {
  return (await findOne(db, sql`select id from browser_sessions where id = ${id} and ${isOpen}`)) !== undefined
}

function over(sentence: string): BerthError {
  return new BerthError('unauthorized', sentence)
}
