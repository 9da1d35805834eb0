/**
 * Where an agent's remote tools come from: tool servers, with credentials of vaults, and connectors, with the connection
 * of the person for whom the agent works.
 */
import type { McpToolList } from '#src/drivers/mcp/tools.ts'
import type { AgentDefinition } from '#src/resources/agents/agents/rows.ts'
import { vaultBearer } from '#src/resources/agents/vaults/credentials/use.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { servicesOf } from '#src/resources/agents/mcp-services/services.ts'
import {
  listServiceTools,
  notConnectedSentence,
  serviceBearer,
  serviceOutcome,
} from '#src/resources/agents/mcp-services/tools.ts'
import type { RefreshServices } from '../mcp/refreshing.ts'
import { listServerTools, type Bearer, type McpOrder, type McpOutcome } from '../mcp/servers.ts'
import { sessionKeeper } from './kept-sessions.ts'

/**
 * Whose tools they are, stored uuids. `userId` null: nobody's, so that no credential and no connector is used; tool servers are
 * asked without a token.
 */
export type SourceOwner = {
  /** The session that goes on with the servers' sessions; absent: those end with each request. */
  sessionId?: string
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
  list: (signal?: AbortSignal) => Promise<McpOutcome<McpToolList>>
  /** Where the server's session is kept; null: it ends with each request. */
  keeper: McpOrder['keeper'] | null
  /** An outcome in terms of what its person can do about it. */
  explained: <Result>(outcome: McpOutcome<Result>) => Promise<McpOutcome<Result>>
  /** Why it cannot be asked; null when it can. */
  missing: Failed | null
}

type Failed = Exclude<McpOutcome<never>, { status: 'ok' }>

/** The sources of an agent's tools; `url` is empty for a connector that left the catalog. */
export async function sourcesOf(services: RefreshServices, owner: SourceOwner): Promise<ToolSource[]> {
  return [...serversOf(services, owner), ...(await connectorsOf(services, owner))]
}

/** Lists the tools that a source offers. */
export async function listSourceTools(
  { missing, list, disabled }: ToolSource,
  signal?: AbortSignal,
): Promise<McpOutcome<McpToolList>> {
  if (missing !== null) return missing
  const outcome = await list(signal)
  if (outcome.status !== 'ok') return outcome
  const { tools, leftOut } = outcome.result
  return { status: 'ok', result: { tools: tools.filter(({ name }) => !disabled.has(name)), leftOut } }
}

function serversOf(
  services: RefreshServices,
  { definition, organizationId, userId, vaultIds, sessionId }: SourceOwner,
): ToolSource[] {
  return definition.mcp_servers.map(({ name, url }) => {
    const bearer = async (): Promise<Bearer | null> =>
      userId === null ? null : vaultBearer(services, { organizationId, userId }, vaultIds, url)
    const keeper = keeperOf(services, sessionId, url)
    const explained = async <Result>(outcome: McpOutcome<Result>): Promise<McpOutcome<Result>> =>
      outcome.status === 'auth_required' && outcome.missingScope === null && outcome.notRenewed
        ? { status: 'unreachable', error: renewedLater[outcome.notRenewed] }
        : outcome
    return {
      name,
      url,
      bearer,
      keeper,
      disabled: new Set<string>(),
      list: async (signal) => explained(await listServerTools(services, { url, bearer, ...asked(keeper, signal) })),
      explained,
      missing: null,
    }
  })
}

const renewedLater = {
  unreachable:
    'The server refuses the token of its credential, and the token endpoint that renews it could not be reached. Try again later.',
  undecided:
    'The server refuses the token of its credential, and the token endpoint that renews it gave no other one now. Try again later.',
} as const

async function connectorsOf(
  services: RefreshServices,
  { definition, organizationId, userId, sessionId }: SourceOwner,
): Promise<ToolSource[]> {
  const { mcp_servers: servers, mcp_services: wanted } = definition
  if (userId === null || wanted.length === 0) return []
  const owner = { organizationId, userId }
  const catalog = serviceCatalog(services.config)
  const named = wanted.filter(({ id }) => !servers.some(({ name }) => name === id))
  const entries = named.flatMap(({ id }) => catalog.get(id) ?? [])
  const disabledOf = new Map(wanted.map(({ id, disabled_tools }) => [id, disabled_tools]))
  const present = (await servicesOf(services, owner, entries)).map(
    (service): ToolSource => ({
      name: service.id,
      url: service.url,
      keeper: keeperOf(services, sessionId, service.url),
      bearer: () => serviceBearer(services, service),
      disabled: new Set([...(disabledOf.get(service.id) ?? []), ...service.disabledTools]),
      list: (signal) =>
        listServiceTools(services, owner, service, asked(keeperOf(services, sessionId, service.url), signal)),
      explained: (outcome) => serviceOutcome(services, service, outcome),
      missing: service.connected
        ? null
        : { status: 'auth_required', error: notConnectedSentence(service), missingScope: null },
    }),
  )
  return [...present, ...named.flatMap(({ id }) => (catalog.has(id) ? [] : goneSource(id)))]
}

function keeperOf(services: RefreshServices, sessionId: string | undefined, url: string): ToolSource['keeper'] {
  return sessionId === undefined ? null : (bearer) => sessionKeeper(services, { sessionId, url }, bearer)
}

function asked(keeper: ToolSource['keeper'], signal: AbortSignal | undefined): Pick<McpOrder, 'keeper' | 'signal'> {
  return { ...(keeper ? { keeper } : {}), ...(signal ? { signal } : {}) }
}

/** A connector that the operator no longer offers. */
function goneSource(id: string): ToolSource {
  const missing: Failed = { status: 'unreachable', error: `The connector ${id} is no longer offered here.` }
  return {
    name: id,
    url: '',
    keeper: null,
    bearer: async () => null,
    disabled: new Set(),
    list: async () => missing,
    explained: async (outcome) => outcome,
    missing,
  }
}
