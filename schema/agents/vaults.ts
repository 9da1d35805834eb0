/** Vaults in GraphQL. */
import { builder } from '../builder.ts'
import { always } from '../words.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { times, timesIfAny } from '../nodes.ts'
import { archivedFilter, nounOf } from '../nouns.ts'
import { encodeId } from '#src/platform/ids.ts'
import { archiveVault, createVault, deleteVault, updateVault, vaultReads } from '#src/resources/agents/vaults.ts'
import { followVault, type VaultEvent, type VaultEventType } from '#src/resources/agents/vaults/events.ts'

/** A vault. */
export const vaultType = nounOf('Vault', vaultReads, {
  description: 'A person’s private store of credentials for agents.',
  list: {
    description: 'The caller’s vaults, newest first.',
    inOrganization: 'The caller’s vaults in it, newest first. Not available to API keys.',
    filter: archivedFilter('Vault', true),
  },
  fields: (t) => ({
    type: t.string(always('vault')),
    displayName: t.exposeString('displayName', { description: 'A name to display.' }),
    metadata: t.expose('metadata', {
      type: 'TextMap',
      description: 'Your own labels: up to 16 pairs of key and text.',
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `vaultEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    ...times(t, 'createdAt', 'updatedAt'),
    ...timesIfAny(t, { archivedAt: 'When it was archived, which purged its secrets; null for one in use.' }),
  }),
})

const vaultEventType = enumOf('VaultEventType', 'What happened to a vault or one of its credentials.', {
  'vault.created': 'The vault was created.',
  'vault.updated': 'Its name or metadata changed.',
  'vault.archived': 'It was archived, and its secrets purged.',
  'vault_credential.created': 'A credential was added.',
  'vault_credential.updated': 'A credential changed.',
  'vault_credential.archived': 'A credential was archived, and its secrets purged.',
  'vault_credential.deleted': 'A credential was deleted.',
  'vault_credential.refreshed': 'An access token was refreshed.',
  'vault_credential.refresh_failed': 'An access token could not be refreshed.',
} satisfies Record<VaultEventType, string>)

/** An event of a vault; its credential is added by the file of credentials. */
export const vaultEvent = builder.objectRef<VaultEvent>('VaultEvent').implement({
  description: 'Something that happened to a vault or one of its credentials.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'vaultId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    vaultId: t.id({ description: 'Which vault.', resolve: ({ vaultId }) => encodeId('vault', vaultId) }),
    vault: t.field({
      type: vaultType,
      nullable: true,
      description: 'The vault as it is now; null once it is deleted.',
      resolve: ({ vaultId }) => vaultId,
    }),
    type: t.field({ type: vaultEventType, description: 'What happened.', resolve: ({ type }) => type }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const vaultEventOrHeartbeat = builder.unionType('VaultEventOrHeartbeat', {
  description: 'An event of a vault, or a heartbeat.',
  types: [vaultEvent, heartbeat],
})

const vault = { field: 'vault', type: vaultType }
mutationOf(
  'createVault',
  vault,
  'Creates a vault. Errors: INVALID_REQUEST.',
  (t) => ({
    displayName: t.string({ required: true, description: '1 to 255 characters.' }),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
  }),
  createVault,
)
mutationOf(
  'updateVault',
  vault,
  'Updates the given fields. Errors: NOT_FOUND, VAULT_ARCHIVED, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    displayName: t.string({ description: '1 to 255 characters.' }),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
  }),
  (call, { id, ...changes }) => updateVault(call, id, changes),
)
actionOn(
  'archiveVault',
  vault,
  'Archives a vault with its credentials and purges their secrets. Values that a VM already holds stay there. Errors: NOT_FOUND.',
  archiveVault,
)
deletionOf('deleteVault', 'Deletes a vault with its credentials. Errors: NOT_FOUND.', deleteVault)

builder.subscriptionFields((t) => ({
  vaultEvents: t.field({
    type: vaultEventOrHeartbeat,
    description:
      'The events of a vault and its credentials: those after the cursor (without a cursor, the latest), then live ones, until it is deleted. Errors: NOT_FOUND.',
    args: {
      vaultId: t.arg.id({ required: true, description: 'The vault.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { vaultId, after }, call) => withHeartbeats(await followVault(call, vaultId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
