/** Memberships of users in organizations. */
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { BerthError } from '#src/platform/errors.ts'
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
import { publish, type Pubsub } from '#src/platform/pubsub.ts'
import type { Token } from '#src/platform/tokens.ts'
import type { Caller } from '#src/platform/access.ts'
import { lesserRole, type Role } from '#src/platform/access/permissions.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** What a token of the built-in issuer says about a person; public ids. */
export type Identity = {
  userId: string
  email: string | null
  organizationId: string
  role: Role
  memberships: { membershipId: string; organizationId: string; role: Role }[]
}

const membershipsInToken = 100
const rememberedMax = 100_000
const rememberedMs = 5_000

/** The claims about a user who acts for an organization. @throws Error when they are not a member. */
export async function identityOf(db: Db, userId: string, organizationId: string): Promise<Identity> {
  const user = await getOne<Pick<Row<'users'>, 'email'>>(db, sql`select email from users where id = ${userId}`)
  const memberships = await findAll<Pick<Row<'memberships', { role: Role }>, 'id' | 'organizationId' | 'role'>>(
    db,
    sql`
    select id, organization_id, role from memberships where user_id = ${userId} and deactivated_at is null
    order by (organization_id = ${organizationId}) desc, created_at limit ${membershipsInToken}`,
  )
  const active = memberships[0]
  if (!active || active.organizationId !== organizationId)
    throw new Error('the user does not belong to the organization')
  return {
    userId: encodeId('user', userId),
    email: user.email,
    organizationId: encodeId('organization', organizationId),
    role: active.role,
    memberships: memberships.map((one) => ({
      membershipId: encodeId('membership', one.id),
      organizationId: encodeId('organization', one.organizationId),
      role: one.role,
    })),
  }
}

/**
 * The caller that a member of an organization is now, for what Berth does on their behalf; undefined when they have left,
 * or the organization is deactivated.
 * @param purpose what stands in the place of a token's id.
 */
export async function findMember(
  db: Db,
  { organizationId, userId }: { organizationId: string; userId: string },
  purpose: string,
): Promise<Extract<Caller, { kind: 'person' }> | undefined> {
  const member = await findOne<Pick<Row<'memberships', { role: Role }>, 'role'>>(
    db,
    sql`select m.role from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = ${userId} and m.organization_id = ${organizationId} and m.deactivated_at is null and o.deactivated_at is null`,
  )
  if (!member) return undefined
  const memberships = new Map([[organizationId, member.role]])
  const { role } = member
  return {
    kind: 'person',
    userId,
    organizationId,
    role,
    memberships,
    vmId: null,
    tokenId: purpose,
    expiresAtSeconds: 0,
  }
}

/**
 * The role that a person has in an organization now, for what is done on their behalf; null when they have left. The
 * membership is locked, so that whoever leaves meanwhile waits, and then also ends what this transaction begins.
 */
export async function lockMember(
  tx: Tx,
  { organizationId, userId }: { organizationId: string; userId: string },
): Promise<{ role: Role | null; isDeactivated: boolean }> {
  return getOne(
    tx,
    sql`
    select deactivated_at is not null as is_deactivated, (
      select role from memberships where organization_id = o.id and user_id = ${userId} and deactivated_at is null for share) as role
    from organizations o where id = ${organizationId}`,
  )
}

/** The topic of notices about what a person is a member of; the id is the person's. */
export const personTopic = 'person'

/** The organizations that a person belongs to now, with their role in each. */
export async function rolesOfPerson(db: Db, userId: string): Promise<ReadonlyMap<string, Role>> {
  const rows = await findAll<Pick<Row<'memberships', { role: Role }>, 'organizationId' | 'role'>>(
    db,
    sql`
    select m.organization_id, m.role from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = ${userId} and m.deactivated_at is null and o.deactivated_at is null
    order by m.created_at, m.id`,
  )
  return new Map(rows.map(({ organizationId, role }) => [organizationId, role]))
}

/** Adds a member, unless they already are one. */
export async function addMembership(
  tx: Tx,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: Role },
): Promise<void> {
  publish(tx, personTopic, userId)
  await change(
    tx,
    sql`
    insert into memberships (id, organization_id, user_id, role) values (${newUuid()}, ${organizationId}, ${userId}, ${role})
    on conflict (organization_id, user_id) where deactivated_at is null do nothing`,
  )
}

/** Changes a member's role. It also applies to the tokens that they already have, up to the role in those. */
export async function setRole(tx: Tx, membershipId: string, role: Role): Promise<void> {
  const changed = await findOne<Pick<Row<'memberships'>, 'userId'>>(
    tx,
    sql`update memberships set role = ${role} where id = ${membershipId} returning user_id`,
  )
  notifyOf(tx, membershipId, changed?.userId)
}

/** Ends a membership: from now on every token that names it is refused everywhere. */
export async function deactivateMembership(db: Db, membershipId: string): Promise<void> {
  await transaction(db, async (tx) => {
    const changed = await findOne<Pick<Row<'memberships'>, 'userId'>>(
      tx,
      sql`update memberships set deactivated_at = now() where id = ${membershipId} and deactivated_at is null returning user_id`,
    )
    notifyOf(tx, membershipId, changed?.userId)
  })
  await noticesSent(db)
}

/** Whoever remembers the membership, or what its person is a member of, looks again. */
function notifyOf(tx: Tx, membershipId: string, userId: string | undefined): void {
  publish(tx, 'membership', membershipId)
  if (userId !== undefined) publish(tx, personTopic, userId)
}

/** Checks memberships and their roles without asking the database on every request. */
export type MembershipChecker = {
  /**
   * @returns the role in each organization that the token names: the one in the table, but never more than the token's.
   * @throws BerthError authentication_invalid when one of the memberships is not active, or does not match the token.
   */
  check(token: MembersToken): ReadonlyMap<string, Role> | Promise<ReadonlyMap<string, Role>>
}

/** The claims of a token about memberships. */
type MembersToken = Pick<Token, 'userId' | 'memberships' | 'issuedAtSeconds'>

type Known = { userId: string; organizationId: string; role: Role } | null // null: not active

/** Makes the process's checker. A result is cached for 5 s, or until a notice of a change. */
export function createMembershipChecker(db: Db, pubsub: Pick<Pubsub, 'connected' | 'listen'>): MembershipChecker {
  const remembered = createNoticedCache<Known>(pubsub, {
    topic: 'membership',
    entriesMax: rememberedMax,
    rememberedMs,
  })
  // A cached result from before the token was signed may be outdated: a role that was just raised must apply
  // immediately.
  const fresh =
    (issuedAtSeconds: number) =>
    (id: string): Known | undefined => {
      const entry = remembered.find(id)
      return entry && issuedAtSeconds < Math.floor(entry.readAtMs / 1000) ? entry.value : undefined
    }
  const rolesOf = (
    { userId, memberships }: MembersToken,
    find: (id: string) => Known | undefined,
  ): ReadonlyMap<string, Role> | undefined => {
    const found = new Map<string, Role>()
    let complete = true
    for (const claimed of memberships) {
      const membership = find(claimed.membershipId)
      if (
        membership === null ||
        (membership && (membership.userId !== userId || membership.organizationId !== claimed.organizationId))
      )
        throw inactive()
      if (membership) found.set(claimed.organizationId, lesserRole(membership.role, claimed.role))
      else complete = false
    }
    return complete ? found : undefined
  }
  const read = async (token: MembersToken): Promise<ReadonlyMap<string, Role>> => {
    const ids = token.memberships.map(({ membershipId }) => membershipId)
    const found = await remembered.readAll(async () => {
      const rows = await findAll<Pick<Row<'memberships', { role: Role }>, 'id' | 'userId' | 'organizationId' | 'role'>>(
        db,
        sql`
        select m.id, m.user_id, m.organization_id, m.role from memberships m join organizations o on o.id = m.organization_id
        where m.id = any(${ids}) and m.deactivated_at is null and o.deactivated_at is null`,
      )
      const active = new Map(rows.map((row) => [row.id, row]))
      return new Map(ids.map((id) => [id, active.get(id) ?? null]))
    })
    return rolesOf(token, (id) => found.get(id) ?? null) ?? new Map()
  }
  return { check: (token) => rolesOf(token, fresh(token.issuedAtSeconds)) ?? read(token) }
}

function inactive(): BerthError {
  return new BerthError(
    'authentication_invalid',
    'A membership in your token is no longer active. Get a new token and try once more.',
  )
}

/** The organization with this name. */
export async function findOrganizationNamed(db: Db, name: string): Promise<{ id: string } | undefined> {
  return findOne(db, sql`select id from organizations where name = ${name}`)
}
