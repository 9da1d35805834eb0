/** A connection's token for its service, refreshed before it ends or when it is refused, once for all who ask. */
import { revokeAt } from '#src/drivers/mcp/sign-in.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { nowMs } from '#src/platform/clock.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { transaction } from '#src/platform/postgres.ts'
import {
  newerOf,
  notRenewedBy,
  refreshOnce,
  type GrantedTokens,
  type RefreshServices,
  type StoredTokens,
  type TokenStore,
} from '#src/resources/agents/mcp/refreshing.ts'
import type { Bearer } from '#src/resources/agents/mcp/servers.ts'
import { serviceCatalog } from './catalog.ts'
import { forgetClient, isRegistration } from './clients.ts'
import {
  findConnectionRow,
  isRefused,
  noteRefusal,
  openSecrets,
  replaceTokens,
  type ConnectionSecrets,
  type McpConnection,
} from './rows.ts'

type Held = StoredTokens & { connection: McpConnection; secrets: ConnectionSecrets }

/**
 * The connection's token. One that is about to end is refreshed first; if that fails the old one is returned, and the
 * service may refuse it.
 */
export async function connectionBearer(services: RefreshServices, connection: McpConnection): Promise<Bearer> {
  const { tokenGeneration, expiresAt } = connection
  const bearer = bearerOf(services, connection, openSecrets(services.sealer, connection).access_token, tokenGeneration)
  const isEnding = expiresAt !== null && Date.parse(expiresAt) < nowMs() + connectorLimits.earlySeconds * 1000
  if (!isEnding || isRefused(connection)) return bearer
  return newerOf(await bearer.renew()) ?? bearer
}

function bearerOf(
  services: RefreshServices,
  connection: McpConnection,
  token: string,
  tokenGeneration: number,
): Bearer {
  return {
    of: connection.id,
    token,
    async renew() {
      const now = await findConnectionRow(services.db, connection.id)
      if (!now || (isRefused(now) && now.tokenGeneration === tokenGeneration)) return null
      const outcome = await refreshOnce(services, storeOf(services, connection.id), tokenGeneration)
      if (outcome.status === 'no_refresh_token')
        await transaction(services.db, (tx) => noteRefusal(tx, { ...now, tokenGeneration }))
      if (outcome.status === 'succeeded')
        return bearerOf(services, connection, outcome.accessToken, outcome.tokenGeneration)
      const after = await findConnectionRow(services.db, connection.id)
      return after && !isRefused(after) ? notRenewedBy(outcome) : null // a client that is unknown is refused for good
    },
  }
}

function storeOf(services: RefreshServices, id: string): TokenStore<Held> {
  return {
    lock: `mcp_connection:${id}`,
    read: () => readHeld(services, id),
    keep: (held, granted) => keepTokens(services, held, granted),
    async noteFailure({ connection }, { refused, clientUnknown }) {
      const { serviceId, issuer, clientId } = connection
      const isForgotten = clientUnknown && isRegistration(services.config, serviceId, clientId)
      if (isForgotten) await forgetClient(services.db, issuer, clientId)
      if (refused || isForgotten) await transaction(services.db, (tx) => noteRefusal(tx, connection))
    },
  }
}

async function readHeld({ db, sealer, config }: RefreshServices, id: string): Promise<Held | null> {
  const connection = await findConnectionRow(db, id)
  if (!connection) return null
  const secrets = openSecrets(sealer, connection)
  const { tokenGeneration, tokenEndpoint, clientId, clientAuth, resource } = connection
  const entry = serviceCatalog(config).get(connection.serviceId)
  const ours = entry?.clientId === clientId ? entry.clientSecret : null // the operator may have replaced it
  return {
    connection,
    secrets,
    tokenGeneration,
    accessToken: secrets.access_token,
    request:
      secrets.refresh_token === null || isRefused(connection)
        ? null
        : {
            tokenEndpoint,
            clientId,
            clientAuth,
            clientSecret: ours ?? secrets.client_secret,
            refreshToken: secrets.refresh_token,
            scope: null,
            resource,
          },
  }
}

async function keepTokens(
  services: RefreshServices,
  { connection, secrets }: Held,
  { accessToken, refreshToken, expiresAt }: GrantedTokens,
): Promise<number | null> {
  const next = { ...secrets, access_token: accessToken, refresh_token: refreshToken ?? secrets.refresh_token }
  const kept = await replaceTokens(services.sealer, services.db, connection, next, expiresAt)
  if (kept !== null) return kept
  // Disconnected or connected anew while the server answered: then nobody else withdraws what it gave.
  const now = await findConnectionRow(services.db, connection.id)
  if (!now || isOtherGrant(connection, now)) await withdrawTokens(services, connection, next)
  return null
}

/**
 * Whether these are certainly not one grant, because another client or another server is in it: of one, some servers end
 * all tokens when one is withdrawn.
 */
export function isOtherGrant(
  one: Pick<McpConnection, 'issuer' | 'clientId'>,
  other: Pick<McpConnection, 'issuer' | 'clientId'>,
): boolean {
  return one.issuer !== other.issuer || one.clientId !== other.clientId
}

/** Withdraws a connection's tokens at its authorization server, if that has an address for it and answers in time. */
export async function withdrawTokens(
  { config }: Pick<RefreshServices, 'config'>,
  { revocationEndpoint, clientId, clientAuth }: Pick<McpConnection, 'revocationEndpoint' | 'clientId' | 'clientAuth'>,
  { access_token: access, refresh_token: refresh, client_secret: clientSecret }: ConnectionSecrets,
): Promise<void> {
  if (revocationEndpoint === null) return
  const client = { clientId, clientAuth, clientSecret }
  const fetch = outboundFetch(config)
  await Promise.all([
    revokeAt(fetch, revocationEndpoint, client, { token: access, hint: 'access_token' }),
    ...(refresh === null
      ? []
      : [revokeAt(fetch, revocationEndpoint, client, { token: refresh, hint: 'refresh_token' })]),
  ])
}
