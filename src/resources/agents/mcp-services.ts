/**
 * Connectors: services with tool servers that the operator lists, which people connect by signing in to them, and which
 * their agents then use.
 */
import type { McpTool } from '#src/drivers/mcp/tools.ts'
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { readPageBy, type Cursors, type Page, type PageReading, type PageWindow } from '#src/platform/pages.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { isWithText, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { serviceCatalog } from './mcp-services/catalog.ts'
import { putDisabledTools, readDisabledTools } from './mcp-services/choices.ts'
import { spendRequest } from './mcp-services/connecting.ts'
import { connectorOwner } from './mcp-services/people.ts'
import { connectionRows, type McpConnection } from './mcp-services/rows.ts'
import { getEntry, serviceOf, servicesOf, type McpService } from './mcp-services/services.ts'
import { listServiceTools, notConnectedSentence } from './mcp-services/tools.ts'

/** The tools of a service now, and those that the person does not want. */
export type McpServiceTools = { tools: McpTool[]; disabledTools: readonly string[]; leftOut: string | null }

/** The services of the catalog, in its order, for the caller. @throws BerthError invalid_request. */
export async function pageServices(
  call: Call,
  window: PageWindow,
  filter?: TextFilter | null,
): Promise<Page<McpService>> {
  const owner = connectorOwner(allow(call.caller, 'connectors:read'))
  const entries = [...serviceCatalog(call.config).values()].filter(({ name }) => isWithText(filter ?? {}, name))
  const byPlace: Cursors<McpService, number> = {
    keyOf(cursor) {
      const place = entries.findIndex(({ id }) => id === cursor)
      return place < 0 ? undefined : place
    },
    cursorOf: ({ id }) => id,
  }
  const between = ({ after, before }: PageReading<number>) => entries.slice((after ?? -1) + 1, before ?? entries.length)
  return readPageBy(
    byPlace,
    window,
    (reading) => {
      const { most, fromEnd } = reading
      const found = between(reading)
      return servicesOf(call, owner, fromEnd ? found.toReversed().slice(0, most) : found.slice(0, most))
    },
    async (reading) => between(reading).length,
  )
}

/** One service of the catalog, for the caller. @throws BerthError not_found. */
export async function getService(call: Call, id: string): Promise<McpService> {
  return serviceOf(call, connectorOwner(allow(call.caller, 'connectors:read')), id)
}

/** The connections of these stored ids that are the caller's. */
export async function findMcpConnections(call: Call, ids: readonly string[]): Promise<McpConnection[]> {
  const { organizationId, userId } = connectorOwner(allow(call.caller, 'connectors:read'))
  return connectionRows.find(call.db, ids, sql`organization_id = ${organizationId} and owner_user_id = ${userId}`)
}

/**
 * Asks a service for its tools, within 10 s.
 * @throws BerthError not_found; provider_not_connected; service_unavailable when it does not answer.
 */
export async function listToolsOfService(call: Call, id: string): Promise<McpServiceTools> {
  const owner = connectorOwner(allow(call.caller, 'connectors:read'))
  const service = await serviceOf(call, owner, id)
  if (!service.connected) throw new BerthError('provider_not_connected', notConnectedSentence(service))
  await spendRequest(call, owner)
  const outcome = await listServiceTools(call, owner, service)
  if (outcome.status === 'ok') return { ...outcome.result, disabledTools: service.disabledTools }
  throw new BerthError(
    outcome.status === 'auth_required' ? 'provider_not_connected' : 'service_unavailable',
    outcome.error,
  )
}

/**
 * Replaces the set of tools that the caller does not want of a service; names that it does not have are kept.
 * @throws BerthError not_found, invalid_request; rate_limited when the organization may store no more.
 */
export async function selectTools(
  call: Call,
  { id, disabledTools }: { id: string; disabledTools: readonly string[] },
): Promise<McpService> {
  const owner = connectorOwner(allow(call.caller, 'connectors:write'))
  getEntry(call.config, id)
  const names = readDisabledTools(disabledTools)
  if (names.length > 0) await checkStorage(call, owner.organizationId, 'definitions')
  await transaction(call.db, (tx) => putDisabledTools(tx, owner, id, names))
  return serviceOf(call, owner, id)
}
