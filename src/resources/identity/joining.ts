/**
 * Creating organizations, people and memberships: by people who call, and by the operator, on the command line or on the
 * sign-in page. There, unknown names are created only on request, so that a typing error creates nothing; the very first
 * organization is created without asking.
 */
import { allow } from '#src/platform/access.ts'
import { findPerson } from '#src/platform/access/callers.ts'
import { isAtLeast, type Role } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  change,
  findAll,
  findOne,
  getOne,
  isSqlState,
  noticesSent,
  sql,
  transaction,
  type Db,
  type Tx,
} from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { isName } from '#src/platform/texts.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import { ensurePlan } from '#src/resources/llm/billing.ts'
import { addMembership, identityOf, setRole, type Identity } from './memberships.ts'
import type { Organization } from './organizations.ts'

/** Whether unknown names are created; if not, a sentence that says how to do that. */
export type NewNames = { make: true } | { make: false; how: string }

/** Who is to act for which organization. Without a role: the membership's current one, or owner for a new one. */
export type Joining = { user: string; organization: string; role: Role | null; newNames: NewNames }

const namesComparedMax = 10_000
const retrySeconds = 3_600
const uniqueViolation = '23505'

/**
 * Makes the user a member of the organization. A membership is raised to the requested role but never lowered: with a
 * lower role, the token grants less than the membership.
 * @returns the claims of a token for them.
 * @throws BerthError not_found for an unknown name that may not be created.
 */
export async function joinOrganization(db: Db, { user, organization, role, newNames }: Joining): Promise<Identity> {
  return transaction(db, async (tx) => {
    const org = await findOrMakeOrganization(tx, organization, newNames)
    const mayMake = newNames.make || org.isNew
    const held = await findOne<Pick<Row<'memberships', { role: Role }>, 'id' | 'userId' | 'role'>>(
      tx,
      sql`
      select m.id, m.user_id, m.role from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${org.id} and u.name = ${user} and m.deactivated_at is null for no key update of m`,
    )
    if (!held && !mayMake)
      throw unknownName(`${organization} has no member named ${user}`, user, await memberNames(tx, org.id), newNames)
    const asked = role ?? held?.role ?? 'owner'
    const userId = held?.userId ?? (await ensureUser(tx, user)).id
    if (!held) await addMembership(tx, { organizationId: org.id, userId, role: asked })
    else if (!isAtLeast(held.role, asked)) await setRole(tx, held.id, asked)
    const identity = await identityOf(tx, userId, org.id)
    const memberships = identity.memberships.map((one) =>
      one.organizationId === identity.organizationId ? { ...one, role: asked } : one,
    )
    return { ...identity, role: asked, memberships }
  })
}

/**
 * Creates an organization, of which the caller is the owner.
 * @throws BerthError forbidden for anybody but a person, and where the operator alone makes organizations; invalid_request for
 * the name; organization_name_taken; rate_limited when the person has made as many as they may.
 */
export async function createOrganization(call: Call, input: { name: string }): Promise<Organization> {
  const userId = findPerson(call.caller)
  if (userId === null)
    throw new BerthError('forbidden', 'Only a person makes an organization. Sign in, or use your own token.')
  const most = call.config.organizationsPerPerson
  if (most === 0)
    throw new BerthError('forbidden', 'Only the operator makes organizations here (BERTH_ORGANIZATIONS_PER_PERSON).')
  const name = readName(input.name)
  const made = await transaction(call.db, async (tx) => {
    await change(tx, sql`select 1 from users where id = ${userId} for no key update`) // one after another
    const { count } = await getOne<{ count: number }>(
      tx,
      sql`select count(*) from organizations where created_by = ${userId} and deactivated_at is null`,
    )
    if (count >= most)
      throw new BerthError(
        'rate_limited',
        `You have made ${count} organizations, and may make ${most} (BERTH_ORGANIZATIONS_PER_PERSON). Ask the operator for more.`,
        { retryAfterSeconds: retrySeconds },
      )
    const inserted = await findOne<Organization>(
      tx,
      sql`
      insert into organizations (id, name, created_by) values (${newUuid()}, ${name}, ${userId})
      on conflict (name) do nothing returning id, name, created_at`,
    )
    if (!inserted) throw nameTaken(name)
    await ensurePlan(tx, inserted.id)
    await addMembership(tx, { organizationId: inserted.id, userId, role: 'owner' })
    return inserted
  })
  await noticesSent(call.db)
  return made
}

/** Renames the caller's organization. @throws BerthError invalid_request, organization_name_taken. */
export async function updateOrganization(call: Call, input: { name?: string | null }): Promise<Organization> {
  const { organizationId: id } = allow(call.caller, 'organization:write')
  const name = input.name === undefined || input.name === null ? null : readName(input.name)
  try {
    return await getOne<Organization>(
      call.db,
      sql`update organizations set name = coalesce(${name}, name) where id = ${id} returning id, name, created_at`,
    )
  } catch (error) {
    throw isSqlState(error, uniqueViolation) ? nameTaken(name ?? '') : error
  }
}

function readName(given: string): string {
  const name = given.trim()
  if (!isName(name))
    throw new BerthError('invalid_request', `name must have 1 to ${limits.nameLength} characters.`, { field: 'name' })
  return name
}

function nameTaken(name: string): BerthError {
  return new BerthError(
    'organization_name_taken',
    `There is an organization named ${name} already. Choose another name.`,
    {
      field: 'name',
    },
  )
}

/** The organization with this name, created with its plan if that is allowed. @throws BerthError not_found. */
export async function findOrMakeOrganization(
  tx: Tx,
  name: string,
  newNames: NewNames,
): Promise<{ id: string; isNew: boolean }> {
  const found = await findOne<Pick<Row<'organizations'>, 'id'>>(
    tx,
    sql`select id from organizations where name = ${name}`,
  )
  if (found) return { ...found, isNew: false }
  const isFirst = (await findOne(tx, sql`select 1 from organizations limit 1`)) === undefined
  if (!newNames.make && !isFirst) throw await unknownOrganization(tx, name, newNames.how)
  const made = await getOne<Pick<Row<'organizations'>, 'id'>>(
    tx,
    sql`
    insert into organizations (id, name) values (${newUuid()}, ${name}) on conflict (name) do update set name = excluded.name returning id`,
  )
  await ensurePlan(tx, made.id)
  return { ...made, isNew: true }
}

/** The 404 for an unknown organization, with the name that was probably intended. */
export async function unknownOrganization(db: Db, name: string, how: string): Promise<BerthError> {
  const names = await findAll<Pick<Row<'organizations'>, 'name'>>(
    db,
    sql`select name from organizations order by name limit ${namesComparedMax}`,
  )
  return unknownName(
    `There is no organization named ${name}`,
    name,
    names.map((one) => one.name),
    { make: false, how },
  )
}

/** The user with this name, who need not be a member of any organization. @throws BerthError not_found. */
export async function findOrMakeUser(tx: Tx, name: string, newNames: NewNames): Promise<{ id: string }> {
  if (newNames.make) return ensureUser(tx, name)
  const found = await findOne<Pick<Row<'users'>, 'id'>>(tx, sql`select id from users where name = ${name}`)
  if (found) return found
  const names = await findAll<Pick<Row<'users'>, 'name'>>(
    tx,
    sql`select name from users order by name limit ${namesComparedMax}`,
  )
  throw unknownName(
    `There is no user named ${name}`,
    name,
    names.map((one) => one.name),
    newNames,
  )
}

async function ensureUser(tx: Tx, name: string): Promise<{ id: string }> {
  return getOne<Pick<Row<'users'>, 'id'>>(
    tx,
    sql`
    insert into users (id, name) values (${newUuid()}, ${name}) on conflict (name) do update set name = excluded.name returning id`,
  )
}

async function memberNames(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await findAll<Pick<Row<'users'>, 'name'>>(
    tx,
    sql`
    select u.name
    from memberships m
    join users u on u.id = m.user_id
    where m.organization_id = ${organizationId} and m.deactivated_at is null
    order by u.name limit ${namesComparedMax}`,
  )
  return rows.map(({ name }) => name)
}

function unknownName(sentence: string, name: string, names: readonly string[], newNames: NewNames): BerthError {
  const near = nearestKey(name, names)
  return new BerthError(
    'not_found',
    `${sentence}.${near === undefined ? '' : ` Did you mean ${near}?`}${newNames.make ? '' : ` ${newNames.how}`}`,
  )
}

const namesTriedMax = 1_000
const usualName = 'person'

/**
 * Makes a person, called by the first of these names that can be one. Whoever has that name already is somebody else: the new
 * person gets a number behind it.
 * @returns their stored id.
 */
export async function makePersonNamed(tx: Tx, names: readonly string[]): Promise<string> {
  const name = names.find((one) => isName(one) && one.length <= limits.nameLength / 2) ?? usualName
  for (let number = 1; number <= namesTriedMax; number++) {
    const made = await findOne<Pick<Row<'users'>, 'id'>>(
      tx,
      sql`
      insert into users (id, name) values (${newUuid()}, ${number === 1 ? name : `${name} ${number}`})
      on conflict (name) do nothing returning id`,
    )
    if (made) return made.id
  }
  throw new Error(`more than ${namesTriedMax} people are called ${name}`)
}

/** Stores the e-mail that somebody has been seen to have. */
export async function setEmail(tx: Tx, userId: string, email: string): Promise<void> {
  await change(tx, sql`update users set email = ${email} where id = ${userId} and email is distinct from ${email}`)
}
