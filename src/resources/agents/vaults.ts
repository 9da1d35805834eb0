/** Vaults: where a person keeps credentials for agents. They belong to people; API keys have no access to them. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, ownedByCaller } from '#src/platform/access.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { readsOf, unlessArchived, type ArchivedFilter } from '#src/platform/nouns.ts'
import { change, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { archiveCredentialsOf } from './vaults/credentials/rows.ts'
import { mergeMetadata, readMetadata, readName } from '#src/platform/shapes/fields.ts'
import { addVaultEvent, notifyOfVault } from './vaults/events.ts'
import { readVault, vaultArchived, vaultRows, type Vault } from './vaults/rows.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** The input of a create or an update; an absent key stays as it is. */
export type VaultInput = { displayName?: unknown; metadata?: unknown }

/** How vaults are found. */
export const vaultSearch: Searched = {
  type: 'Vault',
  may: 'vaults:read',
  table: 'vaults',
  title: sql`display_name`,
  whose: (scope) => sql`${ownedByCaller(scope)} and archived_at is null`,
}

/** How callers read vaults. */
export const vaultReads = readsOf(vaultRows, {
  may: 'vaults:read',
  whose: ownedByCaller,
  listed: (filter: ArchivedFilter & TextFilter) => sql`${unlessArchived(filter)} and ${hasTextOf(vaultSearch, filter)}`,
})

/** Creates a vault. @throws BerthError invalid_request. */
export async function createVault(call: Call, input: VaultInput): Promise<Vault> {
  const scope = allow(call.caller, 'vaults:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  const [displayName, metadata] = [readName(input.displayName, 'display_name'), readMetadata(input.metadata)]
  return transaction(call.db, async (tx) => {
    await checkCount(tx, scope.organizationId, { table: 'vaults', most: limits.vaultsMax })
    const vault = await getOne<Vault>(
      tx,
      sql`
      insert into vaults (id, organization_id, owner_user_id, display_name, metadata)
      values (${newUuid()}, ${scope.organizationId}, ${scope.userId}, ${displayName}, ${JSON.stringify(metadata)}::jsonb) returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault.created')
    return vault
  })
}

/** Changes the name or the metadata. @throws BerthError not_found, vault_archived, invalid_request. */
export async function updateVault(call: Call, publicId: string, input: VaultInput): Promise<Vault> {
  const scope = allow(call.caller, 'vaults:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  return vaultRows.locked(call.db, publicId, ownedByCaller(scope), async (tx, before) => {
    if (before.archivedAt) throw vaultArchived()
    if (changesNothing(input)) return before
    const displayName =
      input.displayName === undefined ? before.displayName : readName(input.displayName, 'display_name')
    const metadata = mergeMetadata(before.metadata, input.metadata)
    const vault = await getOne<Vault>(
      tx,
      sql`
      update vaults set display_name = ${displayName}, metadata = ${JSON.stringify(metadata)}::jsonb, updated_at = now() where id = ${before.id} returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault.updated')
    return vault
  })
}

/**
 * Archives a vault with its credentials, whose secrets are purged; an archived one stays as it is.
 * @throws BerthError not_found.
 */
export async function archiveVault(call: Call, publicId: string): Promise<Vault> {
  const scope = allow(call.caller, 'vaults:write')
  return vaultRows.locked(call.db, publicId, ownedByCaller(scope), async (tx, before) => {
    if (before.archivedAt) return before
    await archiveCredentialsOf(tx, before.id)
    const vault = await getOne<Vault>(
      tx,
      sql`update vaults set archived_at = now(), updated_at = now() where id = ${before.id} returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault.archived')
    return vault
  })
}

/** Deletes a vault with its credentials. @throws BerthError not_found. */
export async function deleteVault(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'vaults:write')
  await transaction(call.db, async (tx) => {
    const { id, organizationId } = await readVault(tx, scope, publicId, sql`for update`)
    await change(tx, sql`delete from vaults where id = ${id}`)
    await notifyOfVault(tx, organizationId, 'vault.deleted', id)
    publish(tx, 'vault', id) // subscribers learn that it is deleted
  })
}
