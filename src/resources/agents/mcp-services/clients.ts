/** What Berth is at authorization servers: a client of the operator's, a document of ours, or a registration. */
import { findClient, identityOf, type SignInClient, type SignInSelf } from '#src/drivers/mcp/sign-in/clients.ts'
import type { SignInPlace } from '#src/drivers/mcp/sign-in/places.ts'
import type { SignInReach } from '#src/drivers/mcp/sign-in/reach.ts'
import type { ClientAuth } from '#src/drivers/oauth-tokens.ts'
import type { Config } from '#src/platform/config.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { change, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { serviceCatalog, type McpServiceEntry } from './catalog.ts'

type Registered = Row<'mcp_clients', { clientAuth: ClientAuth }>

/** Where browsers come back to from signing in to a service: one address for each, so that none gets another's codes. */
export function callbackPath(serviceId: string): string {
  return `/agents/v1/mcp-services/callback/${serviceId}`
}

/** Where Berth's own metadata as a client for a service is published. */
export function documentPath(serviceId: string): string {
  return `/agents/v1/mcp-services/${serviceId}/client.json`
}

/** What Berth says of itself for a service. A document is only good where servers can read it, over https. */
export function selfOf(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { id, name }: Pick<McpServiceEntry, 'id' | 'name'>,
): SignInSelf {
  return {
    redirectUrl: publicUrl + callbackPath(id),
    documentUrl: publicUrl.startsWith('https:') ? publicUrl + documentPath(id) : null,
    name: `Berth (${name})`, // whoever agrees is to see for what
    websiteUrl: publicUrl,
  }
}

/** The client that signs people in at this place; registered there when it has to be. @throws SignInError. */
export async function clientAt(
  { db, sealer, config }: { db: Db; sealer: Sealer; config: Config },
  reach: SignInReach,
  entry: McpServiceEntry,
  place: SignInPlace,
): Promise<SignInClient> {
  const { clientId, clientSecret } = entry
  if (clientId !== null) return { ...identityOf({ clientId, clientSecret }, place.metadata), expiresAt: null }
  const self = selfOf(config, entry)
  const known = await findOne<Registered>(
    db,
    sql`
      select *
      from mcp_clients
      where issuer = ${place.issuer}
        and redirect_url = ${self.redirectUrl}
        and (expires_at is null or expires_at > now() + interval '1 hour')
      and created_at > now() - ${connectorLimits.registrationDays}::int * interval '1 day'`,
  )
  if (known) return openClient(sealer, known)
  const client = await findClient(reach, place, self)
  if (client.clientId === self.documentUrl) return client
  const secret = client.clientSecret && sealer.seal(client.clientSecret, placeOf(place.issuer))
  await change(
    db,
    sql`
    insert into mcp_clients (issuer, redirect_url, client_id, client_auth, sealed_secret, expires_at)
    values (${place.issuer}, ${self.redirectUrl}, ${client.clientId}, ${client.clientAuth}, ${secret}, ${client.expiresAt})
    on conflict (issuer, redirect_url) do update set client_id = excluded.client_id, client_auth = excluded.client_auth, sealed_secret = excluded.sealed_secret,
      expires_at = excluded.expires_at, created_at = now()`,
  )
  return client
}

/** Whether a client is a registration of Berth's: another sign-in can make another, unlike an operator's and a document. */
export function isRegistration(config: Config, serviceId: string, clientId: string): boolean {
  return (
    clientId !== serviceCatalog(config).get(serviceId)?.clientId &&
    clientId !== config.publicUrl + documentPath(serviceId)
  )
}

/** Forgets a registration that its server no longer knows, so that the next sign-in registers again. */
export async function forgetClient(db: Db, issuer: string, clientId: string): Promise<void> {
  await change(db, sql`delete from mcp_clients where issuer = ${issuer} and client_id = ${clientId}`)
}

function openClient(
  sealer: Sealer,
  { issuer, clientId, clientAuth, sealedSecret, expiresAt }: Registered,
): SignInClient {
  const clientSecret = sealedSecret && sealer.open(sealedSecret, placeOf(issuer))
  return { clientId, clientAuth, clientSecret, expiresAt }
}

function placeOf(issuer: string): string {
  return `mcp_clients.sealed_secret:${issuer}`
}
