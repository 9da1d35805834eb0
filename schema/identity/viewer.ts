/** Who is calling, in GraphQL: where a client starts. */
import { builder } from '#schema/builder.ts'
import { linkTo } from '#schema/nodes.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { pageOrganizations } from '#src/resources/identity/organizations.ts'
import { getViewer, type Viewer } from '#src/resources/identity/viewer.ts'
import { apiKeyType } from './api-keys.ts'
import { roleType } from './members.ts'
import { organizationType } from './organizations.ts'
import { userType } from './users.ts'

/** The authenticated caller. */
export const viewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The authenticated caller: a person or an organization’s API key.',
  fields: (t) => ({
    ...linkTo(t, 'user', {
      type: userType,
      nullable: true,
      description: 'The person; null for an API key.',
      id: ({ userId }) => userId,
    }),
    keyId: t.exposeID('keyId', { nullable: true, description: 'The API key; null for a person.' }),
    key: t.field({
      type: apiKeyType,
      nullable: true,
      description: 'The API key; null for a person.',
      resolve: ({ keyId }) => keyId,
    }),
    organizationId: t.id({
      nullable: true,
      description: 'The active organization: the API key’s, or the one that the token names.',
      resolve: ({ organizationId }) => organizationId && encodeId('organization', organizationId),
    }),
    organization: t.field({
      type: organizationType,
      nullable: true,
      description: 'The active organization; null for a token that names none.',
      resolve: ({ organizationId }) => organizationId,
    }),
    organizations: t.field({
      type: connectionOf('Organization', organizationType),
      description: 'Every organization that the caller belongs to.',
      args: pageArguments,
      resolve: (_, window, call) => pageOrganizations(call, window),
    }),
    role: t.field({
      type: roleType,
      nullable: true,
      description: 'The person’s current role in the active organization; null for an API key.',
      resolve: ({ role }) => role,
    }),
  }),
})

builder.queryFields((t) => ({
  viewer: t.field({
    type: viewerType,
    description: 'The authenticated caller; a good place to start. Errors: UNAUTHORIZED.',
    resolve: (_, _arguments, call) => getViewer(call),
  }),
}))
