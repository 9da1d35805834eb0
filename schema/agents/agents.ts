/** Agents in GraphQL. */
import { createdFields, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { always } from '../words.ts'
import { modelType } from '../llm/models.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { definitionFields, effort, modelInput, speed, skillType } from './agents/inputs.ts'
import { agentTool } from './agents/tools.ts'
import type { AgentModel, AgentSkill, McpServer, McpService } from '#src/resources/agents/agents/rows.ts'
import { executionIdentity, latestVersion, wireModel, wireTools } from '#src/resources/agents/agents/wire.ts'
import {
  archiveAgent,
  createAgent,
  deleteAgent,
  findAgents,
  getAgent,
  pageAgents,
  pageVersionsOfEach,
  updateAgent,
} from '#src/resources/agents/agents.ts'
import { forRest } from '../rest-fields.ts'

/** The model that an agent uses. */
export const agentModel = builder.objectRef<AgentModel>('AgentModel').implement({
  description: 'The model that an agent uses, and how.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its id, as in `models`.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model; null when this installation no longer serves it.',
      resolve: ({ id }) => id,
    }),
    effort: t.field({
      type: effort,
      nullable: true,
      description: 'How hard it thinks; null for the model’s default.',
      resolve: (one) => one.effort,
    }),
    speed: t.field({ type: speed, description: 'The class of service.', resolve: (one) => one.speed }),
  }),
})
/** A skill that an agent has. */
export const skill = builder.objectRef<AgentSkill>('AgentSkill').implement({
  description: 'A skill that an agent has.',
  fields: (t) => ({
    type: t.expose('type', { type: skillType, description: 'Who provides it.' }),
    skillName: t.exposeString('skill_id', { description: 'The skill’s name.' }),
    version: t.string({
      description: 'Its version, or `latest`.',
      resolve: ({ version }) => version ?? latestVersion,
    }),
  }),
})
const identity = builder.objectRef<typeof executionIdentity>('ExecutionIdentity').implement({
  description: 'The identity under which sessions act.',
  fields: (t) => ({
    type: t.string(always('service_account', ': the identity of whoever starts them')),
  }),
})
/** A tool server that an agent connects to. */
export const mcpServer = builder.objectRef<McpServer>('McpServer').implement({
  description: 'A tool server (MCP) that an agent connects to.',
  fields: (t) => ({
    type: t.string(always('url')),
    name: t.exposeString('name', { description: 'The name by which the agent’s tools refer to it.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
  }),
})
/** A connector that an agent uses. */
export const mcpService = builder.objectRef<McpService>('AgentMcpService').implement({
  description: 'A connector that an agent uses.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The connector, such as `linear`.' }),
    disabledTools: t.stringList({
      description: 'Those of its tools that the agent does not get.',
      resolve: (service) => service.disabled_tools,
    }),
  }),
})

/** An agent, in its newest version unless another one is requested. */
export const agentType = nodeOf('Agent', findAgents)

builder.objectType(agentType, {
  description: 'A versioned definition of an agent: its model, its system prompt, its tools.',
  fields: (t) => ({
    type: t.string(always('agent')),
    version: t.exposeInt('version', { description: 'Counts up from 1 with each change.' }),
    name: t.string({ description: 'Its name.', resolve: ({ definition }) => definition.name }),
    description: t.string({
      nullable: true,
      description: 'A description of its purpose.',
      resolve: ({ definition }) => definition.description,
    }),
    model: t.field({
      type: agentModel,
      description: 'The model it uses.',
      resolve: ({ definition }) => definition.model,
    }),
    wireModel: t.field({
      type: 'RestObject',
      description:
        'The model as REST shows it: `{id, effort: {type}, speed}`, without `effort` when the model’s default applies.',
      resolve: ({ definition }) => wireModel(definition.model),
    }),
    system: t.string({
      nullable: true,
      description: 'Its system prompt.',
      resolve: ({ definition }) => definition.system,
    }),
    tools: t.field({
      type: [agentTool],
      description: 'Its toolsets and custom tools, with every default filled in.',
      resolve: ({ definition }) => definition.tools as never, // isTypeOf of the union's members tells them apart
    }),
    wireTools: t.field({
      type: ['RestObject'],
      description: 'Its tools, in the form that REST shows; restrictions that are not set have no key.',
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
      description: 'Always null: `multiagent` is not supported; see `createGroup`.',
      resolve: () => null,
    }),
    executionIdentity: t.field({
      type: identity,
      ...forRest,
      description: 'The identity under which it acts.',
      resolve: () => executionIdentity,
    }),
    metadata: t.field({
      type: 'TextMap',
      description: 'The caller’s own labels: pairs of key and text.',
      resolve: ({ definition }) => definition.metadata,
    }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      nullable: true,
      description: 'The organization that owns it; null when a person does.',
      id: (agent) => (agent.ownerUserId ? null : agent.organizationId),
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      nullable: true,
      description: 'The person who owns it; null when the organization does.',
      id: ({ ownerUserId }) => ownerUserId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its first version was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When this version was created, or the agent was archived.',
    }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const agentFilter = builder.inputType('AgentFilter', {
  description: 'Narrows a list of agents.',
  fields: (t) => ({
    organizationId: t.id({ description: 'One of the caller’s organizations; the active one by default.' }),
    includeArchived: t.boolean({ description: 'Whether to include archived ones; false by default.' }),
    text: t.string({ description: 'Only those with this piece of text in their name, in upper or lower case.' }),
    ...createdFields(t),
  }),
})
const agentConnection = connectionOf('Agent', agentType)

builder.queryFields((t) => ({
  agent: t.field({
    type: agentType,
    description: 'One agent. Errors: NOT_FOUND.',
    args: { ...idArguments, version: t.arg.int({ description: 'A version; the newest by default.' }) },
    resolve: (_, { id, version }, call) => getAgent(call, id, version),
  }),
  agents: t.field({
    type: agentConnection,
    description: 'The caller’s agents and the organization’s, newest first. Errors: NOT_FOUND.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: agentFilter, description: 'Narrows the list.' }),
      order: t.arg(newestFirst),
    },
    resolve: (_, { filter, order, ...window }, call) => pageAgents(call, window, filter, order),
  }),
}))

type VersionsGiven = Parameters<typeof pageVersionsOfEach>[2] & { organizationId: string }
const versionsOf = pagesOfEach((call, agentIds, { organizationId, ...window }: VersionsGiven) =>
  pageVersionsOfEach(callIn(call, { id: organizationId }), agentIds, window),
)
builder.objectField(agentType, 'versions', (t) =>
  t.field({
    type: agentConnection,
    description: 'Every version of it, newest first.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call) => versionsOf(call, id, { ...window, organizationId }),
  }),
)

type AgentsGiven = Parameters<typeof pageAgents>[1] & OrderGiven
const agentsOf = listOfOrganizations((call, { order, ...window }: AgentsGiven) => pageAgents(call, window, null, order))
builder.objectField(organizationType, 'agents', (t) =>
  t.field({
    type: agentConnection,
    nullable: true,
    description: 'The caller’s agents in it, and its own, newest first.',
    args: { ...pageArguments, order: t.arg(newestFirst) },
    resolve: ({ id }, given, call) => agentsOf(call, id, given),
  }),
)

const agent = { field: 'agent', type: agentType }
mutationOf(
  'createAgent',
  agent,
  'Creates an agent. Errors: INVALID_REQUEST, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    name: t.string({ required: true, description: '1 to 255 characters.' }),
    model: t.field({ type: modelInput, required: true, description: 'The model it uses.' }),
    ...definitionFields(t),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
  }),
  createAgent,
)
mutationOf(
  'updateAgent',
  agent,
  'Updates an agent, which makes a new version: omitted fields stay, null clears, lists are replaced. Errors: INVALID_REQUEST, NOT_FOUND, AGENT_VERSION_MISMATCH, RESOURCE_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    ...idField(t),
    version: t.int({
      description:
        'The version that the change is based on; the newest by default. The update fails when it is not the newest.',
    }),
    name: t.string({ description: '1 to 255 characters.' }),
    model: t.field({ type: modelInput, description: 'The model it uses.' }),
    ...definitionFields(t),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
  }),
  (call, { id, version, ...fields }) => updateAgent(call, id, version, fields),
)
actionOn('archiveAgent', agent, 'Archives an agent: no new session can start with it. Errors: NOT_FOUND.', archiveAgent)
deletionOf(
  'deleteAgent',
  'Deletes an agent with its versions and its sessions. Errors: NOT_FOUND, WORK_ACTIVE.',
  deleteAgent,
)
