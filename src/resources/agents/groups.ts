/**
 * Groups: two to eight sessions that talk with their user and with each other. They belong to people. Create, read,
 * update, delete; what is said in them is in groups/messages.ts, the runs of their members in groups/runs.ts.
 */
import { allowAnywhere, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { readDescription, readName } from '#src/platform/shapes/fields.ts'
import { addGroupEvent } from './groups/events.ts'
import { handlesOf } from './groups/handles.ts'
import { groupLimits } from './groups/limits.ts'
import {
  checkChange,
  findMembers,
  groupRows,
  groupTopic,
  reachOfChange,
  readGroup,
  type Group,
  type GroupMember,
} from './groups/rows.ts'
import { sessionOver, type Session } from './sessions/rows.ts'
import { deleteTasks } from './tasks/rows.ts'

/** The input of a creation; ids are public. */
export type GroupInput = {
  organizationId?: string | null
  name?: string | null
  description?: string | null
  memberIds: readonly string[]
}

/** Creates a group of sessions. @throws BerthError forbidden, invalid_request, member_not_computer_session, not_found, session_archived, rate_limited. */
export async function createGroup(call: Call, input: GroupInput): Promise<Group> {
  const scope = allowInGiven(call.caller, 'groups:write', input.organizationId)
  const given = input.name === undefined || input.name === null ? null : readName(input.name)
  const description = readDescription(input.description)
  const memberIds = readMemberIds(input.memberIds)
  return transaction(call.db, async (tx) => {
    const members = await lockMembers(tx, scope, memberIds)
    await checkCount(tx, scope.organizationId, { table: 'groups', most: groupLimits.groupsMax })
    const handles = handlesOf(members.map(({ agentDefinition }) => agentDefinition.name))
    const { id } = await getOne<Group>(
      tx,
      sql`
      insert into groups (id, organization_id, owner_user_id, name, description)
      values (${newUuid()}, ${scope.organizationId}, ${scope.userId}, ${given ?? handles.join(', ').slice(0, limits.nameLength)}, ${description}) returning *`,
    )
    await change(
      tx,
      sql`
      insert into group_members (group_id, place, session_id, agent_id, builtin_agent, handle, display_name)
      select ${id}, place, member.session_id, member.agent_id, member.builtin_agent, member.handle, member.display_name
      from unnest(${members.map((one) => one.id)}::uuid[], ${members.map((one) => one.agentId)}::uuid[],
        ${members.map((one) => one.builtinAgent)}::text[], ${handles}::text[],
        ${members.map((one) => one.agentDefinition.name)}::text[]) with ordinality as member (session_id, agent_id, builtin_agent,
        handle, display_name, place)`,
    )
    await addGroupEvent(tx, id, 'group.created')
    return getOne<Group>(tx, sql`select * from groups where id = ${id}`)
  })
}

/** The group of this id. @throws BerthError not_found. */
export async function getGroup(call: Call, publicId: string): Promise<Group> {
  return readGroup(call.db, allowAnywhere(call.caller, 'groups:read'), publicId)
}

/** The groups of these stored ids that are the caller's. */
export async function findGroups(call: Call, ids: readonly string[]): Promise<Group[]> {
  return groupRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'groups:read')))
}

/** The members of a group, in their order. */
export type GroupMembers = { groupId: string; members: GroupMember[] }

/** The members of each group of these stored ids that is the caller's. */
export async function findGroupMembers(call: Call, groupIds: readonly string[]): Promise<GroupMembers[]> {
  const groups = await findGroups(call, groupIds)
  const members = await findMembers(
    call.db,
    groups.map(({ id }) => id),
  )
  return groups.map(({ id }) => ({ groupId: id, members: members.filter(({ groupId }) => groupId === id) }))
}

/** The caller's groups in an organization, newest first by default. @throws BerthError forbidden, invalid_request. */
export async function pageGroups(
  call: Call,
  organizationId: string | null | undefined,
  window: PageWindow,
  direction?: Direction,
): Promise<Page<Group>> {
  const scope = allowInGiven(call.caller, 'groups:read', organizationId)
  return groupRows.page(call.db, window, ownedByCaller(scope), direction)
}

/** The caller's groups of each session of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageGroupsOfEach(
  call: Call,
  sessionIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<Group>> {
  const scope = allowAnywhere(call.caller, 'groups:read')
  return groupRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${sessionIds}::uuid[]) given(id)`,
    parentName: 'session',
    chosen: sql`${ownedByCaller(scope)} and id in (select m.group_id from group_members m where m.session_id = parent.id)`,
  })
}

/** Changes the name and the description. @throws BerthError not_found, invalid_request. */
export async function updateGroup(
  call: Call,
  publicId: string,
  fields: { name?: string | null | undefined; description?: string | null | undefined },
): Promise<Group> {
  const scope = reachOfChange(call.caller)
  if (fields.description === undefined)
    throw new BerthError('invalid_request', 'description is required here; it may be null.', { field: 'description' })
  const name = readName(fields.name)
  const description = readDescription(fields.description)
  return transaction(call.db, async (tx) => {
    const { id, organizationId } = await readGroup(tx, scope, publicId, sql`for no key update`)
    checkChange(call.caller, { organizationId })
    await addGroupEvent(tx, id, 'group.updated')
    return getOne<Group>(
      tx,
      sql`update groups set name = ${name}, description = ${description} where id = ${id} returning *`,
    )
  })
}

/** Deletes a group with its transcript; its sessions stay. @throws BerthError not_found; work_active while a run has not ended. */
export async function deleteGroup(call: Call, publicId: string): Promise<void> {
  const scope = reachOfChange(call.caller)
  await transaction(call.db, async (tx) => {
    const { id, organizationId } = await readGroup(tx, scope, publicId, sql`for update`)
    checkChange(call.caller, { organizationId })
    const tasks = sql`id in (select r.id from group_runs r where r.group_id = ${id})`
    if (await findOne(tx, sql`select 1 from session_tasks where ${tasks} and finished_at is null limit 1`))
      throw new BerthError('work_active', 'A run of this group has not ended. Stop it, then delete the group.')
    await deleteTasks(tx, tasks)
    await change(tx, sql`delete from groups where id = ${id}`)
    publish(tx, groupTopic, id) // subscribers learn that it is deleted
  })
}

function readMemberIds(given: readonly string[]): readonly string[] {
  const { membersMin: least, membersMax: most } = groupLimits
  if (given.length >= least && given.length <= most && new Set(given).size === given.length) return given
  throw new BerthError('invalid_request', `member_ids must name ${least} to ${most} sessions, each once.`, {
    field: 'member_ids',
  })
}

/** The sessions that are to be members, in this order, kept as they are until the transaction ends. */
async function lockMembers(tx: Tx, scope: Scope, publicIds: readonly string[]): Promise<Session[]> {
  const ids = publicIds.flatMap((id) => decodeId('session', id) ?? [])
  const rows = await findAll<Session>(
    tx,
    sql`select * from sessions where id = any(${ids}::uuid[]) and ${ownedByCaller(scope)} order by id for no key update`,
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return publicIds.map((publicId) => {
    const session = found.get(decodeId('session', publicId) ?? '')
    if (!session) throw notFound('session')
    if (session.status === 'terminated') throw sessionOver(session)
    if (session.kind !== 'computer')
      throw new BerthError(
        'member_not_computer_session',
        'Members of a group are sessions with an environment. Start this one in an environment.',
        { field: 'member_ids' },
      )
    if (session.usedByVm)
      throw new BerthError(
        'invalid_request',
        'The token inside a VM has used one of these sessions, so it gets nothing of what others say. Start another one.',
        { field: 'member_ids' },
      )
    return session
  })
}
