/** Who ordered a build, and what they may do by now: a build ends long after it was ordered. */
import { isAtLeast, lesserRole, permissions, type Role } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Build } from './rows.ts'

/** Who ordered a build, as its row has it. */
export type Submitter = Pick<Build, 'organizationId' | 'createdBy' | 'submittedRole'>

/** The submitter's current role, but never more than when they submitted the build; null when they left. A key is a member. */
export async function roleOfSubmitter(
  db: Db,
  { organizationId, createdBy, submittedRole }: Submitter,
): Promise<Role | null> {
  if (createdBy === null) return 'member'
  const now = await findOne<Pick<Row<'memberships', { role: Role }>, 'role'>>(
    db,
    sql`select role from memberships where organization_id = ${organizationId} and user_id = ${createdBy} and deactivated_at is null`,
  )
  return now ? lesserRole(now.role, submittedRole ?? now.role) : null
}

/**
 * Checks that whoever ordered a build may deploy functions now.
 * @throws BerthError not_permitted_for_role, forbidden.
 */
export async function checkDeployer(db: Db, build: Submitter & Pick<Build, 'keyId'>): Promise<void> {
  const [leastRole, keyScope] = permissions['functions:write']
  const { organizationId, createdBy, keyId } = build
  const organization = await findOne(
    db,
    sql`select 1 from organizations where id = ${organizationId} and deactivated_at is null`,
  )
  if (!organization) throw refusal('The organization of this build is deactivated.')
  if (createdBy !== null) {
    const role = await roleOfSubmitter(db, build)
    if (role === null) throw refusal('Whoever ordered this build has left the organization. Ask a member to order it.')
    if (isAtLeast(role, leastRole)) return
    throw new BerthError(
      'not_permitted_for_role',
      `Nothing was deployed. Whoever ordered this build is a ${role} by now, and to deploy a function requires ${leastRole} or higher. Ask somebody with that role to order it.`,
    )
  }
  const key = await findOne(
    db,
    sql`
    select 1 from api_keys where key_id = ${keyId} and organization_id = ${organizationId} and revoked_at is null
      and coalesce(expires_at > now(), true) and ${keyScope} = any(scopes)`,
  )
  if (!key)
    throw refusal(
      'The key with which this build was ordered is revoked, has expired, or may not deploy. Order it with another key.',
    )
}

function refusal(sentence: string): BerthError {
  return new BerthError('forbidden', `Nothing was deployed. ${sentence}`)
}
