/** Organizations that people make, and invitations to them, in GraphQL; for people only. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { actionOn, mutationOf } from '#schema/mutations.ts'
import { linkTo, times, timesIfAny } from '#schema/nodes.ts'
import { nounOf, organizationOf } from '#schema/nouns.ts'
import { invitationLimits } from '#src/resources/identity/invitations/limits.ts'
import type { MailStatus } from '#src/resources/identity/invitations/rows.ts'
import {
  acceptInvitation,
  createInvitation,
  invitationReads,
  revokeInvitation,
} from '#src/resources/identity/invitations.ts'
import { createOrganization, updateOrganization } from '#src/resources/identity/joining.ts'
import { roleType } from './members.ts'
import { organizationType } from './organizations.ts'
import { userType } from './users.ts'

const organization = { field: 'organization', type: organizationType }
mutationOf(
  'createOrganization',
  organization,
  'Creates an organization, of which you are the owner. A session in a browser may act in it at once; a token names the organizations of the moment when it was made, so get a new one. Errors: INVALID_REQUEST, ORGANIZATION_NAME_TAKEN, RATE_LIMITED, FORBIDDEN where only the operator makes organizations.',
  (t) => ({ name: t.string({ required: true, description: '1 to 255 characters, unique in this installation.' }) }),
  (call, input) => createOrganization(call, input),
)
mutationOf(
  'updateOrganization',
  organization,
  'Renames the active organization. Requires the owner role. Errors: INVALID_REQUEST, ORGANIZATION_NAME_TAKEN, NOT_PERMITTED_FOR_ROLE.',
  (t) => ({ name: t.string({ description: '1 to 255 characters, unique in this installation.' }) }),
  (call, input) => updateOrganization(call, input),
)

const mailStatus = enumOf('InvitationMailStatus', 'Whether an invitation was sent by e-mail.', {
  pending: 'Not yet. It is tried again, for some three hours.',
  sent: 'A mail server has taken it.',
  failed: 'It was given up; `mailReason` says why. Make another one, or send its link yourself.',
} satisfies Record<MailStatus, string>)

const invitationType = nounOf('Invitation', invitationReads, {
  description: `An invitation to an organization. Its link holds for ${invitationLimits.validDays} days, and for one person.`,
  list: {
    description:
      'The active organization’s invitations that nobody has accepted yet, newest first. Requires the admin role.',
    inOrganization: 'Its invitations that nobody has accepted yet, newest first. Requires the admin role.',
  },
  fields: (t) => ({
    ...organizationOf(t, 'The organization.'),
    role: t.field({ type: roleType, description: 'The role that its receiver gets.', resolve: ({ role }) => role }),
    note: t.exposeString('note', { nullable: true, description: 'Whom it is for, in the words of who made it.' }),
    email: t.exposeString('email', { nullable: true, description: 'The address that it is sent to, if it is.' }),
    mailStatus: t.field({
      type: mailStatus,
      nullable: true,
      description: 'Whether it was sent there; null for one that is not to be.',
      resolve: (invitation) => invitation.mailStatus,
    }),
    mailReason: t.exposeString('mailReason', {
      nullable: true,
      description: 'Why the last attempt did not send it, as a sentence.',
    }),
    ...linkTo(t, 'createdBy', { type: userType, description: 'Who made it.', id: ({ createdBy }) => createdBy }),
    ...times(t, 'createdAt'),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when its link can be accepted.' }),
    ...timesIfAny(t, { acceptedAt: 'When it was accepted; null until then.' }),
    ...linkTo(t, 'acceptedBy', {
      type: userType,
      nullable: true,
      description: 'Who accepted it.',
      id: ({ acceptedBy }) => acceptedBy,
    }),
  }),
})

builder.relayMutationField(
  'createInvitation',
  {
    description: 'What `createInvitation` takes.',
    inputFields: (t) => ({
      role: t.field({ type: roleType, required: true, description: 'The role that its receiver gets.' }),
      note: t.string({
        description: `Whom it is for, to tell it from others: at most ${invitationLimits.noteLength} characters.`,
      }),
      email: t.string({
        description:
          'An address to send the link to, where `instance` says that e-mail can be sent. The link is answered all the same.',
      }),
    }),
  },
  {
    description:
      'Invites somebody to the active organization, by a link that you send them, or that is sent to an address. Requires the admin role; for an owner, the owner role. Errors: INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE, RATE_LIMITED.',
    resolve: (_, { input }, call) => createInvitation(call, input),
  },
  {
    description: 'What `createInvitation` answers.',
    outputFields: (t) => ({
      url: t.string({ description: 'The link. It is shown only this once.', resolve: ({ url }) => url }),
      invitation: t.field({
        type: invitationType,
        description: 'The invitation, without its link.',
        resolve: ({ invitation }) => invitation,
      }),
    }),
  },
)
actionOn(
  'revokeInvitation',
  { field: 'invitation', type: invitationType },
  'Takes back an invitation that nobody has accepted yet. Requires the admin role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
  revokeInvitation,
)
mutationOf(
  'acceptInvitation',
  organization,
  'Accepts an invitation: you become a member of its organization with its role; one that you have is raised, never lowered. Errors: NOT_FOUND, FORBIDDEN for a key and for the token inside a VM.',
  (t) => ({ url: t.string({ required: true, description: 'The link, or what follows `#` in it.' }) }),
  (call, { url }) => acceptInvitation(call, url),
)
