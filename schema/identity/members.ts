/** The members of an organization in GraphQL; by people only. */
import { builder } from '#schema/builder.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import { roles } from '#src/platform/access.ts'
import { encodeId } from '#src/platform/ids.ts'
import { changeRole, pageMembers, removeMember, type Member } from '#src/resources/identity/members.ts'
import { user } from './account.ts'

/** What a person may be in an organization. */
export const roleType = builder.enumType('Role', {
  description:
    'What a person may be in an organization: a `viewer` reads, a `member` works, an `admin` also manages keys, secrets, budgets and members, an `owner` everything.',
  values: roles,
})

const member = builder.objectRef<Member>('Member').implement({
  description: 'A person in an organization.',
  fields: (t) => ({
    id: t.id({ description: '`mbr_` and 26 characters.', resolve: (one) => encodeId('membership', one.id) }),
    organizationId: t.id({
      description: 'The organization.',
      resolve: (one) => encodeId('organization', one.organizationId),
    }),
    user: t.field({
      type: user,
      description: 'The person.',
      resolve: (one) => ({ id: one.userId, name: one.userName }),
    }),
    email: t.exposeString('email', { nullable: true, description: 'Their address, when it is known.' }),
    role: t.field({
      type: roleType,
      description: 'As what. It counts at the moment of each call; a token that says less opens less.',
      resolve: (one) => one.role,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when.' }),
  }),
})
const memberConnection = connectionOf('Member', member)
const idArgument = { required: true, description: 'The member’s id, as `members` lists it.' } as const

builder.queryFields((t) => ({
  members: t.field({
    type: memberConnection,
    description: 'Who belongs to the organization, newest first.',
    args: pageArguments,
    resolve: (_, window, call) => pageMembers(call, window) as never,
  }), // see pages.ts
}))

builder.mutationFields((t) => ({
  removeMember: t.field({
    type: member,
    description:
      'Removes a person: their tokens are refused within a second, their sessions stop, and the VMs of their environments are deleted. Takes an admin; an owner for owners. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE, LAST_OWNER.',
    args: { id: t.arg.id(idArgument) },
    resolve: (_, { id }, call) => removeMember(call, id),
  }),
  changeRole: t.field({
    type: member,
    description:
      'Gives a member another role, within 5 s also for the tokens that they have. Takes an admin; an owner for owners. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE, LAST_OWNER.',
    args: { id: t.arg.id(idArgument), role: t.arg({ type: roleType, required: true, description: 'The new role.' }) },
    resolve: (_, { id, role }, call) => changeRole(call, id, role),
  }),
}))
