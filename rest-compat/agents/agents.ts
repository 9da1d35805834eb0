/** Agents and their versions. */
import type { Routes } from '../routes.ts'
import { createdArguments, createdNames, createdVariables } from './created-filters.ts'

const agent = `id type name description model: wireModel system tools mcp_servers: mcpServers { type name url } mcp_services: mcpServices { id disabled_tools: disabledTools } skills multiagent execution_identity: executionIdentity metadata
  version org_id: organizationId owner_user_id: ownerUserId created_at: createdAt updated_at: updatedAt archived_at: archivedAt`
const list = `data { ${agent} } has_more: hasMore next_page: nextPage`
const fieldVariables =
  '$description: String, $system: String, $tools: JSON, $mcp_servers: JSON, $mcp_services: JSON, $skills: JSON, $multiagent: JSON, $execution_identity: JSON, $metadata: JSON'
const fieldArguments =
  'description: $description, system: $system, tools: $tools, mcpServers: $mcp_servers, mcpServices: $mcp_services, skills: $skills, multiagent: $multiagent, executionIdentity: $execution_identity, metadata: $metadata'

function update(version: 'Int!' | 'Int'): string {
  return `mutation ($id: ID!, $version: ${version}, $name: String, $model: JSON, ${fieldVariables}) {
    body: updateAgent(id: $id, version: $version, name: $name, model: $model, ${fieldArguments}) { ${agent} } }`
}

/** Agents and their versions. */
export const agentRoutes: Routes = {
  'GET /v1/agents': {
    status: 200,
    errors: [400, 404],
    summary: 'The caller’s agents and the organization’s, newest first',
    queryNames: createdNames,
    operation: `query ($org_id: ID, $include_archived: Boolean, ${createdVariables}, $limit: Int, $page: String) {
      body: agentList(organizationId: $org_id, includeArchived: $include_archived, ${createdArguments}, limit: $limit, page: $page) { ${list} } }`,
  },
  'POST /v1/agents': {
    status: 201,
    errors: [400],
    summary: 'Makes an agent',
    operation: `mutation ($name: String!, $model: JSON!, ${fieldVariables}) { body: createAgent(name: $name, model: $model, ${fieldArguments}) { ${agent} } }`,
  },
  'GET /v1/agents/{id}': {
    status: 200,
    errors: [404],
    summary: 'An agent at its newest version, or at the one named',
    operation: `query ($id: ID!, $version: Int) { body: agent(id: $id, version: $version) { ${agent} } }`,
  },
  'PATCH /v1/agents/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name'],
    summary: 'Changes an agent into a new version',
    operation: update('Int!'),
  },
  'POST /v1/agents/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name'],
    additive: true,
    summary: 'The same, as Anthropic’s client asks for it; the version may be left out',
    operation: update('Int'),
  },
  'DELETE /v1/agents/{id}': {
    status: 204,
    errors: [404, 409],
    deletes: 'agent',
    summary: 'Deletes an agent with its versions, sessions and all that began with it',
    operation: 'mutation ($id: ID!) { deleteAgent(id: $id) }',
  },
  'POST /v1/agents/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives an agent; what runs goes on',
    operation: `mutation ($id: ID!) { body: archiveAgent(id: $id) { ${agent} } }`,
  },
  'GET /v1/agents/{id}/mcp-tools': {
    status: 200,
    errors: [404],
    summary: 'The tools that the agent’s tool servers offer right now',
    operation:
      'query ($id: ID!) { data: agentMcpTools(id: $id) { server_name: serverName url status error tools { name description input_schema: inputSchema } } }',
  },
  'GET /v1/agents/{id}/versions': {
    status: 200,
    errors: [400, 404],
    summary: 'Every version of an agent, newest first',
    operation: `query ($id: ID!, $limit: Int, $page: String) { body: agentVersionList(id: $id, limit: $limit, page: $page) { ${list} } }`,
  },
}
