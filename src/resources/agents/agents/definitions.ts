/** Definitions of agents: read from a create request or changed by an update, complete with every default filled in. */
import { z } from 'zod'
import type { Config } from '#src/platform/config.ts'
import { readServerUrl } from '#src/drivers/outbound-fetch.ts'
import { BerthError } from '#src/platform/errors.ts'
import { isSameJson } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { readAgentModel, type AgentModelInput } from './models.ts'
import type { AgentDefinition, AgentSkill, McpServer, McpService } from './rows.ts'
import { serviceCatalog, serviceIdForm } from '#src/resources/agents/mcp-services/catalog.ts'
import { latestVersion } from './wire.ts'
import { checkTogether, readTools, refuseTwice, type AgentToolInput } from './tools.ts'
import {
  mergeMetadata,
  nameShape,
  readDescription,
  readMetadata,
  readName,
  readShape,
  readText,
  usually,
  type MetadataInput,
} from '#src/platform/shapes/fields.ts'
import { input } from '#src/platform/shapes/inputs.ts'

/** The fields of an agent as callers send them: absent means the default, or unchanged. */
export type AgentFields = {
  name?: string | null
  model?: AgentModelInput | null
  description?: string | null
  system?: string | null
  tools?: readonly AgentToolInput[] | null
  mcpServers?: z.input<typeof servers> | null
  mcpServices?: z.input<typeof services> | null
  skills?: z.input<typeof skills> | null
  multiagent?: unknown
  executionIdentity?: z.input<typeof identity>
  metadata?: MetadataInput | null
}

const servers = z
  .array(
    input({
      type: z.literal('url'),
      name: nameShape,
      url: z.string(),
    }),
  )
  .max(limits.agentMcpServersMax, `an agent has at most ${limits.agentMcpServersMax} tool servers`)

const services = z
  .array(
    input({
      id: z.string().regex(serviceIdForm, 'it must be the id of a connector, such as linear'),
      disabled_tools: usually(z.array(nameShape).max(limits.agentToolsMax), []),
    }),
  )
  .max(limits.agentMcpServicesMax, `an agent has at most ${limits.agentMcpServicesMax} connectors`)

const skills = z
  .array(
    input({
      type: z.enum(['anthropic', 'custom']),
      skill_id: nameShape,
      version: usually(nameShape, latestVersion),
    }),
  )
  .max(limits.agentSkillsMax, `an agent has at most ${limits.agentSkillsMax} skills`)

/** The definition of a new agent. @throws BerthError invalid_request, unknown_model, unknown_tool. */
export function readDefinition(config: Config, given: AgentFields): AgentDefinition {
  refuseUnsupported(given)
  const mcpServers = readServers(config, given.mcpServers)
  const mcpServices = readServices(config, given.mcpServices, [])
  const names = namesOf(mcpServers, mcpServices)
  return {
    name: readName(given.name),
    description: readDescription(given.description),
    model: readAgentModel(config, given.model),
    system: readSystem(given.system),
    tools: checkTogether(readTools(given.tools), names),
    mcp_servers: mcpServers,
    mcp_services: mcpServices,
    skills: readSkills(given.skills),
    metadata: readMetadata(given.metadata),
  }
}

/**
 * The definition after an update: omitted fields stay, null clears, lists are replaced, metadata is merged.
 * @throws BerthError as readDefinition.
 */
export function changeDefinition(config: Config, before: AgentDefinition, given: AgentFields): AgentDefinition {
  refuseUnsupported(given)
  const mcpServers = given.mcpServers === undefined ? before.mcp_servers : readServers(config, given.mcpServers)
  const mcpServices =
    given.mcpServices === undefined ? before.mcp_services : readServices(config, given.mcpServices, before.mcp_services)
  const names = namesOf(mcpServers, mcpServices)
  return {
    name: given.name === undefined ? before.name : readName(given.name),
    description: given.description === undefined ? before.description : readDescription(given.description),
    model: given.model === undefined ? before.model : readAgentModel(config, given.model),
    system: given.system === undefined ? before.system : readSystem(given.system),
    tools: checkTogether(given.tools === undefined ? before.tools : readTools(given.tools), names), // unchanged tools must match the new servers too
    mcp_servers: mcpServers,
    mcp_services: mcpServices,
    skills: given.skills === undefined ? before.skills : readSkills(given.skills),
    metadata: mergeMetadata(before.metadata, given.metadata),
  }
}

/** Whether two definitions are equal, whatever the order of their keys. */
export function sameDefinition(one: AgentDefinition, other: AgentDefinition): boolean {
  return isSameJson(one, other)
}

function readServers(config: Config, given: AgentFields['mcpServers']): McpServer[] {
  const read = readShape(servers, given ?? [], 'mcp_servers')
  for (const [index, { url }] of read.entries()) readServerUrl(config, url, `mcp_servers[${index}].url`)
  refuseTwice(
    read.map(({ name }) => name),
    'mcp_servers',
  )
  return read
}

/** Reads an agent's connectors. @param before those that it has: one that left the catalog since may stay. */
function readServices(config: Config, given: AgentFields['mcpServices'], before: readonly McpService[]): McpService[] {
  const read = readShape(services, given ?? [], 'mcp_services')
  refuseTwice(
    read.map(({ id }) => id),
    'mcp_services',
  )
  const catalog = serviceCatalog(config)
  for (const [index, { id }] of read.entries())
    if (!catalog.has(id) && !before.some((one) => one.id === id))
      throw new BerthError(
        'invalid_request',
        `mcp_services[${index}].id: there is no connector ${id}; GET /v1/mcp-services lists them.`,
      )
  return read
}

/** The names of everything whose tools a toolset may be about. @throws BerthError invalid_request when two are the same. */
function namesOf(servers: readonly McpServer[], services: readonly McpService[]): string[] {
  const names = servers.map(({ name }) => name)
  const index = services.findIndex(({ id }) => names.includes(id))
  if (index >= 0)
    throw new BerthError(
      'invalid_request',
      `mcp_services[${index}].id is also the name of one of mcp_servers; rename that one.`,
    )
  return [...names, ...services.map(({ id }) => id)]
}

function readSkills(given: AgentFields['skills']): AgentSkill[] {
  return readShape(skills, given ?? [], 'skills')
}

function readSystem(given: string | null | undefined): string | null {
  return readText(given, 'system', limits.agentSystemLength)
}

const onlyIdentity: z.ZodType<'service_account', string> = z.literal(
  'service_account',
  'it must be service_account: sessions act as whoever starts them',
)
const identity = input({ type: onlyIdentity }).nullish()

function refuseUnsupported({ multiagent, executionIdentity }: AgentFields): void {
  if (multiagent !== undefined && multiagent !== null)
    throw new BerthError(
      'invalid_request',
      'multiagent is not supported; leave it out, and use groups for several sessions.',
    )
  readShape(identity, executionIdentity, 'execution_identity')
}
