/** The tools that a session's model is offered, their names, and the validation of calls. */
import { jsonOf, objectOf } from '#src/drivers/models/json-values.ts'
import type { Tool } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import type { AgentDefinition, AgentTool, ToolSetting } from '#src/resources/agents/agents/rows.ts'
import { builtInTools, type BuiltInTool } from '../built-in-tools.ts'
import type { McpTool } from '#src/drivers/mcp/tools.ts'
import { findProblem } from './argument-checks.ts'
import { findGuestTool } from './guest-tools.ts'
import { mcpToolName } from './mcp-names.ts'
import { startOf } from '#src/platform/texts.ts'

/**
 * A tool that is offered. `name` is its own, `tool.name` what the model calls it. `kind`: `guest` runs in the session's
 * VM, `service` and `mcp` here, `client` is answered by the client.
 */
export type Offer = {
  tool: Tool
  name: string
  kind: 'guest' | 'service' | 'mcp' | 'client'
  serverName: string | null
  isAsked: boolean
}

/** The facts that decide which tools are offered. */
export type OfferFacts = {
  hasEnvironment: boolean
  canSearch: boolean
  usesMemories: boolean
  usedByVm: boolean
  toolsRunAtClient: boolean
  mcpTools: ReadonlyMap<string, readonly McpTool[]>
  /** Servers and connectors whose tools are asked for whatever the agent says. */
  askedFirst: ReadonlySet<string>
}

/** The maximum number of tools that a model is offered, whatever servers list. */
const offersMax = 300
/** The built-in tools that run here, each with what it needs. */
const serviceTools: ReadonlyMap<string, (facts: OfferFacts) => boolean> = new Map<
  string,
  (facts: OfferFacts) => boolean
>([
  ['web_fetch', () => true],
  ['web_search', ({ canSearch }) => canSearch],
  ['remember', ({ usesMemories }) => usesMemories],
  ['recall', ({ usesMemories }) => usesMemories],
  ['ask_peer', ({ usedByVm, toolsRunAtClient }) => !usedByVm && !toolsRunAtClient],
  ['deploy', ({ hasEnvironment, usedByVm }) => hasEnvironment && !usedByVm],
])

/** Every tool that the agent has and that works in this session. */
export function offersOf(agent: Pick<AgentDefinition, 'tools'> & Partial<AgentDefinition>, facts: OfferFacts): Offer[] {
  const offers = [...agent.tools, ...connectorToolsets(agent)].flatMap((entry) => offersOfEntry(entry, facts))
  const first = new Map(offers.toReversed().map((offer) => [offer.tool.name, offer]))
  return offers.filter((offer) => first.get(offer.tool.name) === offer).slice(0, offersMax)
}

/** The toolsets of connectors that the agent's tools say nothing of: all tools, each to be asked for. */
function connectorToolsets({
  tools,
  mcp_servers = [],
  mcp_services = [],
}: Parameters<typeof offersOf>[0]): AgentTool[] {
  const named = new Set([
    ...mcp_servers.map(({ name }) => name),
    ...tools.flatMap((entry) => (entry.type === 'mcp_toolset' ? [entry.mcp_server_name] : [])),
  ])
  const usual = { enabled: true, permission_policy: { type: 'always_ask' } } as const
  return mcp_services.flatMap(({ id }): AgentTool[] =>
    named.has(id) ? [] : [{ type: 'mcp_toolset', mcp_server_name: id, default_config: usual, configs: [] }],
  )
}

const invalidLength = 10_000

/**
 * Reads the arguments that a model wrote.
 * @returns the input, or a sentence for the model about what is wrong; in that case `input` is what could be parsed.
 */
export async function readArguments(
  text: string,
  offer: Offer | undefined,
): Promise<{ input: Record<string, unknown>; problem: string | null }> {
  const value = objectOf(jsonOf(text || '{}'))
  const input = isTooDeep(value, limits.jsonDepth) ? null : value
  if (!input)
    return {
      input: { invalid_arguments: startOf(text, invalidLength) },
      problem:
        'The arguments of this call are not a JSON object. Call the tool again with one that matches its schema.',
    }
  if (!offer) return { input, problem: 'There is no such tool. Use one of those that you were given.' }
  return { input, problem: await findProblem(input, offer.tool.parameters) }
}

function isTooDeep(value: unknown, left: number): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (left === 0 || Object.values(value).some((one) => isTooDeep(one, left - 1)))
  )
}

function offersOfEntry(entry: AgentTool, facts: OfferFacts): Offer[] {
  if (entry.type === 'custom') {
    return [
      {
        tool: { name: entry.name, description: entry.description, parameters: entry.input_schema, strict: null },
        name: entry.name,
        kind: 'client',
        serverName: null,
        isAsked: false,
      },
    ]
  }
  if (entry.type !== 'mcp_toolset')
    return builtInTools
      .filter(({ toolset }) => toolset === entry.type)
      .flatMap((tool) => builtInOffer(tool, settingOf(entry, tool.name), facts))
  const { mcp_server_name: serverName } = entry
  return (facts.mcpTools.get(serverName) ?? []).flatMap(({ name, description, inputSchema }): Offer[] => {
    const { enabled, permission_policy: policy } = settingOf(entry, name)
    if (!enabled) return []
    const parameters =
      typeof inputSchema === 'object' && inputSchema !== null ? (inputSchema as Tool['parameters']) : { type: 'object' }
    return [
      {
        tool: { name: mcpToolName(serverName, name), description, parameters, strict: null },
        name,
        kind: 'mcp',
        serverName,
        isAsked: policy.type === 'always_ask' || facts.askedFirst.has(serverName),
      },
    ]
  })
}

function builtInOffer(
  { name, description, inputSchema }: BuiltInTool,
  { enabled, permission_policy: policy }: ToolSetting,
  facts: OfferFacts,
): Offer[] {
  const kind = name === 'ask_user' ? 'client' : findGuestTool(name) ? 'guest' : 'service'
  const isThere =
    kind === 'client' || (kind === 'guest' ? facts.hasEnvironment : (serviceTools.get(name)?.(facts) ?? false))
  if (!enabled || !isThere) return []
  return [
    {
      tool: { name, description, parameters: inputSchema, strict: null },
      name,
      kind,
      serverName: null,
      isAsked: kind !== 'client' && policy.type === 'always_ask',
    },
  ]
}

function settingOf(
  { default_config: fallback, configs }: Extract<AgentTool, { configs: unknown }>,
  name: string,
): ToolSetting {
  return configs.find((one) => one.name === name) ?? fallback
}
