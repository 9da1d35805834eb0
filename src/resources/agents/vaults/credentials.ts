/** Credentials of a vault: create, list, rename, rotate, archive, delete. Secrets are write-only. */
import { type ParentId } from '#src/platform/nouns.ts'
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, getOne, isSqlState, sql, sqlState, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { readAuth, readNewToken, type AuthChange, type AuthInput } from './credentials/auth.ts'
import { archivedColumns, credentialRows, readCredential, sealSecrets, type Credential } from './credentials/rows.ts'
import { mergeMetadata, readMetadata, readName, type MetadataInput } from '#src/platform/shapes/fields.ts'
import { addVaultEvent } from './events.ts'
import { lockVault, readVault, vaultArchived, type Vault } from './rows.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** The input of a create or an update; an absent key stays as it is. */
export type CredentialInput<Auth> = {
  displayName?: string | null
  auth?: Auth | null
  metadata?: MetadataInput | null
}

const keyConstraint = 'vault_credentials_key'

/** Adds a credential. @throws BerthError not_found, vault_archived, credential_key_taken, invalid_request, invalid_env_key, invalid_env_value. */
export async function createCredential(
  call: Call,
  vaultId: string,
  input: CredentialInput<AuthInput>,
): Promise<Credential> {
  const scope = allow(call.caller, 'vaults:write')
  const vault = await readVault(call.db, scope, vaultId) // first, so that others learn nothing about the rest of their request
  if (vault.archivedAt) throw vaultArchived()
  await checkStorage(call, scope.organizationId, 'definitions')
  const { auth, secrets, keyKind, key } = readAuth(call.config, input.auth)
  const [displayName, metadata] = [readDisplayName(input.displayName), readMetadata(input.metadata)]
  const id = newUuid()
  return transaction(call.db, async (tx) => {
    const { archivedAt } = await lockVault(tx, scope, vaultId)
    if (archivedAt) throw vaultArchived()
    const { count } = await getOne<{ count: number }>(
      tx,
      sql`select count(*) from vault_credentials where vault_id = ${vault.id} and archived_at is null`,
    )
    if (count >= limits.credentialsPerVault)
      throw new BerthError(
        'invalid_request',
        `A vault has at most ${limits.credentialsPerVault} credentials. Archive one first.`,
      )
    const credential = await getOne<Credential>(
      tx,
      sql`
      insert into vault_credentials (id, vault_id, display_name, auth, key_kind, key, sealed_secrets, metadata)
      values (${id}, ${vault.id}, ${displayName}, ${JSON.stringify(auth)}::jsonb, ${keyKind}, ${key},
        ${sealSecrets(call.sealer, id, secrets)}, ${JSON.stringify(metadata)}::jsonb)
      returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault_credential.created', id)
    return credential
  }).catch((error: unknown) => {
    if (!isSqlState(error, sqlState.uniqueViolation, keyConstraint)) throw error
    throw new BerthError(
      'credential_key_taken',
      `This vault already has a credential for this ${keyKind}. Archive it first, or use another vault.`,
    )
  })
}

/** One credential. @throws BerthError not_found. */
export async function getCredential(call: Call, vaultId: ParentId, id: string): Promise<Credential> {
  return readCredential(call.db, allow(call.caller, 'vaults:read'), vaultId, id)
}

/** The credentials of these stored ids that are in the caller's vaults. */
export async function findCredentials(call: Call, ids: readonly string[]): Promise<Credential[]> {
  const reach = allowAnywhere(call.caller, 'vaults:read')
  return credentialRows.find(call.db, ids, sql`vault_id in (select id from vaults where ${ownedByCaller(reach)})`)
}

/** Conditions of a list of credentials. */
export type CredentialFilter = { includeArchived?: boolean | null }

/** A vault's credentials, newest first. @throws BerthError not_found, invalid_request. */
export async function pageCredentials(
  call: Call,
  vaultId: string,
  window: PageWindow,
  filter?: CredentialFilter | null,
  direction: Direction = 'desc',
): Promise<Page<Credential>> {
  allow(call.caller, 'vaults:read')
  const id = decodeId('vault', vaultId)
  if (!id) throw notFound('vault')
  return (await pageCredentialsOfEach(call, [id], window, filter, direction))(id)
}

/** The same page for each vault of these stored ids. @throws BerthError invalid_request. */
export async function pageCredentialsOfEach(
  call: Call,
  vaultIds: readonly string[],
  window: PageWindow,
  filter?: CredentialFilter | null,
  direction?: Direction,
): Promise<PagesOf<Credential>> {
  const scope = allow(call.caller, 'vaults:read')
  return credentialRows.pageOfEach(call.db, window, {
    parents: sql`select id from vaults where id = any(${vaultIds}::uuid[]) and ${ownedByCaller(scope)}`,
    parentName: 'vault',
    chosen: sql`vault_id = parent.id and (${filter?.includeArchived ?? false} or archived_at is null)`,
    direction,
  })
}

/**
 * Renames a credential, or sets a new token for a static_bearer.
 * @throws BerthError not_found, vault_archived, resource_archived, mcp_server_url_immutable, secret_name_immutable,
 * invalid_request.
 */
export async function updateCredential(
  call: Call,
  vaultId: ParentId,
  id: string,
  input: CredentialInput<AuthChange>,
): Promise<Credential> {
  return changeCredential(call, vaultId, id, async (tx, vault, before) => {
    if (vault.archivedAt) throw vaultArchived()
    await checkStorage({ ...call, db: tx }, vault.organizationId, 'definitions')
    if (before.archivedAt)
      throw new BerthError(
        'resource_archived',
        'This credential is archived, so it cannot be changed. Create another one.',
      )
    if (changesNothing(input)) return before
    const secrets = readNewToken(call.config, before, input.auth)
    const displayName = input.displayName === undefined ? before.displayName : readDisplayName(input.displayName)
    const metadata = mergeMetadata(before.metadata, input.metadata)
    const sealed = secrets ? sealSecrets(call.sealer, before.id, secrets) : before.sealedSecrets
    const credential = await getOne<Credential>(
      tx,
      sql`
      update vault_credentials set display_name = ${displayName}, metadata = ${JSON.stringify(metadata)}::jsonb, sealed_secrets = ${sealed},
        token_generation = token_generation + ${secrets ? 1 : 0}, updated_at = now() where id = ${before.id} returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault_credential.updated', before.id)
    return credential
  })
}

/**
 * Archives a credential: its secrets are purged and its key becomes free; an archived one stays as it is.
 * @throws BerthError not_found.
 */
export async function archiveCredential(call: Call, vaultId: ParentId, id: string): Promise<Credential> {
  return changeCredential(call, vaultId, id, async (tx, vault, before) => {
    if (before.archivedAt) return before
    const credential = await getOne<Credential>(
      tx,
      sql`update vault_credentials set ${archivedColumns} where id = ${before.id} returning *`,
    )
    await addVaultEvent(tx, vault.id, 'vault_credential.archived', before.id)
    return credential
  })
}

/** Deletes a credential. @throws BerthError not_found. */
export async function deleteCredential(call: Call, vaultId: ParentId, id: string): Promise<void> {
  await changeCredential(call, vaultId, id, async (tx, vault, before) => {
    await change(tx, sql`delete from vault_credentials where id = ${before.id}`)
    await addVaultEvent(tx, vault.id, 'vault_credential.deleted', before.id)
    return before
  })
}

/** Changes one credential while its vault is locked. */
async function changeCredential(
  call: Call,
  vaultId: ParentId,
  id: string,
  work: (tx: Tx, vault: Vault, before: Credential) => Promise<Credential>,
): Promise<Credential> {
  const scope = allow(call.caller, 'vaults:write')
  const found = await readCredential(call.db, scope, vaultId, id) // absent vault or absent credential: the same answer
  return transaction(call.db, async (tx) => {
    const vault = await lockVault(tx, scope, encodeId('vault', found.vaultId))
    return work(tx, vault, await readCredential(tx, scope, vaultId, id))
  })
}

function readDisplayName(given: string | null | undefined): string | null {
  return given === undefined || given === null ? null : readName(given, 'display_name')
}
