/** Organization API keys in GraphQL; by people only. */
import { builder } from '#schema/builder.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { createApiKey, getApiKey, pageApiKeys, revokeApiKey, type ApiKey } from '#src/resources/identity/api-keys.ts'

const apiKey = builder.objectRef<ApiKey>('ApiKey').implement({
  description: 'A key of an organization. Its secret was shown once and is kept as a hash.',
  fields: (t) => ({
    id: t.id({
      description: 'The 16 characters between the prefix and the point of the key.',
      resolve: ({ keyId }) => keyId,
    }),
    organizationId: t.id({
      description: 'Whose it is, and who pays for what it does.',
      resolve: (key) => encodeId('organization', key.organizationId),
    }),
    name: t.exposeString('name', { description: 'What it is for, in its maker’s words.' }),
    lastFour: t.exposeString('secretLast4', { description: 'The last four characters of its secret.' }),
    scopes: t.exposeStringList('scopes', {
      description: 'What it may be used for: `models:read`, `chat:stateless`, `agents:use`, `compute:use`.',
    }),
    createdBy: t.id({ description: 'Who made it.', resolve: (key) => encodeId('user', key.createdBy) }),
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

const createdApiKey = builder.objectRef<{ key: string; apiKey: ApiKey }>('CreatedApiKey').implement({
  description: 'A new key.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'All of it, for `Authorization: Bearer …`. It is shown this once.' }),
    apiKey: t.field({ type: apiKey, description: 'How it is listed.', resolve: (created) => created.apiKey }),
  }),
})

const apiKeyConnection = connectionOf('ApiKey', apiKey)
const idArgument = { required: true, description: 'Its 16 characters.' } as const

builder.queryFields((t) => ({
  apiKey: t.field({
    type: apiKey,
    description: 'One key of the organization. Errors: NOT_FOUND.',
    args: { id: t.arg.id(idArgument) },
    resolve: (_, { id }, call) => getApiKey(call, id),
  }),
  apiKeys: t.field({
    type: apiKeyConnection,
    description: 'The organization’s keys, newest first, revoked and expired ones too.',
    args: pageArguments,
    resolve: (_, window, call) => pageApiKeys(call, window) as never,
  }), // see pages.ts
}))

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: createdApiKey,
    description: 'Makes a key with the fixed scopes. Takes an admin. Errors: INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE.',
    args: {
      name: t.arg.string({ required: true, description: 'What it is for, 1 to 255 characters.' }),
      expiresAt: t.arg({
        type: 'DateTime',
        description: 'Until when it is good, ten years ahead at most; without it, until it is revoked.',
      }),
    },
    resolve: (_, order, call) => createApiKey(call, order),
  }),
  revokeApiKey: t.field({
    type: apiKey,
    description:
      'Revokes a key for ever: every process refuses it within a second. Takes an admin. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
    args: { id: t.arg.id(idArgument) },
    resolve: (_, { id }, call) => revokeApiKey(call, id),
  }),
}))
