/**
 * The members of an organization. All of them see each other; admins change roles and remove members, and only owners
 * may do that to owners. There is always an owner. A removed member's running work stops: see agents/member-work.ts.
 */
import { allow, allowAnywhere } from '#src/platform/access.ts'
import { isAtLeast, type Role } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { countRows, pageSql, readPage, type Page, type PageWindow } from '#src/platform/pages.ts'
import { findAll, findOne, getOne, noticesSent, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { hasText, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { endWorkOfMember } from '#src/resources/agents/member-work.ts'
import { endAuthorizationsOf } from './authorizations.ts'
import { endInvitationsOf } from './invitations.ts'
import { deactivateMembership, setRole } from './memberships.ts'

/** A membership and its person; ids are uuids. */
export type Member = Pick<
  Row<'memberships', { role: Role }>,
  'id' | 'organizationId' | 'userId' | 'role' | 'createdAt'
> & { userName: string; email: string | null }

/** Who makes a change: a person with their role in the organization, or the operator. */
type Actor = { userId: string; role: Role } | 'operator'

const columns = sql`m.id, m.organization_id, m.user_id, u.name as user_name, u.email, m.role, m.created_at from memberships m join users u on u.id = m.user_id`

/** Conditions of a list of members. */
export type MemberFilter = TextFilter & { roles?: readonly Role[] | null }

/** The organization's members, newest first. @throws BerthError invalid_request. */
export async function pageMembers(call: Call, window: PageWindow, filter?: MemberFilter | null): Promise<Page<Member>> {
  const scope = allow(call.caller, 'members:read')
  const roles = filter?.roles ?? null
  const chosen = sql`m.organization_id = ${scope.organizationId} and m.deactivated_at is null and (${roles}::text[] is null or m.role = any(${roles}))
    and ${hasText(filter ?? {}, sql`u.name`, sql`u.email`)}`
  return readPage(
    'membership',
    window,
    (reading) => {
      const { within, cut } = pageSql(sql`m.id`, reading)
      return findAll<Member>(call.db, sql`select ${columns} where ${chosen} and ${within} ${cut}`)
    },
    (reading) => {
      const { within } = pageSql(sql`m.id`, reading)
      return countRows(call.db, sql`memberships m join users u on u.id = m.user_id where ${chosen} and ${within}`)
    },
  )
}

/** The members of these stored ids, of the caller's organizations. */
export async function findMembers(call: Call, ids: readonly string[]): Promise<Member[]> {
  const { organizationIds } = allowAnywhere(call.caller, 'members:read')
  return findAll<Member>(
    call.db,
    sql`select ${columns} where m.id = any(${ids}::uuid[]) and m.organization_id = any(${organizationIds}::uuid[]) and m.deactivated_at is null`,
  )
}

/** All members, ordered by name, for the operator's command. */
export async function listMembers(db: Db, organizationId: string): Promise<Member[]> {
  return findAll<Member>(
    db,
    sql`select ${columns} where m.organization_id = ${organizationId} and m.deactivated_at is null order by u.name`,
  )
}

/**
 * Removes a person from the caller's organization: their tokens are refused within a second, and their running work
 * stops.
 * @throws BerthError not_found; not_permitted_for_role for an owner when the caller is not one; last_owner.
 */
export async function removeMember(call: Call, publicId: string): Promise<Member> {
  const { organizationId, userId, role } = allow(call.caller, 'members:write')
  return removeMembership(call, organizationId, decodeId('membership', publicId), actorOf(userId, role))
}

/** The same without a caller, for the operator's command. */
export async function removeMembership(
  services: Pick<Background, 'db' | 'jobs' | 'config'>,
  organizationId: string,
  id: string | undefined,
  actor: Actor = 'operator',
): Promise<Member> {
  return transaction(services.db, async (tx) => {
    const member = await lockMember(tx, organizationId, id)
    checkOwners(actor, member, null)
    if (member.role === 'owner') await checkLastOwner(tx, member)
    await endWorkOfMember(services, tx, organizationId, member.userId)
    await endInvitationsOf(tx, organizationId, member.userId)
    await endAuthorizationsOf(tx, organizationId, member.userId)
    await deactivateMembership(tx, member.id)
    return member
  })
}

/**
 * Changes a member's role. It also applies to the tokens that they already have, up to the role in those.
 * @throws BerthError not_found; not_permitted_for_role for an owner or a new owner when the caller is not one, and for
 * raising one's own role; last_owner.
 */
export async function changeRole(call: Call, publicId: string, role: Role): Promise<Member> {
  const scope = allow(call.caller, 'members:write')
  return changeMembershipRole(
    call.db,
    scope.organizationId,
    decodeId('membership', publicId),
    role,
    actorOf(scope.userId, scope.role),
  )
}

/** The same without a caller, for the operator's command. */
export async function changeMembershipRole(
  db: Db,
  organizationId: string,
  id: string | undefined,
  role: Role,
  actor: Actor = 'operator',
): Promise<Member> {
  const changed = await transaction(db, async (tx) => {
    const member = await lockMember(tx, organizationId, id)
    if (member.role === role) return member
    checkOwners(actor, member, role)
    if (member.role === 'owner') await checkLastOwner(tx, member)
    await setRole(tx, member.id, role)
    return { ...member, role }
  })
  await noticesSent(db)
  return changed
}

function actorOf(userId: string | null, role: Role | null): Actor {
  if (userId === null || role === null) throw new Error('a key was authorized for members')
  return { userId, role }
}

/**
 * The member, locked until the transaction ends together with every owner of the organization, in the order of their
 * ids, so that the check for another owner stays true until then.
 */
async function lockMember(tx: Tx, organizationId: string, id: string | undefined): Promise<Member> {
  const held = id
    ? await findAll<Pick<Row<'memberships'>, 'id'>>(
        tx,
        sql`
    select id from memberships where organization_id = ${organizationId} and deactivated_at is null and (role = 'owner' or id = ${id}) order by id for update`,
      )
    : []
  if (!held.some((one) => one.id === id)) throw notFound('member')
  return getOne<Member>(tx, sql`select ${columns} where m.id = ${id}`)
}

function checkOwners(actor: Actor, member: Member, next: Role | null): void {
  if (actor === 'operator') return
  if ((member.role === 'owner' || next === 'owner') && actor.role !== 'owner')
    throw new BerthError(
      'not_permitted_for_role',
      'Only an owner may appoint, change or remove an owner. Ask one of them.',
    )
  if (next && actor.userId === member.userId && !isAtLeast(member.role, next))
    throw new BerthError('not_permitted_for_role', 'You cannot raise your own role. Ask an owner.')
}

async function checkLastOwner(tx: Tx, { id, organizationId, userName }: Member): Promise<void> {
  const other = await findOne(
    tx,
    sql`select 1 from memberships where organization_id = ${organizationId} and deactivated_at is null and role = 'owner' and id <> ${id} limit 1`,
  )
  if (!other)
    throw new BerthError(
      'last_owner',
      `${userName} is the last owner of the organization. Make somebody else an owner first.`,
    )
}
