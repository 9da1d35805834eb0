/** A credential's row: its visible settings, and its secrets, sealed and bound to the row. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { isParent, type ParentId, rowsOf } from '#src/platform/nouns.ts'
import { change, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { ClientAuth } from '#src/drivers/oauth-tokens.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'

/** The visible settings of each kind, without secrets. */
export type StaticBearerAuth = { type: 'static_bearer'; mcp_server_url: string }
export type RefreshSettings = {
  client_id: string
  token_endpoint: string
  token_endpoint_auth: { type: ClientAuth }
  scope: string | null
  resource: string | null
}
/** OAuth access to a tool server, refreshed automatically when possible. */
export type McpOauthAuth = {
  type: 'mcp_oauth'
  mcp_server_url: string
  expires_at: string | null
  refresh: RefreshSettings | null
}
/** The hosts to which requests carry the secret. */
export type CredentialNetworking = { type: 'unrestricted' } | { type: 'limited'; allowed_hosts: string[] }
/** An environment variable of a session's VM. */
export type EnvironmentVariableAuth = {
  type: 'environment_variable'
  secret_name: string
  /**
   * Null: the VM holds the value itself. Otherwise it holds a placeholder, which the egress proxy replaces in requests
   * to these hosts.
   */
  networking: CredentialNetworking | null
  injection_location: { header: boolean; body: boolean } | null
}
/** The visible settings of a credential of any kind. */
export type CredentialAuth = StaticBearerAuth | McpOauthAuth | EnvironmentVariableAuth

/** The secrets of each kind. */
export type StaticBearerSecrets = { token: string }
export type McpOauthSecrets = { access_token: string; refresh_token: string | null; client_secret: string | null }
export type EnvironmentVariableSecrets = { secret_value: string }
export type CredentialSecrets = StaticBearerSecrets | McpOauthSecrets | EnvironmentVariableSecrets

/** A credential as it is stored; times are RFC 3339 text, ids are uuids. `sealedSecrets` is null once it is archived. */
export type Credential = Row<
  'vault_credentials',
  { auth: CredentialAuth; keyKind: 'mcp_server_url' | 'secret_name'; metadata: Metadata }
>

/** Credentials' rows. */
export const credentialRows = rowsOf<Credential>('credential', 'vault_credentials', 'credential')

/**
 * The credential of the caller's.
 * @param vaultPublicId when given, one of another vault is not found
 * @throws BerthError not_found, in the same words for a missing vault and a missing credential.
 */
export function readCredential(db: Db, scope: Scope, vaultPublicId: ParentId, publicId: string): Promise<Credential> {
  return credentialRows.read(
    db,
    publicId,
    sql`vault_id in (select id from vaults where ${isParent('vault', vaultPublicId)} and ${ownedByCaller(scope)})`,
  )
}

/** The credential, whoever owns it: for what runs on behalf of its owner. */
export async function findCredentialRow(db: Db, id: string): Promise<Credential | undefined> {
  return findOne<Credential>(db, sql`select * from vault_credentials where id = ${id}`)
}

/** Seals the secrets for this row. */
export function sealSecrets(sealer: Sealer, id: string, secrets: CredentialSecrets): Buffer {
  return sealer.seal(JSON.stringify(secrets), placeOf(id))
}

/** The secrets of a row that has them; their type follows from the kind of credential. */
export function openSecrets<Secrets extends CredentialSecrets>(
  sealer: Sealer,
  { id, sealedSecrets }: Pick<Credential, 'id' | 'sealedSecrets'>,
): Secrets | null {
  return sealedSecrets && (JSON.parse(sealer.open(sealedSecrets, placeOf(id))) as Secrets) // sealSecrets wrote it
}

/**
 * The columns that archiving sets. The secrets are purged; the key becomes free, because it is unique only among
 * credentials in use.
 */
export const archivedColumns = sql`archived_at = now(), updated_at = now(), sealed_secrets = null`

/** Archives every credential of a vault. */
export async function archiveCredentialsOf(tx: Tx, vaultId: string): Promise<void> {
  await change(
    tx,
    sql`update vault_credentials set ${archivedColumns} where vault_id = ${vaultId} and archived_at is null`,
  )
}

function placeOf(id: string): string {
  return `vault_credentials.sealed_secrets:${id}`
}
