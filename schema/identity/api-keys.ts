/** Organization API keys in GraphQL, for people only. */
import { idArguments } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { actionOn } from '#schema/mutations.ts'
import { linkTo, nodeOf } from '#schema/nodes.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import type { KeyScope } from '#src/platform/access/permissions.ts'
import {
  createApiKey,
  findApiKeys,
  getApiKey,
  pageApiKeys,
  revokeApiKey,
  type ApiKey,
} from '#src/resources/identity/api-keys.ts'
import { listOfOrganizations, organizationType } from './organizations.ts'
import { userType } from './users.ts'

const keyScope = enumOf('KeyScope', 'What a key may be used for.', {
  'models:read': 'Listing models.',
  'chat:stateless': 'Sending chats to models.',
  'agents:use': 'Defining agents.',
  'compute:use': 'Using VMs, builds and uploads.',
} satisfies Record<KeyScope, string>)

/** A key of an organization. */
export const apiKeyType = nodeOf(
  'ApiKey',
  findApiKeys,
  'The 16 characters between the prefix and the point of the key.',
)

builder.objectType(apiKeyType, {
  description: 'An organization’s API key. Its secret was shown once and is stored as a hash.',
  fields: (t) => ({
    ...linkTo(t, 'organization', {
      type: organizationType,
      description: 'The organization that owns it and pays for its use.',
      id: (key) => key.organizationId,
    }),
    name: t.exposeString('name', { description: 'A name given by its creator.' }),
    lastFour: t.exposeString('secretLast4', { description: 'The last four characters of its secret.' }),
    scopes: t.field({ type: [keyScope], description: 'What it may be used for.', resolve: (key) => key.scopes }),
    ...linkTo(t, 'createdBy', {
      type: userType,

      description: 'Who created it.',
      id: (key) => key.createdBy,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires; null for a key that does not expire.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null for one in use.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute.',
    }),
  }),
})

const apiKeyConnection = connectionOf('ApiKey', apiKeyType)

builder.queryFields((t) => ({
  apiKey: t.field({
    type: apiKeyType,
    description: 'One key of the organization. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getApiKey(call, id),
  }),
  apiKeys: t.field({
    type: apiKeyConnection,
    description: 'The active organization’s keys, newest first, including revoked and expired ones.',
    args: pageArguments,
    resolve: (_, window, call) => pageApiKeys(call, window),
  }),
}))
const apiKeysOf = listOfOrganizations(pageApiKeys)
builder.objectField(organizationType, 'apiKeys', (t) =>
  t.field({
    type: apiKeyConnection,
    nullable: true,
    description: 'Its keys, newest first, including revoked and expired ones. Not available to API keys.',
    args: pageArguments,
    resolve: ({ id }, window, call) => apiKeysOf(call, id, window),
  }),
)

builder.relayMutationField(
  'createApiKey',
  {
    description: 'What `createApiKey` takes.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'A name, 1 to 255 characters.' }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'When it expires, at most ten years ahead; never by default.',
      }),
    }),
  },
  {
    description:
      'Creates a key with the fixed scopes. Requires the admin role. Errors: INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE.',
    resolve: (_, { input }, call) => createApiKey(call, input),
  },
  {
    description: 'What `createApiKey` answers.',
    outputFields: (t) => ({
      key: t.string({
        description: 'The whole key, for `Authorization: Bearer …`. It is shown only this once.',
        resolve: (created) => created.key,
      }),
      apiKey: t.field({
        type: apiKeyType,
        description: 'The key as lists show it, without the secret.',
        resolve: (created) => created.apiKey,
      }),
    }),
  },
)
actionOn(
  'revokeApiKey',
  { field: 'apiKey', type: apiKeyType },
  'Revokes a key permanently: every process refuses it within a second. Requires the admin role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
  (call, id): Promise<ApiKey> => revokeApiKey(call, id),
)
