/** A connection's row: a person's access to a service, its tokens sealed and bound to the row. */
import type { ClientAuth } from '#src/drivers/oauth-tokens.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { change, findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { addConnectionEvent } from './events.ts'
import { lockPerson, type ConnectorOwner } from './people.ts'

/** A connection as it is stored; times are RFC 3339 text, ids are uuids. */
export type McpConnection = Row<'mcp_connections', { clientAuth: ClientAuth }>

/** What is sealed of a connection. */
export type ConnectionSecrets = { access_token: string; refresh_token: string | null; client_secret: string | null }

/** What a sign-in gives. */
export type NewConnection = Pick<
  McpConnection,
  | 'serviceId'
  | 'serverUrl'
  | 'issuer'
  | 'tokenEndpoint'
  | 'revocationEndpoint'
  | 'clientId'
  | 'clientAuth'
  | 'resource'
  | 'scope'
  | 'expiresAt'
> & { secrets: ConnectionSecrets }

/** Connections' rows. */
export const connectionRows = rowsOf<McpConnection>('mcpConnection', 'mcp_connections', 'connection')

/** The person's connection to a service. @param lock such as `for update`. */
export function findConnection(
  db: Db,
  { organizationId, userId }: ConnectorOwner,
  serviceId: string,
  lock = sql``,
): Promise<McpConnection | undefined> {
  return findOne<McpConnection>(
    db,
    sql`select * from mcp_connections where organization_id = ${organizationId} and owner_user_id = ${userId} and service_id = ${serviceId} ${lock}`,
  )
}

/** All connections of a person. */
export function findConnectionsOf(db: Db, { organizationId, userId }: ConnectorOwner): Promise<McpConnection[]> {
  return findAll<McpConnection>(
    db,
    sql`select * from mcp_connections where organization_id = ${organizationId} and owner_user_id = ${userId} order by id`,
  )
}

/** The connection of this stored id, whoever's it is: for what runs on behalf of its owner. */
export function findConnectionRow(db: Db, id: string): Promise<McpConnection | undefined> {
  return findOne<McpConnection>(db, sql`select * from mcp_connections where id = ${id}`)
}

/** Stores a connection, in place of the one to the same service. @param id of the row: a new one, or that one's. */
export async function putConnection(
  sealer: Sealer,
  tx: Tx,
  { id, personId, owner }: { id: string; personId: string; owner: ConnectorOwner },
  given: NewConnection,
): Promise<McpConnection> {
  const connection = await getOne<McpConnection>(
    tx,
    sql`
    insert into mcp_connections (id, person_id, organization_id, owner_user_id, service_id, server_url, issuer, token_endpoint,
      revocation_endpoint, client_id, client_auth, resource, scope, sealed_tokens, expires_at)
    values (${id}, ${personId}, ${owner.organizationId}, ${owner.userId}, ${given.serviceId}, ${given.serverUrl}, ${given.issuer},
      ${given.tokenEndpoint}, ${given.revocationEndpoint}, ${given.clientId}, ${given.clientAuth}, ${given.resource},
      ${given.scope}, ${sealSecrets(sealer, id, given.secrets)}, ${given.expiresAt})
    on conflict (person_id, service_id) do update set server_url = excluded.server_url, issuer = excluded.issuer, token_endpoint = excluded.token_endpoint,
      revocation_endpoint = excluded.revocation_endpoint, client_id = excluded.client_id, client_auth = excluded.client_auth,
      resource = excluded.resource, scope = excluded.scope,
      missing_scope = null, sealed_tokens = excluded.sealed_tokens, expires_at = excluded.expires_at, token_generation = mcp_connections.token_generation + 1,
      connected_at = now(), updated_at = now()
    returning *`,
  )
  await addConnectionEvent(
    tx,
    { personId, serviceId: given.serviceId, connectionId: connection.id },
    'mcp_service.connected',
  )
  return connection
}

/** Stores newer tokens, unless others were stored meanwhile. @returns their generation when it did. */
export async function replaceTokens(
  sealer: Sealer,
  db: Db,
  { id, tokenGeneration }: McpConnection,
  secrets: ConnectionSecrets,
  expiresAt: string | null,
): Promise<number | null> {
  const row = await findOne<Pick<McpConnection, 'tokenGeneration'>>(
    db,
    sql`
    update mcp_connections
    set sealed_tokens = ${sealSecrets(sealer, id, secrets)}, expires_at = ${expiresAt}, token_generation = token_generation + 1,
      updated_at = now()
    where id = ${id} and token_generation = ${tokenGeneration} returning token_generation`,
  )
  return row?.tokenGeneration ?? null
}

/** Records that nothing gets this connection's service to accept it but its person, and tells them. */
export async function noteRefusal(tx: Tx, { id, tokenGeneration, ...connection }: McpConnection): Promise<void> {
  const person = await lockPerson(tx, { organizationId: connection.organizationId, userId: connection.ownerUserId })
  const noted = await change(
    tx,
    sql`
      update mcp_connections
      set refused_generation = ${tokenGeneration}, updated_at = now()
      where id = ${id} and token_generation = ${tokenGeneration} and refused_generation is distinct from ${tokenGeneration}`,
  )
  if (noted > 0) await noteReconnectNeeded(tx, person.id, connection.serviceId, id)
}

/** Records which scopes the service asks for besides those that it gave, and tells the person. */
export async function noteMissingScope(
  tx: Tx,
  { id, tokenGeneration, ...connection }: McpConnection,
  scope: string,
): Promise<void> {
  const person = await lockPerson(tx, { organizationId: connection.organizationId, userId: connection.ownerUserId })
  const noted = await change(
    tx,
    sql`
      update mcp_connections
      set missing_scope = ${scope}, updated_at = now()
      where id = ${id} and token_generation = ${tokenGeneration} and missing_scope is distinct from ${scope}`,
  )
  if (noted > 0) await noteReconnectNeeded(tx, person.id, connection.serviceId, id)
}

/** Removes a person's connection to a service. @returns what was removed. */
export async function removeConnection(
  tx: Tx,
  owner: ConnectorOwner,
  serviceId: string,
): Promise<McpConnection | undefined> {
  const person = await lockPerson(tx, owner)
  const gone = await findOne<McpConnection>(
    tx,
    sql`delete from mcp_connections where person_id = ${person.id} and service_id = ${serviceId} returning *`,
  )
  if (gone)
    await addConnectionEvent(tx, { personId: person.id, serviceId, connectionId: gone.id }, 'mcp_service.disconnected')
  return gone
}

/** Whether the service still accepts the connection, as far as is known. */
export function isRefused({ refusedGeneration, tokenGeneration }: McpConnection): boolean {
  return refusedGeneration === tokenGeneration
}

/** The tokens of a connection. */
export function openSecrets(sealer: Sealer, { id, sealedTokens }: McpConnection): ConnectionSecrets {
  return JSON.parse(sealer.open(sealedTokens, placeOf(id))) as ConnectionSecrets // sealed below
}

function sealSecrets(sealer: Sealer, id: string, secrets: ConnectionSecrets): Buffer {
  return sealer.seal(JSON.stringify(secrets), placeOf(id))
}

function placeOf(id: string): string {
  return `mcp_connections.sealed_tokens:${id}`
}

function noteReconnectNeeded(tx: Tx, personId: string, serviceId: string, connectionId: string): Promise<void> {
  return addConnectionEvent(tx, { personId, serviceId, connectionId }, 'mcp_service.reconnect_needed')
}
