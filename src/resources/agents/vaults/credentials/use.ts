/** What sessions use from their vaults: bearer tokens for tool servers, and environment variables for VMs. */
import { nowMs } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { normalServerUrl } from '#src/drivers/outbound-fetch.ts'
import type { MachineSecret } from '#src/drivers/compute/egress/secrets.ts'
import { writeVariables } from '#src/resources/infra/vms/variables.ts'
import { noteEnvChange } from '#src/resources/infra/vms/rows.ts'
import {
  openSecrets,
  type Credential,
  type CredentialNetworking,
  type EnvironmentVariableSecrets,
  type McpOauthSecrets,
  type StaticBearerSecrets,
} from './rows.ts'
import { refreshCredential } from './oauth-refresh.ts'
import { newerOf, notRenewedBy, type RefreshServices, type Renewal } from '#src/resources/agents/mcp/refreshing.ts'
import type { Bearer } from '#src/resources/agents/mcp/servers.ts'

/** The owner of the vaults: vaults of others are ignored, whatever ids are given. Stored uuids. */
export type VaultOwner = { organizationId: string; userId: string }

/** A token for a tool server, with its credential and the token's generation. */
export type BearerCredential = { credentialId: string; token: string; tokenGeneration: number }

/**
 * A variable for a VM. `value` is the secret itself, or with `networking` a placeholder that only the egress proxy can
 * replace.
 */
export type VaultVariable = {
  credentialId: string
  secretName: string
  value: string
  networking: CredentialNetworking | null
}

/** A token that expires within this time is refreshed before it is used. */
const earlyMs = 60_000

/**
 * The token for this server from the first vault that has one; null when none has. A token that is about to expire is
 * refreshed first; if that fails the old one is returned, and the server may answer 401.
 * @param vaultIds stored uuids; archived vaults are skipped.
 */
export async function credentialFor(
  services: RefreshServices,
  owner: VaultOwner,
  vaultIds: readonly string[],
  mcpServerUrl: string,
): Promise<BearerCredential | null> {
  const [credential] = await readUsable(services.db, owner, vaultIds, 'mcp_server_url', normalServerUrl(mcpServerUrl))
  const secrets = credential && openSecrets<StaticBearerSecrets | McpOauthSecrets>(services.sealer, credential)
  if (!credential || !secrets) return null
  const bearer = {
    credentialId: credential.id,
    token: 'token' in secrets ? secrets.token : secrets.access_token,
    tokenGeneration: credential.tokenGeneration,
  }
  const { auth } = credential
  const ending =
    auth.type === 'mcp_oauth' && auth.expires_at !== null && Date.parse(auth.expires_at) < nowMs() + earlyMs
  if (!ending || credential.refusedGeneration === credential.tokenGeneration) return bearer
  return newerOf(await refreshBearer(services, bearer)) ?? bearer
}

/** A newer token after a server refused this one with 401. */
export async function refreshBearer(
  services: RefreshServices,
  { credentialId, tokenGeneration }: BearerCredential,
): Promise<Renewal<BearerCredential>> {
  const refused = await findOne(
    services.db,
    sql`select 1 from vault_credentials where id = ${credentialId} and refused_generation = token_generation and token_generation = ${tokenGeneration}`,
  )
  if (refused) return null
  const outcome = await refreshCredential(services, credentialId, tokenGeneration)
  if (outcome.status === 'succeeded')
    return { credentialId, token: outcome.accessToken, tokenGeneration: outcome.tokenGeneration }
  return notRenewedBy(outcome)
}

/** The same as `credentialFor`, for a request to a tool server. */
export async function vaultBearer(
  services: RefreshServices,
  owner: VaultOwner,
  vaultIds: readonly string[],
  mcpServerUrl: string,
): Promise<Bearer | null> {
  const found = await credentialFor(services, owner, vaultIds, mcpServerUrl)
  return found && bearerOf(services, found)
}

function bearerOf(services: RefreshServices, credential: BearerCredential): Bearer {
  return {
    of: credential.credentialId,
    token: credential.token,
    async renew() {
      const newer = await refreshBearer(services, credential)
      return newer === null || typeof newer === 'string' ? newer : bearerOf(services, newer)
    },
  }
}

/** The environment variables of these vaults; of two with the same name, the earlier vault's. */
export async function openEnvironmentVariables(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  owner: VaultOwner,
  vaultIds: readonly string[],
): Promise<VaultVariable[]> {
  const rows = await readUsable(db, owner, vaultIds, 'secret_name', null)
  const variables = new Map<string, VaultVariable>()
  for (const row of rows) {
    const secrets = openSecrets<EnvironmentVariableSecrets>(sealer, row)
    if (!secrets || row.auth.type !== 'environment_variable' || variables.has(row.auth.secret_name)) continue
    const { secret_name: secretName, networking } = row.auth
    variables.set(secretName, {
      credentialId: row.id,
      secretName,
      networking,
      value: networking ? `berth-secret-${encodeId('credential', row.id)}` : secrets.secret_value,
    })
  }
  return [...variables.values()]
}

/** Every secret of these vaults, of all kinds of credentials: they must be masked where the vaults are used. */
export async function readSecretValues(
  { db, sealer }: { db: Db } & Pick<Services, 'sealer'>,
  owner: VaultOwner,
  vaultIds: readonly string[],
): Promise<string[]> {
  if (vaultIds.length === 0) return []
  const rows = await findAll<Credential>(
    db,
    sql`
    select c.* from vault_credentials c join vaults v on v.id = c.vault_id
    where v.id = any(${vaultIds}::uuid[])
      and v.organization_id = ${owner.organizationId}
      and v.owner_user_id = ${owner.userId}
      and c.sealed_secrets is not null
    order by c.id`,
  )
  return rows.flatMap((row) =>
    Object.values(openSecrets(sealer, row) ?? {}).filter((value) => typeof value === 'string'),
  )
}

/**
 * Sets these variables in a VM, as source `vault`, and allows its egress proxy to replace their placeholders.
 * @throws BerthError when they are too many or too large.
 */
export async function giveVariables(
  { sealer }: Pick<Services, 'sealer'>,
  tx: Tx,
  vmId: string,
  variables: readonly VaultVariable[],
): Promise<void> {
  if (variables.length === 0) return
  await writeVariables(
    { sealer },
    tx,
    vmId,
    'vault',
    Object.fromEntries(variables.map(({ secretName, value }) => [secretName, value])),
    'secret',
  )
  await change(
    tx,
    sql`
      insert into vm_credentials (vm_id, credential_id)
      select ${vmId}, id
      from unnest(${variables.filter(({ networking }) => networking).map(({ credentialId }) => credentialId)}::uuid[]) as given (id)
      on conflict do nothing`,
  )
  await noteEnvChange(tx, vmId)
}

/**
 * The secrets behind a VM's placeholders, except those of credentials that it was not given, or that are archived or
 * deleted.
 */
export async function findSecretUses(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  vmId: string,
): Promise<MachineSecret[]> {
  const credentials = await findAll<Credential>(
    db,
    sql`
    select c.* from vm_credentials g join vault_credentials c on c.id = g.credential_id where g.vm_id = ${vmId} and c.archived_at is null order by c.id`,
  )
  return credentials.flatMap((credential): MachineSecret[] => {
    const secrets = openSecrets<EnvironmentVariableSecrets>(sealer, credential)
    if (!secrets || credential.auth.type !== 'environment_variable' || !credential.auth.networking) return []
    const { networking, injection_location: location } = credential.auth
    return [
      {
        credentialId: credential.id,
        secret: secrets.secret_value,
        hosts: hostsOf(networking),
        inHeaders: location?.header ?? true,
        inBody: location?.body ?? false,
      },
    ]
  })
}

/** The hosts that the secrets behind a VM's placeholders are for, one entry for each; null means every host. */
export async function findSecretHosts(
  { db }: Pick<Services, 'db'>,
  vmId: string,
): Promise<(readonly string[] | null)[]> {
  const credentials = await findAll<Pick<Credential, 'auth'>>(
    db,
    sql`
    select c.auth from vm_credentials g join vault_credentials c on c.id = g.credential_id where g.vm_id = ${vmId} and c.archived_at is null`,
  )
  return credentials.flatMap(({ auth }) =>
    auth.type === 'environment_variable' && auth.networking ? [hostsOf(auth.networking)] : [],
  )
}

/** Credentials in use of these vaults, in the vaults' order. */
async function readUsable(
  db: Db,
  { organizationId, userId }: VaultOwner,
  vaultIds: readonly string[],
  keyKind: Credential['keyKind'],
  key: string | null,
): Promise<Credential[]> {
  return findAll(
    db,
    sql`
    select c.* from vault_credentials c join vaults v on v.id = c.vault_id
    where v.id = any(${vaultIds}::uuid[]) and v.organization_id = ${organizationId} and v.owner_user_id = ${userId} and v.archived_at is null
      and c.archived_at is null and c.key_kind = ${keyKind} and (${key}::text is null or c.key = ${key})
    order by array_position(${vaultIds}::uuid[], v.id), c.id`,
  )
}

function hostsOf(networking: CredentialNetworking): readonly string[] | null {
  return networking.type === 'limited' ? networking.allowed_hosts : null
}
