/**
 * Where an agent's remote tools come from: tool servers, with credentials of vaults, and connectors, with the connection
 * of the person for whom the agent works.
 */
import type { AgentDefinition } from '#src/resources/agents/agents/rows.ts'
import { vaultBearer } from '#src/resources/agents/credentials/use.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { servicesOf } from '#src/resources/agents/mcp-services/services.ts'
import {
  listServiceTools,
  notConnectedSentence,
  serviceBearer,
  serviceOutcome,
} from '#src/resources/agents/mcp-services/tools.ts'
import type { RefreshServices } from './refreshing.ts'
import { listServerTools, type Bearer, type McpOutcome, type McpTool } from './servers.ts'

/** Whose tools they are, stored uuids. `userId` null: nobody's, so that no credential and no connector is used. */
export type SourceOwner = {
  definition: Pick<AgentDefinition, 'mcp_servers' | 'mcp_services'>
  organizationId: string
  userId: string | null
  vaultIds: readonly string[]
}

/** A source of tools, by the name that an agent has for it. */
export type ToolSource = {
  name: string
  url: string
  bearer: () => Promise<Bearer | null>
  /** The names of its tools that are not offered. */
  disabled: ReadonlySet<string>
  list: (signal?: AbortSignal) => Promise<McpOutcome<McpTool[]>>
  /** An outcome in terms of what its person can do about it. */
  told: <Result>(outcome: McpOutcome<Result>) => Promise<McpOutcome<Result>>
  /** Why it cannot be asked; null when it can. */
  missing: string | null
}

/** The sources of an agent's tools; a connector that left the catalog is none. */
export async function sourcesOf(services: RefreshServices, owner: SourceOwner): Promise<ToolSource[]> {
  return [...serversOf(services, owner), ...(await connectorsOf(services, owner))]
}

/** Lists the tools that a source offers. */
export async function listSourceTools(
  { missing, list, disabled }: ToolSource,
  signal?: AbortSignal,
): Promise<McpOutcome<McpTool[]>> {
  if (missing !== null) return { status: 'auth_required', error: missing, missingScope: null }
  const outcome = await list(signal)
  return outcome.status === 'ok'
    ? { status: 'ok', result: outcome.result.filter(({ name }) => !disabled.has(name)) }
    : outcome
}

function serversOf(
  services: RefreshServices,
  { definition, organizationId, userId, vaultIds }: SourceOwner,
): ToolSource[] {
  return definition.mcp_servers.map(({ name, url }) => {
    const bearer = async (): Promise<Bearer | null> =>
      userId === null ? null : vaultBearer(services, { organizationId, userId }, vaultIds, url)
    return {
      name,
      url,
      bearer,
      disabled: new Set<string>(),
      list: (signal) => listServerTools(services, { url, bearer, ...(signal ? { signal } : {}) }),
      told: async (outcome) => outcome,
      missing: null,
    }
  })
}

async function connectorsOf(
  services: RefreshServices,
  { definition, organizationId, userId }: SourceOwner,
): Promise<ToolSource[]> {
  const { mcp_servers: servers, mcp_services: wanted } = definition
  if (userId === null || wanted.length === 0) return []
  const owner = { organizationId, userId }
  const catalog = serviceCatalog(services.config)
  const entries = wanted.flatMap(({ id }) => (servers.some(({ name }) => name === id) ? [] : (catalog.get(id) ?? [])))
  const disabledOf = new Map(wanted.map(({ id, disabled_tools }) => [id, disabled_tools]))
  return (await servicesOf(services, owner, entries)).map((service) => ({
    name: service.id,
    url: service.url,
    bearer: () => serviceBearer(services, service),
    disabled: new Set([...(disabledOf.get(service.id) ?? []), ...service.disabledTools]),
    list: (signal) => listServiceTools(services, owner, service, signal),
    told: (outcome) => serviceOutcome(services, service, outcome),
    missing: service.connected ? null : notConnectedSentence(service.name),
  }))
}
