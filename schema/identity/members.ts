/** The members of an organization in GraphQL, for people only. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { actionOn, idField, mutationOf } from '#schema/mutations.ts'
import { linkTo, nodeOf } from '#schema/nodes.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import type { Role } from '#src/platform/access/permissions.ts'
import { changeRole, findMembers, pageMembers, removeMember } from '#src/resources/identity/members.ts'
import { listOfOrganizations, organizationType } from './organizations.ts'
import { userType } from './users.ts'

/** A person's role in an organization. */
export const roleType = enumOf('Role', 'A person’s role in an organization.', {
  viewer: 'May read, but nothing inside VMs and no sensitive values.',
  member: 'May also use and change VMs, builds, agents and sessions, and chat with models.',
  admin: 'May also manage keys, secrets, budgets and members.',
  owner: 'May do everything.',
} satisfies Record<Role, string>)

const member = nodeOf('Member', findMembers)

builder.objectType(member, {
  description: 'A person in an organization.',
  fields: (t) => ({
    ...linkTo(t, 'organization', {
      type: organizationType,

      description: 'The organization.',
      id: (one) => one.organizationId,
    }),
    ...linkTo(t, 'user', {
      type: userType,

      description: 'The person.',
      id: (one) => one.userId,
    }),
    email: t.exposeString('email', { nullable: true, description: 'Their email address, when known.' }),
    role: t.field({
      type: roleType,
      description: 'Their role. It applies at the moment of each call; a token that grants less allows less.',
      resolve: (one) => one.role,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the person joined.' }),
  }),
})

const memberConnection = connectionOf('Member', member)
const memberFilter = builder.inputType('MemberFilter', {
  description: 'Narrows a list of members.',
  fields: (t) => ({
    roles: t.field({ type: [roleType], description: 'Only those with one of these roles.' }),
    text: t.string({
      description: 'Only those with this piece of text in their name or address, in upper or lower case.',
    }),
  }),
})
const memberArguments = {
  ...pageArguments,
  ...builder.args((t) => ({ filter: t.field({ type: memberFilter, description: 'Narrows the list.' }) })),
}

builder.queryFields((t) => ({
  members: t.field({
    type: memberConnection,
    description: 'Who belongs to the active organization, newest first.',
    args: memberArguments,
    resolve: (_, { filter, ...window }, call) => pageMembers(call, window, filter),
  }),
}))
type MembersGiven = Parameters<typeof pageMembers>[1] & { filter?: Parameters<typeof pageMembers>[2] }
const membersOf = listOfOrganizations((call, { filter, ...window }: MembersGiven) => pageMembers(call, window, filter))
builder.objectField(organizationType, 'members', (t) =>
  t.field({
    type: memberConnection,
    nullable: true,
    description: 'Who belongs to it, newest first. Not available to API keys.',
    args: memberArguments,
    resolve: ({ id }, given, call) => membersOf(call, id, given),
  }),
)

actionOn(
  'removeMember',
  { field: 'member', type: member },
  'Removes a member: their tokens are refused within a second, their sessions stop, and the VMs of their environments are deleted. Requires the admin role; for an owner, the owner role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE, LAST_OWNER.',
  removeMember,
)
mutationOf(
  'updateMember',
  { field: 'member', type: member },
  'Changes a member’s role. It applies within 5 s, also to the tokens they already have. Requires the admin role; for an owner, the owner role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE, LAST_OWNER.',
  (t) => ({ ...idField(t), role: t.field({ type: roleType, required: true, description: 'The new role.' }) }),
  (call, { id, role }) => changeRole(call, id, role),
)
