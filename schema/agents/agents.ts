/** Agents in GraphQL. */
import { createdFields, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { modelType } from '../llm/models.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { definitionFields, effort, modelInput, speed } from './agents/inputs.ts'
import { agentTool } from './agents/tools.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { AgentModel, AgentSkill, McpServer, McpService } from '#src/resources/agents/agents/rows.ts'
import { executionIdentity, latestVersion, wireModel, wireTools } from '#src/resources/agents/agents/wire.ts'
import {
  archiveAgent,
  createAgent,
  deleteAgent,
  findAgents,
  getAgent,
  pageAgents,
  pageAgentVersions,
  updateAgent,
} from '#src/resources/agents/agents.ts'

/** The model that an agent asks. */
export const agentModel = builder.objectRef<AgentModel>('AgentModel').implement({
  description: 'The model that an agent asks, and how.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'As the list of models names it.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model; null when it is not served any more.',
      resolve: ({ id }) => id,
    }),
    effort: t.field({
      type: effort,
      nullable: true,
      description: 'How hard it thinks; null for the model’s own.',
      resolve: (one) => one.effort,
    }),
    speed: t.field({ type: speed, description: 'The class of service.', resolve: (one) => one.speed }),
  }),
})
/** A skill that an agent has. */
export const skill = builder.objectRef<AgentSkill>('AgentSkill').implement({
  description: 'A skill that an agent has.',
  fields: (t) => ({
    type: t.exposeString('type', { description: '`anthropic` or `custom`.' }),
    skillName: t.exposeString('skill_id', { description: 'What the skill is called.' }),
    version: t.string({
      description: 'Its version, or `latest`.',
      resolve: ({ version }) => version ?? latestVersion,
    }),
  }),
})
const identity = builder.objectRef<typeof executionIdentity>('ExecutionIdentity').implement({
  description: 'As whom sessions act.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `service_account`: as whoever began them.' }),
  }),
})
/** A tool server that an agent connects to. */
export const mcpServer = builder.objectRef<McpServer>('McpServer').implement({
  description: 'A tool server that an agent connects to.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `url`.' }),
    name: t.exposeString('name', { description: 'What the agent’s tools call it.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
  }),
})
/** A connector that an agent uses. */
export const mcpService = builder.objectRef<McpService>('AgentMcpService').implement({
  description: 'A connector that an agent uses.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The connector, such as `linear`.' }),
    disabledTools: t.stringList({
      description: 'Tools of it that the agent does not get.',
      resolve: (service) => service.disabled_tools,
    }),
  }),
})

/** An agent, at its newest version unless one is named. */
export const agentType = nodeOf('Agent', '`agt_` and 26 characters.', findAgents)

builder.objectType(agentType, {
  description: 'A versioned definition of an agent: what model it asks, what it is told, what it may use.',
  fields: (t) => ({
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
      type: [agentTool],
      description: 'Its toolsets and custom tools, with every default filled in.',
      resolve: ({ definition }) => definition.tools as never, // the union's own types tell them apart
    }),
    wireTools: t.field({
      type: 'JSON',
      description: 'The same as REST shows them, where what is not restricted has no key.',
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
    skills: t.field({ type: [skill], description: 'Its skills.', resolve: ({ definition }) => definition.skills }),
    multiagent: t.field({
      type: 'Reserved',
      nullable: true,
      description: 'Always null: groups are for several agents.',
      resolve: () => null,
    }),
    executionIdentity: t.field({ type: identity, description: 'As whom it acts.', resolve: () => executionIdentity }),
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
    ownerId: t.id({
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

const agentFilter = builder.inputType('AgentFilter', {
  description: 'Which agents a list shows.',
  fields: (t) => ({
    organizationId: t.id({ description: 'One of the caller’s organizations; the active one without it.' }),
    includeArchived: t.boolean({ description: 'Whether archived ones are shown too; false without it.' }),
    ...createdFields(t),
  }),
})
const agentConnection = connectionOf('Agent', agentType)

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
    args: {
      ...pageArguments,
      filter: t.arg({ type: agentFilter, description: 'Which ones.' }),
      orderBy: t.arg({ type: orderOf('Agent'), description: 'Newest first without it.' }),
    },
    resolve: (_, { filter, orderBy, ...window }, call) => pageAgents(call, window, filter, orderBy?.direction),
  }),
}))

builder.objectField(agentType, 'versions', (t) =>
  t.field({
    type: agentConnection,
    description: 'Every version of it, newest first.',
    args: pageArguments,
    resolve: ({ id }, window, call) => pageAgentVersions(call, encodeId('agent', id), window),
  }),
)

const agent = { field: 'agent', type: agentType }
mutationOf(
  'createAgent',
  agent,
  'Makes an agent. Errors: INVALID_REQUEST, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    name: t.string({ required: true, description: '1 to 255 characters.' }),
    model: t.field({ type: modelInput, required: true, description: 'The model that it asks.' }),
    ...definitionFields(t),
    metadata: t.field({ type: 'TextMap', description: 'Up to 16 pairs of text.' }),
  }),
  (call, _, fields) => createAgent(call, fields),
)
mutationOf(
  'updateAgent',
  agent,
  'Changes an agent into a new version: what is not given stays, null clears, lists replace. Errors: INVALID_REQUEST, NOT_FOUND, AGENT_VERSION_MISMATCH, RESOURCE_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    ...idField(t),
    version: t.int({ description: 'The version that the change is made from; without it, whatever is newest.' }),
    name: t.string({ description: '1 to 255 characters.' }),
    model: t.field({ type: modelInput, description: 'The model that it asks.' }),
    ...definitionFields(t),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; null as a value deletes its key.' }),
  }),
  (call, { id, version }, { id: _id, version: _version, ...fields }) => updateAgent(call, id, version, fields),
)
actionOn('archiveAgent', agent, 'Archives an agent: nothing new begins with it. Errors: NOT_FOUND.', archiveAgent)
deletionOf(
  'deleteAgent',
  'Deletes an agent with its versions, sessions and all that began with it. Errors: NOT_FOUND, WORK_ACTIVE.',
  deleteAgent,
)
