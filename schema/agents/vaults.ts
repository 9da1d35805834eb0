/** Vaults in GraphQL. */
import { archivedArguments, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, listArguments, listTypeOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followVault, vaultEventTypes, type VaultEvent } from '#src/resources/agents/vaults/events.ts'
import type { Vault } from '#src/resources/agents/vaults/rows.ts'
import {
  archiveVault,
  createVault,
  deleteVault,
  getVault,
  listVaults,
  pageVaults,
  updateVault,
} from '#src/resources/agents/vaults.ts'

const vaultType = builder.objectRef<Vault>('Vault').implement({
  description: 'Where a person keeps credentials for agents. Nobody else sees it.',
  fields: (t) => ({
    id: t.id({ description: '`vlt_` and 26 characters.', resolve: ({ id }) => encodeId('vault', id) }),
    type: t.string({ description: 'Always `vault`.', resolve: () => 'vault' }),
    displayName: t.exposeString('displayName', { description: 'Its name for people.' }),
    metadata: t.expose('metadata', { type: 'TextMap', description: 'Up to 16 pairs of text of your own.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `vaultEvents` to hear what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was changed last.' }),
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was archived, which purged its secrets; null for one in use.',
    }),
  }),
})

const vaultEvent = builder.objectRef<VaultEvent>('VaultEvent').implement({
  description: 'Something that happened to a vault or one of its credentials.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'vaultId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: ({ position }) => String(position),
    }),
    vaultId: t.id({ description: 'Which vault.', resolve: ({ vaultId }) => encodeId('vault', vaultId) }),
    type: t.string({
      description: `What: ${vaultEventTypes.map((type) => `\`${type}\``).join(', ')}.`,
      resolve: ({ type }) => type,
    }),
    credentialId: t.id({
      nullable: true,
      description: 'Which credential, when it is about one.',
      resolve: ({ credentialId }) => credentialId && encodeId('credential', credentialId),
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const vaultEventOrHeartbeat = builder.unionType('VaultEventOrHeartbeat', {
  description: 'An event of a vault, or a sign of life.',
  types: [vaultEvent, heartbeat],
})
const vaultConnection = connectionOf('Vault', vaultType)
const vaultList = listTypeOf('Vault', vaultType)

builder.queryFields((t) => ({
  vault: t.field({
    type: vaultType,
    description: 'One vault. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getVault(call, id),
  }),
  vaults: t.field({
    type: vaultConnection,
    description: 'The caller’s vaults, newest first.',
    args: { ...pageArguments, ...archivedArguments },
    resolve: (_, page, call) => pageVaults(call, page) as never,
  }), // see pages.ts
  vaultList: t.field({
    type: vaultList,
    description: 'The caller’s vaults as REST lists them, newest first.',
    args: { ...listArguments, ...archivedArguments },
    resolve: (_, page, call) => listVaults(call, page) as never,
  }), // see pages.ts
}))

builder.mutationFields((t) => ({
  createVault: t.field({
    type: vaultType,
    description: 'Makes a vault. Errors: INVALID_REQUEST.',
    args: {
      displayName: t.arg.string({ required: true, description: '1 to 255 characters.' }),
      metadata: t.arg({ type: 'JSON', description: 'Up to 16 pairs of text.' }),
    },
    resolve: (_, input, call) => createVault(call, input),
  }),
  updateVault: t.field({
    type: vaultType,
    description: 'Changes what is given. Errors: NOT_FOUND, VAULT_ARCHIVED, INVALID_REQUEST.',
    args: {
      ...idArguments,
      displayName: t.arg.string({ description: '1 to 255 characters.' }),
      metadata: t.arg({ type: 'JSON', description: 'Pairs to set; null as a value deletes its key.' }),
    },
    resolve: (_, { id, ...input }, call) => updateVault(call, id, input),
  }),
  archiveVault: t.field({
    type: vaultType,
    description:
      'Archives a vault with its credentials and purges their secrets. What is in a VM already stays there. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => archiveVault(call, id),
  }),
  deleteVault: t.field({
    type: 'ID',
    description: 'Deletes a vault with its credentials. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteVault(call, id), id),
  }),
}))

builder.subscriptionFields((t) => ({
  vaultEvents: t.field({
    type: vaultEventOrHeartbeat,
    description:
      'What happens to a vault and its credentials: first what happened after the cursor (without one, the latest), then live, until it is deleted. Errors: NOT_FOUND.',
    args: { ...idArguments, after: t.arg.string({ description: 'The cursor of the last event seen.' }) },
    subscribe: async (_, { id, after }, call) => withHeartbeats(await followVault(call, id, after)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))
