/** Groups in GraphQL. Their messages, runs and events are in groups/. */
import { groupLimits } from '#src/resources/agents/groups/limits.ts'
import { idArguments, organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import { always } from '../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import { builtinAgentId } from '#src/resources/agents/agents/builtin-agents.ts'
import {
  createGroup,
  deleteGroup,
  findGroupMembers,
  findGroups,
  getGroup,
  pageGroups,
  pageGroupsOfEach,
  updateGroup,
} from '#src/resources/agents/groups.ts'
import type { GroupMember } from '#src/resources/agents/groups/rows.ts'
import { agentType } from './agents.ts'
import { sessionType } from './sessions.ts'

const memberStatus = enumOf('GroupMemberStatus', 'The status of a member’s session.', {
  idle: 'It is waiting for the client.',
  running: 'It works.',
  rescheduling: 'A temporary failure; it retries soon.',
  terminated: 'It has ended permanently.',
  deleted: 'The session is deleted.',
} satisfies Record<GroupMember['status'], string>)

const memberType = builder.objectRef<GroupMember>('GroupMember').implement({
  description: 'A session in a group.',
  fields: (t) => ({
    ...linkTo(t, 'session', {
      type: sessionType,
      description: 'The session; the object is null once it is deleted.',
      id: ({ sessionId }: GroupMember) => sessionId,
    }),
    agentId: t.id({
      description: 'Its agent.',
      resolve: ({ agentId, builtinAgent }) =>
        agentId ? encodeId('agent', agentId) : builtinAgentId(builtinAgent ?? ''),
    }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent as it is now; null for one of Berth’s own, and once it is deleted.',
      resolve: ({ agentId }) => agentId,
    }),
    handle: t.exposeString('handle', { description: 'By which it is mentioned: `@` and this.' }),
    displayName: t.exposeString('displayName', { description: 'The name of its agent when the group was created.' }),
    status: t.field({ type: memberStatus, description: 'The status of its session.', resolve: ({ status }) => status }),
  }),
})

/** A group. */
export const groupType = nodeOf('Group', findGroups)

const membersOf = rowsOfEach(findGroupMembers, ({ groupId }) => groupId)

builder.objectType(groupType, {
  description: 'Two to eight sessions that talk with their user and with each other.',
  fields: (t) => ({
    type: t.string(always('group')),
    name: t.exposeString('name', { description: 'Its name.' }),
    description: t.exposeString('description', { nullable: true, description: 'A description of its purpose.' }),
    memberIds: t.idList({
      description: 'Its members, in the order in which they were named.',
      resolve: async ({ id }, _, call) =>
        ((await membersOf(call, id))?.members ?? []).map(({ sessionId }) => encodeId('session', sessionId)),
    }),
    members: t.field({
      type: [memberType],
      description: 'The same with what is known of each.',
      resolve: async ({ id }, _, call) => (await membersOf(call, id))?.members ?? [],
    }),
    revision: t.exposeInt('revision', {
      description: 'Grows by one with each message, each change of a run and each change of the group, from 1.',
    }),
    nextSequence: t.int({
      description: 'The sequence number that the next message will have.',
      resolve: ({ messageSequence }) => messageSequence + 1,
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `groupEvents` to follow what happens from here on.',
      resolve: ({ revision }) => String(revision),
    }),
    ...linkTo(t, 'owner', { type: userType, description: 'Whose it is.', id: ({ ownerUserId }) => ownerUserId }),
    ...organizationOf(t, 'The organization it belongs to.'),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When something last happened in it.' }),
    archivedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Always null: groups are deleted, not archived.',
      resolve: () => null,
    }),
  }),
})

const groupConnection = connectionOf('Group', groupType)
const groupArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  group: t.field({
    type: groupType,
    description: 'One group. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getGroup(call, id),
  }),
  groups: t.field({
    type: groupConnection,
    description: 'The caller’s groups in an organization, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      ...groupArguments,
    },
    resolve: (_, { organizationId, order, ...window }, call) => pageGroups(call, organizationId, window, order),
  }),
}))

type GroupsGiven = Parameters<typeof pageGroups>[2] & OrderGiven
const groupsOfOrganization = listOfOrganizations((call, { order, ...window }: GroupsGiven, organizationId) =>
  pageGroups(call, encodeId('organization', organizationId), window, order),
)
builder.objectField(organizationType, 'groups', (t) =>
  t.field({
    type: groupConnection,
    nullable: true,
    description: 'The caller’s groups in it, newest first. Not available to API keys.',
    args: groupArguments,
    resolve: ({ id }, given, call) => groupsOfOrganization(call, id, given),
  }),
)

type OfSessionGiven = Parameters<typeof pageGroupsOfEach>[2] & { organizationId: string }
const groupsOfSession = pagesOfEach((call, ids, { organizationId, ...window }: OfSessionGiven) =>
  pageGroupsOfEach(callIn(call, { id: organizationId }), ids, window),
)
builder.objectField(sessionType, 'groups', (t) =>
  t.field({
    type: groupConnection,
    nullable: true,
    description: 'The groups that it is a member of, newest first.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call) => groupsOfSession(call, id, { ...window, organizationId }),
  }),
)

const group = { field: 'group', type: groupType }
const name = '1 to 255 characters.'
mutationOf(
  'createGroup',
  group,
  'Creates a group. Errors: INVALID_REQUEST, MEMBER_NOT_COMPUTER_SESSION, FORBIDDEN, NOT_FOUND, SESSION_ARCHIVED, RATE_LIMITED.',
  (t) => ({
    organizationId: t.id({
      extensions: { word: 'org_id' },
      description: 'The organization that it belongs to, its members too; by default the active one.',
    }),
    name: t.string({ description: `${name} By default the handles of its members.` }),
    description: t.string({ description: 'A description of its purpose: at most 2048 characters.' }),
    memberIds: t.idList({
      required: true,
      description: `${groupLimits.membersMin} to ${groupLimits.membersMax} different sessions of the caller’s that have an environment and are not archived.`,
    }),
  }),
  (call, input) => createGroup(call, input),
)
mutationOf(
  'updateGroup',
  group,
  'Changes the name and the description. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    name: t.string({ required: true, description: name }),
    description: t.string({
      description: 'Required, though it may be null: a description of its purpose, at most 2048 characters.',
    }),
  }),
  (call, { id, ...fields }) => updateGroup(call, id, fields),
)
deletionOf(
  'deleteGroup',
  'Deletes a group with its transcript; its sessions stay. Errors: NOT_FOUND, WORK_ACTIVE.',
  deleteGroup,
)
