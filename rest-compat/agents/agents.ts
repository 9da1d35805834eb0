/** Agents over REST. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'
import { agentParts as parts } from './agent-shapes.ts'
import { createdFilter } from './created-filters.ts'

const agent = `id type name description model: wireModel system tools: wireTools mcp_servers: mcpServers ${parts.mcpServer}
  mcp_services: mcpServices ${parts.mcpService} skills ${parts.skill} multiagent
  execution_identity: executionIdentity ${parts.identity} metadata version org_id: organizationId owner_user_id: ownerId
  created_at: createdAt updated_at: updatedAt archived_at: archivedAt`
const list = { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax } as const
const update = `mutation updateAgent ($input: UpdateAgentInput!) { updateAgent(input: $input) { body: agent { ${agent} } } }`

/** Agents and their versions. */
export const agentRoutes: Routes = {
  'GET /v1/agents': {
    status: 200,
    errors: [400, 404],
    summary: 'The caller’s agents and the organization’s, newest first',
    list,
    filter: { org_id: 'organizationId', include_archived: 'includeArchived', ...createdFilter },
    operation: `query listAgents ($first: Int, $after: String, $filter: AgentFilter) {
      body: agents(first: $first, after: $after, filter: $filter) { nodes { ${agent} } ${pageInfo} } }`,
  },
  'POST /v1/agents': {
    status: 201,
    errors: [400],
    summary: 'Creates an agent',
    operation: `mutation createAgent ($input: CreateAgentInput!) { createAgent(input: $input) { body: agent { ${agent} } } }`,
  },
  'GET /v1/agents/{id}': {
    status: 200,
    errors: [404],
    summary: 'One agent, in its newest version or the requested one',
    operation: `query getAgent ($id: ID!, $version: Int) { body: agent(id: $id, version: $version) { ${agent} } }`,
  },
  'PATCH /v1/agents/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name', 'model'],
    always: ['version'],
    summary: 'Updates an agent, which makes a new version',
    operation: update,
  },
  'POST /v1/agents/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name', 'model'],
    additive: true,
    summary: 'The same for Anthropic’s client; the version is optional',
    operation: update,
  },
  'DELETE /v1/agents/{id}': {
    status: 204,
    errors: [404, 409],
    deletes: 'agent',
    summary: 'Deletes an agent with its versions and its sessions',
    operation: 'mutation deleteAgent ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }',
  },
  'POST /v1/agents/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives an agent; running sessions continue',
    operation: `mutation archiveAgent ($input: ArchiveAgentInput!) { archiveAgent(input: $input) { body: agent { ${agent} } } }`,
  },
  'GET /v1/agents/{id}/mcp-tools': {
    status: 200,
    errors: [404],
    summary: 'The tools that the agent’s tool servers offer now',
    operation:
      'query listAgentMcpTools ($id: ID!) { data: agentMcpTools(agentId: $id) { server_name: serverName url status error tools { name description input_schema: inputSchema } } }',
  },
  'GET /v1/agents/{id}/versions': {
    status: 200,
    errors: [400, 404],
    summary: 'Every version of an agent, newest first',
    list,
    operation: `query listAgentVersions ($id: ID!, $first: Int, $after: String) {
      agent(id: $id) { body: versions(first: $first, after: $after) { nodes { ${agent} } ${pageInfo} } } }`,
  },
}
