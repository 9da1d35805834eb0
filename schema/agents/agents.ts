/** Agents in GraphQL. */
import { archivedArguments, createdArguments, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { connectionOf, listArguments, listTypeOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Agent, AgentModel, McpServer, McpService } from '#src/resources/agents/agents/rows.ts'
import { executionIdentity, wireModel, wireSkills, wireTools } from '#src/resources/agents/agents/wire.ts'
import {
  archiveAgent,
  createAgent,
  deleteAgent,
  getAgent,
  listAgents,
  listAgentVersions,
  pageAgents,
  updateAgent,
} from '#src/resources/agents/agents.ts'

const agentModel = builder.objectRef<AgentModel>('AgentModel').implement({
  description: 'The model that an agent asks, and how.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'As the list of models names it.' }),
    effort: t.exposeString('effort', {
      nullable: true,
      description: '`low`, `medium`, `high`, `xhigh` or `max`; null for the model’s own.',
    }),
    speed: t.exposeString('speed', { description: '`standard` or `fast`.' }),
  }),
})
const mcpServer = builder.objectRef<McpServer>('McpServer').implement({
  description: 'A tool server that an agent connects to.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `url`.' }),
    name: t.exposeString('name', { description: 'What the agent’s tools call it.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
  }),
})
const mcpService = builder.objectRef<McpService>('AgentMcpService').implement({
  description: 'A connector that an agent uses.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The connector, such as `linear`.' }),
    disabledTools: t.stringList({
      description: 'Tools of it that the agent does not get.',
      resolve: (service) => service.disabled_tools,
    }),
  }),
})

const agentType = builder.objectRef<Agent>('Agent').implement({
  description: 'A versioned definition of an agent: what model it asks, what it is told, what it may use.',
  fields: (t) => ({
    id: t.id({ description: '`agt_` and 26 characters.', resolve: ({ id }) => encodeId('agent', id) }),
    type: t.string({ description: 'Always `agent`.', resolve: () => 'agent' }),
    version: t.exposeInt('version', { description: 'From 1, one more for each change.' }),
    name: t.string({ description: 'Its name.', resolve: ({ definition }) => definition.name }),
    description: t.string({
      nullable: true,
      description: 'What it is for.',
      resolve: ({ definition }) => definition.description,
    }),
    model: t.field({
      type: agentModel,
      description: 'The model it asks.',
      resolve: ({ definition }) => definition.model,
    }),
    wireModel: t.field({
      type: 'JSON',
      description:
        'The model as REST shows it: `{id, effort: {type}, speed}`, without `effort` where the model’s own holds.',
      resolve: ({ definition }) => wireModel(definition.model),
    }),
    system: t.string({
      nullable: true,
      description: 'What it is told before anything else.',
      resolve: ({ definition }) => definition.system,
    }),
    tools: t.field({
      type: 'JSON',
      description: 'Its toolsets and custom tools, with every default filled in.',
      resolve: ({ definition }) => wireTools(definition.tools),
    }),
    mcpServers: t.field({
      type: [mcpServer],
      description: 'The tool servers it connects to.',
      resolve: ({ definition }) => definition.mcp_servers,
    }),
    mcpServices: t.field({
      type: [mcpService],
      description: 'The connectors it uses.',
      resolve: ({ definition }) => definition.mcp_services,
    }),
    skills: t.field({
      type: 'JSON',
      description: 'Its skills: a list of `{type, skill_id, version}`.',
      resolve: ({ definition }) => wireSkills(definition.skills),
    }),
    multiagent: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Always null: groups are for several agents.',
      resolve: () => null,
    }),
    executionIdentity: t.field({
      type: 'JSON',
      description: 'Always `{type: "service_account"}`: sessions act as whoever began them.',
      resolve: () => executionIdentity,
    }),
    metadata: t.field({
      type: 'TextMap',
      description: 'The caller’s own notes.',
      resolve: ({ definition }) => definition.metadata,
    }),
    organizationId: t.id({
      nullable: true,
      description: 'The organization, when it is its own; null for a person’s.',
      resolve: (agent) => (agent.ownerUserId ? null : encodeId('organization', agent.organizationId)),
    }),
    ownerUserId: t.id({
      nullable: true,
      description: 'Whose it is; null for the organization’s.',
      resolve: ({ ownerUserId }) => ownerUserId && encodeId('user', ownerUserId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its first version was made.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When this version was made, or the agent archived.',
    }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const agentConnection = connectionOf('Agent', agentType)
const agentList = listTypeOf('Agent', agentType)
const ownerArguments = builder.args((t) => ({
  organizationId: t.id({ description: 'One of the caller’s organizations; the active one without it.' }),
}))
/** Names and models stand outside: they are required of a new agent. */
const fieldArguments = builder.args((t) => ({
  description: t.string({ description: 'What it is for: at most 2048 characters.' }),
  system: t.string({ description: 'What it is told before anything else: at most 100,000 characters.' }),
  tools: t.field({
    type: 'JSON',
    description: 'A list of toolsets, tool servers’ tools and custom tools, 128 at most.',
  }),
  mcpServers: t.field({ type: 'JSON', description: 'A list of `{type: "url", name, url}`, 20 at most.' }),
  mcpServices: t.field({ type: 'JSON', description: 'A list of `{id, disabled_tools}`, 20 at most.' }),
  skills: t.field({ type: 'JSON', description: 'A list of `{type, skill_id, version}`.' }),
  multiagent: t.field({ type: 'JSON', description: 'Must be null or left out.' }),
  executionIdentity: t.field({ type: 'JSON', description: 'Must be `{type: "service_account"}`, null or left out.' }),
  metadata: t.field({ type: 'JSON', description: 'Up to 16 pairs of text; in a change a null value deletes its key.' }),
}))
const modelWords = 'The id of a model, or `{id, effort, speed}`.'

builder.queryFields((t) => ({
  agent: t.field({
    type: agentType,
    description: 'One agent. Errors: NOT_FOUND.',
    args: { ...idArguments, version: t.arg.int({ description: 'An older version; the newest without it.' }) },
    resolve: (_, { id, version }, call) => getAgent(call, id, version),
  }),
  agents: t.field({
    type: agentConnection,
    description: 'The caller’s agents and the organization’s, newest first. Errors: NOT_FOUND.',
    args: { ...ownerArguments, ...archivedArguments, ...createdArguments, ...pageArguments },
    resolve: (_, { first, after, ...filter }, call) => pageAgents(call, filter, { first, after }) as never,
  }), // see pages.ts
  agentList: t.field({
    type: agentList,
    description: 'The same as REST shows it. Errors: NOT_FOUND.',
    args: { ...ownerArguments, ...archivedArguments, ...createdArguments, ...listArguments },
    resolve: (_, { limit, page, ...filter }, call) => listAgents(call, filter, { limit, page }) as never,
  }), // see pages.ts
  agentVersionList: t.field({
    type: agentList,
    description: 'Every version of an agent, newest first. Errors: NOT_FOUND.',
    args: { ...idArguments, ...listArguments },
    resolve: (_, { id, ...window }, call) => listAgentVersions(call, id, window) as never,
  }), // see pages.ts
}))

builder.mutationFields((t) => ({
  createAgent: t.field({
    type: agentType,
    description: 'Makes an agent. Errors: INVALID_REQUEST, UNKNOWN_MODEL, UNKNOWN_TOOL.',
    args: {
      name: t.arg.string({ required: true, description: '1 to 255 characters.' }),
      model: t.arg({ type: 'JSON', required: true, description: modelWords }),
      ...fieldArguments,
    },
    resolve: (_, fields, call) => createAgent(call, fields),
  }),
  updateAgent: t.field({
    type: agentType,
    description:
      'Changes an agent into a new version: what is not given stays, null clears, lists replace. Errors: INVALID_REQUEST, NOT_FOUND, AGENT_VERSION_MISMATCH, RESOURCE_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
    args: {
      ...idArguments,
      version: t.arg.int({ description: 'The version that the change is made from; without it, whatever is newest.' }),
      name: t.arg.string({ description: '1 to 255 characters.' }),
      model: t.arg({ type: 'JSON', description: modelWords }),
      ...fieldArguments,
    },
    resolve: (_, { id, version, ...fields }, call) => updateAgent(call, id, version, fields),
  }),
  archiveAgent: t.field({
    type: agentType,
    description: 'Archives an agent: nothing new begins with it. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => archiveAgent(call, id),
  }),
  deleteAgent: t.field({
    type: 'ID',
    description:
      'Deletes an agent with its versions, sessions and all that began with it. Errors: NOT_FOUND, WORK_ACTIVE.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteAgent(call, id), id),
  }),
}))
