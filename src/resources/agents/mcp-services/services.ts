/** The services of the catalog, as a person sees them: what they have connected, and what they chose. */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Db } from '#src/platform/postgres.ts'
import { serviceCatalog, type McpServiceEntry } from './catalog.ts'
import { findChoices } from './choices.ts'
import type { ConnectorOwner } from './people.ts'
import { findConnectionsOf, isRefused, type McpConnection } from './rows.ts'

/**
 * A service for one person. `connection` null: they have none to this service at its present address. `connected`: its
 * tools can be used, as far as is known.
 */
export type McpService = McpServiceEntry & {
  connection: McpConnection | null
  connected: boolean
  disabledTools: readonly string[]
  toolsCount: number
}

/** What people's services are read with. */
export type CatalogServices = { db: Db; config: Config }

/** These services of the catalog, with what the person has of them. */
export async function servicesOf(
  { db }: CatalogServices,
  owner: ConnectorOwner,
  entries: readonly McpServiceEntry[],
): Promise<McpService[]> {
  const connections = new Map((await findConnectionsOf(db, owner)).map((one) => [one.serviceId, one]))
  const choices = await findChoices(db, owner)
  return entries.map((entry) => {
    const choice = choices.get(entry.id)
    const known = connections.get(entry.id)
    const connection = known?.serverUrl === entry.url && entry.auth === 'oauth' ? known : null
    return {
      ...entry,
      connection,
      connected: entry.auth === 'none' || (connection !== null && !isRefused(connection)),
      disabledTools: choice?.disabledTools ?? [],
      toolsCount: choice?.toolsCount ?? 0,
    }
  })
}

/** A service of the catalog. @throws BerthError not_found. */
export function getEntry(config: Config, id: string): McpServiceEntry {
  const entry = serviceCatalog(config).get(id)
  if (!entry) throw noSuchConnector()
  return entry
}

/** A service of the catalog, for a person. @throws BerthError not_found. */
export async function serviceOf(services: CatalogServices, owner: ConnectorOwner, id: string): Promise<McpService> {
  const [service] = await servicesOf(services, owner, [getEntry(services.config, id)])
  if (!service) throw noSuchConnector()
  return service
}

/** The catalog is the same for everybody, so there is nothing of others to hide. */
function noSuchConnector(): BerthError {
  return new BerthError('not_found', 'There is no such connector. GET /agents/v1/mcp-services lists them.', {
    noun: 'connector',
  })
}
