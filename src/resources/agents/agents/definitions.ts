/** Definitions of agents: read from a create request or changed by an update, complete with every default filled in. */
import { z } from 'zod'
import type { Config } from '#src/platform/config.ts'
import { readServerUrl } from '#src/drivers/outbound-fetch.ts'
import { BerthError } from '#src/platform/errors.ts'
import { isSameJson } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { exact } from '#src/platform/shapes.ts'
import { readAgentModel } from './models.ts'
import type { AgentDefinition, AgentSkill, McpServer, McpService } from './rows.ts'
import { serviceCatalog, serviceIdForm } from '#src/resources/agents/mcp-services/catalog.ts'
import { latestVersion } from './wire.ts'
import { readTools, refuseTwice } from './tools.ts'
import {
  mergeMetadata,
  nameShape,
  readDescription,
  readMetadata,
  readName,
  readShape,
  readText,
  usually,
} from '#src/platform/shapes/fields.ts'

/** The fields of an agent as callers send them: absent means the default, or unchanged. */
export type AgentFields = {
  name?: unknown
  model?: unknown
  description?: unknown
  system?: unknown
  tools?: unknown
  mcpServers?: unknown
  mcpServices?: unknown
  skills?: unknown
  multiagent?: unknown
  executionIdentity?: unknown
  metadata?: unknown
}

const servers = z
  .array(
    exact({
      type: z.literal('url'),
      name: nameShape,
      url: z.string(),
    }),
  )
  .max(limits.agentMcpServersMax, `an agent has at most ${limits.agentMcpServersMax} tool servers`)

const services = z
  .array(
    exact({
      id: z.string().regex(serviceIdForm, 'it must be the id of a connector, such as linear'),
      disabled_tools: usually(z.array(nameShape).max(limits.agentToolsMax), []),
    }),
  )
  .max(limits.agentMcpServicesMax, `an agent has at most ${limits.agentMcpServicesMax} connectors`)

const skills = z
  .array(
    exact({
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
  return {
    name: readName(given.name),
    description: readDescription(given.description),
    model: readAgentModel(config, given.model),
    system: readSystem(given.system),
    tools: readTools(given.tools, namesOf(mcpServers, mcpServices)),
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
  return {
    name: given.name === undefined ? before.name : readName(given.name),
    description: given.description === undefined ? before.description : readDescription(given.description),
    model: given.model === undefined ? before.model : readAgentModel(config, given.model),
    system: given.system === undefined ? before.system : readSystem(given.system),
    tools: readTools(given.tools === undefined ? before.tools : given.tools, namesOf(mcpServers, mcpServices)), // unchanged tools must match the new servers too
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

function readServers(config: Config, given: unknown): McpServer[] {
  const read = readShape(servers, given ?? [], 'mcp_servers')
  for (const [index, { url }] of read.entries()) readServerUrl(config, url, `mcp_servers[${index}].url`)
  refuseTwice(
    read.map(({ name }) => name),
    'mcp_servers',
  )
  return read
}

/** Reads an agent's connectors. @param before those that it has: one that left the catalog since may stay. */
function readServices(config: Config, given: unknown, before: readonly McpService[]): McpService[] {
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

function readSkills(given: unknown): AgentSkill[] {
  return readShape(skills, given ?? [], 'skills')
}

function readSystem(given: unknown): string | null {
  return readText(given, 'system', limits.agentSystemLength)
}

const identity = exact({
  type: z.literal('service_account', 'it must be service_account: sessions act as whoever starts them'),
}).nullish()

function refuseUnsupported({ multiagent, executionIdentity }: AgentFields): void {
  if (multiagent !== undefined && multiagent !== null)
    throw new BerthError(
      'invalid_request',
      'multiagent is not supported; leave it out, and use groups for several sessions.',
    )
  readShape(identity, executionIdentity, 'execution_identity')
}
