/** New access tokens for credentials of type mcp_oauth. */
import { change, findOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import {
  refreshOnce,
  type GrantedTokens,
  type RefreshFailure,
  type RefreshResult,
  type RefreshServices,
  type StoredTokens,
} from '#src/resources/agents/mcp/refreshing.ts'
import {
  findCredentialRow,
  openSecrets,
  sealSecrets,
  type Credential,
  type McpOauthAuth,
  type McpOauthSecrets,
} from './rows.ts'
import { addVaultEvent } from '#src/resources/agents/vaults/events.ts'
import { holdVault } from '#src/resources/agents/vaults/rows.ts'

type OauthCredential = StoredTokens & { credential: Credential; auth: McpOauthAuth; secrets: McpOauthSecrets }

/** How a refresh ended. `gone`: the credential was archived or deleted meanwhile. */
export type RefreshOutcome = RefreshResult<OauthCredential>

/**
 * Gets a new access token, once for all concurrent callers.
 * @param seenGeneration the generation of the token that was refused; if the stored tokens are newer, they are
 * returned.
 */
export function refreshCredential(
  services: RefreshServices,
  credentialId: string,
  seenGeneration: number,
): Promise<RefreshOutcome> {
  const store = {
    lock: `vault_credential:${credentialId}`,
    read: () => readOauth(services, credentialId),
    keep: (held: OauthCredential, granted: GrantedTokens) => keepTokens(services, held, granted),
    noteFailure: ({ credential }: OauthCredential, { refused }: RefreshFailure) =>
      noteFailure(services, credential, refused),
  }
  return refreshOnce(services, store, seenGeneration)
}

/** A credential of this kind that is in use, with its secrets. */
async function readOauth({ db, sealer }: RefreshServices, id: string): Promise<OauthCredential | null> {
  const credential = await findCredentialRow(db, id)
  const secrets = credential && openSecrets<McpOauthSecrets>(sealer, credential)
  if (!credential || !secrets || credential.auth.type !== 'mcp_oauth') return null
  const { auth, tokenGeneration } = credential
  const { refresh } = auth
  const request =
    refresh && secrets.refresh_token !== null
      ? {
          tokenEndpoint: refresh.token_endpoint,
          clientId: refresh.client_id,
          clientAuth: refresh.token_endpoint_auth.type,
          clientSecret: secrets.client_secret,
          refreshToken: secrets.refresh_token,
          scope: refresh.scope,
          resource: refresh.resource,
        }
      : null
  return { credential, auth, secrets, tokenGeneration, accessToken: secrets.access_token, request }
}

/** Stores the new tokens if the old ones have not changed. */
async function keepTokens(
  services: RefreshServices,
  { credential, auth, secrets }: OauthCredential,
  { accessToken, refreshToken, expiresAt }: GrantedTokens,
): Promise<number | null> {
  const { id, vaultId, tokenGeneration } = credential
  const next: McpOauthSecrets = {
    ...secrets,
    access_token: accessToken,
    refresh_token: refreshToken ?? secrets.refresh_token,
  }
  const shown: McpOauthAuth = { ...auth, expires_at: expiresAt }
  const kept = await transaction(services.db, async (tx) => {
    await holdVault(tx, vaultId)
    const row = await findOne<Pick<Row<'vault_credentials'>, 'tokenGeneration'>>(
      tx,
      sql`
      update vault_credentials
      set sealed_secrets = ${sealSecrets(services.sealer, id, next)}, auth = ${JSON.stringify(shown)}::jsonb,
        token_generation = token_generation + 1, updated_at = now()
      where id = ${id} and token_generation = ${tokenGeneration} and archived_at is null returning token_generation`,
    )
    if (row) await addVaultEvent(tx, vaultId, 'vault_credential.refreshed', id)
    return row
  })
  return kept?.tokenGeneration ?? null
}

/**
 * Notifies the vault's subscribers, and records tokens that were refused permanently, so that sessions do not retry
 * them.
 */
async function noteFailure(
  { db }: RefreshServices,
  { id, vaultId, tokenGeneration }: Credential,
  refused: boolean,
): Promise<void> {
  await transaction(db, async (tx) => {
    await holdVault(tx, vaultId)
    const noted = refused
      ? await change(
          tx,
          sql`
            update vault_credentials
            set refused_generation = ${tokenGeneration}
            where id = ${id} and token_generation = ${tokenGeneration} and refused_generation is distinct from ${tokenGeneration}`,
        )
      : 1
    if (noted > 0) await addVaultEvent(tx, vaultId, 'vault_credential.refresh_failed', id)
  })
}
