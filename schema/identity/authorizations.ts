/** The programs that a person lets act for them, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { actionOn } from '#schema/mutations.ts'
import { linkTo, nodeOf, times } from '#schema/nodes.ts'
import { authorizationLimits } from '#src/resources/identity/authorizations/limits.ts'
import { findAuthorizations, listAuthorizations, revokeAuthorization } from '#src/resources/identity/authorizations.ts'
import { organizationType } from './organizations.ts'
import { viewerType } from './viewer.ts'

const authorizationType = nodeOf('Authorization', findAuthorizations)
const { lifetimeDays, unusedDays, authorizationsPerPerson } = authorizationLimits

const scopeType = enumOf('ProgramScope', 'What a program may do, and never more than the person themselves.', {
  read: 'What a viewer may see, and nothing that changes.',
  write: 'What a member may do.',
  admin: 'All that the person may do in the organization.',
})

builder.objectType(authorizationType, {
  description: `A program that a person lets act for them in an organization, by OAuth. It ends after ${lifetimeDays} days, or ${unusedDays} days without use.`,
  fields: (t) => ({
    clientId: t.exposeID('clientId', { description: 'Which program it is, in the words of OAuth.' }),
    clientName: t.exposeString('clientName', { description: 'What the program calls itself.' }),
    scope: t.field({ type: scopeType, description: 'What it may do.', resolve: ({ scope }) => scope }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      description: 'The organization that it acts in.',
      id: ({ organizationId }) => organizationId,
    }),
    ...times(t, 'createdAt'),
    usedAt: t.expose('usedAt', { type: 'DateTime', description: 'When it was last used, to the minute.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends at the latest.' }),
  }),
})

builder.objectField(viewerType, 'authorizations', (t) =>
  t.field({
    type: [authorizationType],
    nullable: true,
    description: `The programs that the person lets act for them, ${authorizationsPerPerson} at most, the one that was used last first; null for a key and for a program.`,
    resolve: (_viewer, _arguments, call) => listAuthorizations(call),
  }),
)

actionOn(
  'revokeAuthorization',
  { field: 'authorization', type: authorizationType },
  'Ends what you have let a program do: its tokens are refused, and what it follows ends, within a second. Errors: NOT_FOUND.',
  revokeAuthorization,
)
