/** Organizations and people, as members of the same organization see them. */
import { allowIn } from '#src/platform/access.ts'
import { organizationsOf } from '#src/platform/access/organizations.ts'
import { decodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import type { Page, PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'

/** An organization, which owns everything else. */
export type Organization = Pick<Row<'organizations'>, 'id' | 'name' | 'createdAt'>

/** A person. */
export type User = Pick<Row<'users'>, 'id' | 'name' | 'createdAt'>

const shownColumns = sql`id, name, created_at`
const organizationRows = rowsOf<Organization>('organization', 'organizations', 'organization', shownColumns)

/**
 * The organization of this id.
 * @param columns the columns to read besides the id; if there are none nothing is read, because a member's organization
 * certainly exists.
 * @throws BerthError forbidden when the caller does not belong to it.
 */
export async function getOrganization(
  call: Call,
  publicId: string,
  columns: readonly string[] = ['name', 'created_at'],
): Promise<Organization> {
  const { organizationId: id } = allowIn(call.caller, 'account:read', decodeId('organization', publicId))
  if (columns.length === 0) return { id } as Organization // nothing else was requested
  return getOne(call.db, sql`select ${shownColumns} from organizations where id = ${id}`)
}

/** The organizations of these stored ids that the caller belongs to. */
export async function findOrganizations(call: Call, ids: readonly string[]): Promise<Organization[]> {
  const known = new Set(organizationsOf(call.caller))
  const readable = ids.filter((id) => known.has(id))
  return organizationRows.find(call.db, readable, sql`true`)
}

/** The organizations that the caller belongs to, newest first. @throws BerthError invalid_request. */
export async function pageOrganizations(call: Call, window: PageWindow): Promise<Page<Organization>> {
  return organizationRows.page(call.db, window, sql`id = any(${organizationsOf(call.caller)}::uuid[])`)
}

/**
 * The people with these stored ids whom the caller may see: themselves, and current and former members of their
 * organizations.
 */
export async function findUsers(call: Call, ids: readonly string[]): Promise<User[]> {
  const organizationIds = organizationsOf(call.caller)
  const ownId = call.caller.kind === 'person' ? call.caller.userId : null
  return findAll(
    call.db,
    sql`
    select ${shownColumns} from users where id = any(${ids}::uuid[])
      and (id = ${ownId}::uuid or exists (select from memberships where user_id = users.id and organization_id = any(${organizationIds}::uuid[])))`,
  )
}
