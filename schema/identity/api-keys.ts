/** Organization API keys in GraphQL; by people only. */
import { idArguments } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { actionOn } from '#schema/mutations.ts'
import { nodeOf } from '#schema/nodes.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import type { KeyScope } from '#src/platform/access.ts'
import { encodeId } from '#src/platform/ids.ts'
import {
  createApiKey,
  findApiKeys,
  getApiKey,
  pageApiKeys,
  revokeApiKey,
  type ApiKey,
} from '#src/resources/identity/api-keys.ts'
import { callIn, organizationType } from './organizations.ts'
import { userType } from './users.ts'

const keyScope = enumOf('KeyScope', 'What a key may be used for.', {
  'models:read': 'To list models.',
  'chat:stateless': 'To ask models.',
  'agents:use': 'To define agents.',
  'compute:use': 'To use VMs, builds and uploads.',
} satisfies Record<KeyScope, string>)

/** A key of an organization. */
export const apiKeyType = nodeOf(
  'ApiKey',
  'The 16 characters between the prefix and the point of the key.',
  findApiKeys,
)

builder.objectType(apiKeyType, {
  description: 'A key of an organization. Its secret was shown once and is kept as a hash.',
  fields: (t) => ({
    organizationId: t.id({
      description: 'Whose it is, and who pays for what it does.',
      resolve: (key) => encodeId('organization', key.organizationId),
    }),
    organization: t.field({
      type: organizationType,
      nullable: true,
      description: 'Whose it is.',
      resolve: (key) => key.organizationId,
    }),
    name: t.exposeString('name', { description: 'What it is for, in its maker’s words.' }),
    lastFour: t.exposeString('secretLast4', { description: 'The last four characters of its secret.' }),
    scopes: t.field({ type: [keyScope], description: 'What it may be used for.', resolve: (key) => key.scopes }),
    createdById: t.id({ description: 'Who made it.', resolve: (key) => encodeId('user', key.createdBy) }),
    createdBy: t.field({
      type: userType,
      nullable: true,
      description: 'Who made it.',
      resolve: (key) => key.createdBy,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when it is good; null for one that is good until it is revoked.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is refused, for ever.',
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
    description: 'The active organization’s keys, newest first, revoked and expired ones too.',
    args: pageArguments,
    resolve: (_, window, call) => pageApiKeys(call, window),
  }),
}))
builder.objectField(organizationType, 'apiKeys', (t) =>
  t.field({
    type: apiKeyConnection,
    nullable: true,
    description: 'Its keys, newest first, revoked and expired ones too. Not for keys.',
    args: pageArguments,
    resolve: (organization, window, call) => pageApiKeys(callIn(call, organization), window),
  }),
)

builder.relayMutationField(
  'createApiKey',
  {
    description: 'What `createApiKey` takes.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'What it is for, 1 to 255 characters.' }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'Until when it is good, ten years ahead at most; without it, until it is revoked.',
      }),
    }),
  },
  {
    description: 'Makes a key with the fixed scopes. Takes an admin. Errors: INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE.',
    resolve: (_, { input }, call) => createApiKey(call, input),
  },
  {
    description: 'What `createApiKey` answers.',
    outputFields: (t) => ({
      key: t.string({
        description: 'All of it, for `Authorization: Bearer …`. It is shown this once.',
        resolve: (created) => created.key,
      }),
      apiKey: t.field({ type: apiKeyType, description: 'How it is listed.', resolve: (created) => created.apiKey }),
    }),
  },
)
actionOn(
  'revokeApiKey',
  { field: 'apiKey', type: apiKeyType },
  'Revokes a key for ever: every process refuses it within a second. Takes an admin. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
  (call, id): Promise<ApiKey> => revokeApiKey(call, id),
)
