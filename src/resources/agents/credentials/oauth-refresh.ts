/**
 * New access tokens for credentials of type mcp_oauth. A refresh token may be valid for one use only, so one process at
 * a time exchanges it, and the result is stored only if nothing newer was stored meanwhile.
 */
import { change, findOne, sql, transaction } from '#src/platform/postgres.ts'
import { withLock } from '#src/platform/locks/locks.ts'
import type { Services } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { exchangeRefreshToken, type HttpAnswer, type RefreshAnswer } from '#src/drivers/oauth-tokens.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
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

/** What refreshing needs of the platform. */
export type RefreshServices = Pick<Services, 'config' | 'database' | 'db' | 'sealer'>

/**
 * How a refresh ended. `refused`: the authorization server will not accept this refresh token again. `gone`: the
 * credential was archived or deleted meanwhile. `sent`: the secrets that the response may repeat.
 */
export type RefreshOutcome =
  | { status: 'succeeded'; accessToken: string; tokenGeneration: number }
  | { status: 'failed'; refused: boolean; answer: HttpAnswer; sent: McpOauthSecrets }
  | { status: 'connect_error' | 'no_refresh_token' | 'gone' }

const underWay = new Map<string, Promise<RefreshOutcome>>()

/**
 * Gets a new access token, once for all concurrent callers.
 * @param seenGeneration the generation of the token that was refused; if the stored tokens are newer, they are
 * returned.
 */
export async function refreshCredential(
  services: RefreshServices,
  credentialId: string,
  seenGeneration: number,
): Promise<RefreshOutcome> {
  const running = underWay.get(credentialId)
  if (running) return running
  const refresh = withLock(services.database.url, `vault_credential:${credentialId}`, () =>
    refreshLocked(services, credentialId, seenGeneration),
  ).finally(() => underWay.delete(credentialId))
  underWay.set(credentialId, refresh)
  return refresh
}

async function refreshLocked(services: RefreshServices, id: string, seenGeneration: number): Promise<RefreshOutcome> {
  const before = await readOauth(services, id)
  if (!before) return { status: 'gone' }
  const {
    credential: { tokenGeneration },
    auth: { refresh },
    secrets,
  } = before
  if (tokenGeneration !== seenGeneration)
    return { status: 'succeeded', accessToken: secrets.access_token, tokenGeneration }
  if (!refresh || secrets.refresh_token === null) return { status: 'no_refresh_token' }
  const answer = await exchangeRefreshToken(outboundFetch(services.config), {
    tokenEndpoint: refresh.token_endpoint,
    clientId: refresh.client_id,
    clientAuth: refresh.token_endpoint_auth.type,
    clientSecret: secrets.client_secret,
    refreshToken: secrets.refresh_token,
    scope: refresh.scope,
    resource: refresh.resource,
  })
  if (answer.status === 'succeeded') return keepTokens(services, before, answer)
  if (answer.status === 'connect_error') return { status: 'connect_error' }
  // Another process, which lost its lock with its connection, may have used up the refresh token before us. Then return
  // its tokens.
  const after = await readOauth(services, id)
  if (!after) return { status: 'gone' }
  if (after.credential.tokenGeneration !== tokenGeneration)
    return {
      status: 'succeeded',
      accessToken: after.secrets.access_token,
      tokenGeneration: after.credential.tokenGeneration,
    }
  await noteFailure(services, before.credential, answer.refused)
  return { status: 'failed', refused: answer.refused, answer: answer.answer, sent: secrets }
}

type OauthCredential = { credential: Credential; auth: McpOauthAuth; secrets: McpOauthSecrets }

/** A credential of this kind that is in use, with its secrets. */
async function readOauth({ db, sealer }: RefreshServices, id: string): Promise<OauthCredential | null> {
  const credential = await findCredentialRow(db, id)
  const secrets = credential && openSecrets<McpOauthSecrets>(sealer, credential)
  return credential && secrets && credential.auth.type === 'mcp_oauth'
    ? { credential, auth: credential.auth, secrets }
    : null
}

/** Stores the new tokens if the old ones have not changed. */
async function keepTokens(
  services: RefreshServices,
  { credential, auth, secrets }: OauthCredential,
  { accessToken, refreshToken, expiresAt }: RefreshAnswer & { status: 'succeeded' },
): Promise<RefreshOutcome> {
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
      update vault_credentials set sealed_secrets = ${sealSecrets(services.sealer, id, next)}, auth = ${JSON.stringify(shown)}::jsonb, token_generation = token_generation + 1, updated_at = now()
      where id = ${id} and token_generation = ${tokenGeneration} and archived_at is null returning token_generation`,
    )
    if (row) await addVaultEvent(tx, vaultId, 'vault_credential.refreshed', id)
    return row
  })
  if (kept) return { status: 'succeeded', accessToken, tokenGeneration: kept.tokenGeneration }
  const after = await readOauth(services, id)
  return after
    ? {
        status: 'succeeded',
        accessToken: after.secrets.access_token,
        tokenGeneration: after.credential.tokenGeneration,
      }
    : { status: 'gone' }
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
          sql`update vault_credentials set refused_generation = ${tokenGeneration} where id = ${id} and token_generation = ${tokenGeneration} and refused_generation is distinct from ${tokenGeneration}`,
        )
      : 1
    if (noted > 0) await addVaultEvent(tx, vaultId, 'vault_credential.refresh_failed', id)
  })
}
