/** Connectors over REST. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const service =
  'id type name description icon_url: iconUrl url auth connected: isConnected connected_at: connectedAt tools_count: toolsCount'

const routes: Routes = {
  'GET /v1/mcp-services': {
    status: 200,
    errors: [400],
    summary: 'The connectors of this installation, and which of them the caller has connected',
    list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
    operation: `query listMcpServices ($first: Int, $after: String) {
      body: mcpServices(first: $first, after: $after) { nodes { ${service} } ${pageInfo} } }`,
  },
  'POST /v1/mcp-services/{id}/connect/start': {
    status: 200,
    errors: [400, 404, 503, 504],
    summary: 'Begins to connect a service: where the caller signs in',
    operation: `mutation startMcpSignIn ($input: StartMcpSignInInput!) {
      body: startMcpSignIn(input: $input) { authorization_url: authorizationUrl state } }`,
  },
  'POST /v1/mcp-services/connect/complete': {
    status: 200,
    errors: [400, 503, 504],
    summary: 'Connects the service for which this state was made',
    operation: `mutation completeMcpSignIn ($input: CompleteMcpSignInInput!) {
      completeMcpSignIn(input: $input) { body: mcpService { id connected: isConnected } } }`,
  },
  'DELETE /v1/mcp-services/{id}/connection': {
    status: 204,
    errors: [404],
    summary: 'Disconnects a service: its tokens are deleted, and withdrawn where they came from',
    operation: `mutation disconnectMcpService ($input: DisconnectMcpServiceInput!) {
      disconnectMcpService(input: $input) { deletedId } }`,
  },
  'GET /v1/mcp-services/{id}/tools': {
    status: 200,
    errors: [400, 404, 503],
    summary: 'The tools of a connected service now, and those that the caller’s agents are not offered',
    operation: `query listMcpServiceTools ($id: ID!) {
      body: mcpServiceTools(mcpServiceId: $id) { data: tools { name description input_schema: inputSchema } disabled_tools: disabledTools error } }`,
  },
  'PUT /v1/mcp-services/{id}/tool-selection': {
    status: 200,
    errors: [400, 404],
    neverNull: ['disabled_tools'],
    summary: 'Chooses which tools of a service the caller’s agents are not offered',
    operation: `mutation selectMcpTools ($input: SelectMcpToolsInput!) {
      selectMcpTools(input: $input) { body: mcpService { id disabled_tools: disabledTools } } }`,
  },
}

const headers = { 'cache-control': 'private, no-store' }

/** Connectors. Nobody on the way may keep a copy of them. */
export const mcpServiceRoutes: Routes = Object.fromEntries(
  Object.entries(routes).map(([key, route]) => [key, { ...route, headers }]),
)
