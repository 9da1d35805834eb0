/** Environments over REST. */
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const networking = `... on UnrestrictedNetworking { type } ... on LimitedNetworking {
  type allowed_hosts: allowedHosts allow_package_managers: allowPackageManagers allow_mcp_servers: allowMcpServers }`
const environment = `id type name description config { ... on SelfHostedEnvironmentConfig { type } ... on VmEnvironmentConfig {
    type template_id: templateId vcpu memory_mb: memoryMb networking { ${networking} } packages { apt pip npm cargo gem go }
    git_repos: gitRepos { url branch path } setup_script: setupScript idle_timeout_seconds: idleTimeoutSeconds } }
  metadata scope status status_reason: statusReason vm_id: vmId created_at: createdAt updated_at: updatedAt archived_at: archivedAt`

/** Environments. */
export const environmentRoutes: Routes = {
  'GET /v1/environments': {
    status: 200,
    errors: [400],
    summary: 'The caller’s environments, newest first',
    list: { shape: 'page', most: 100, usual: 100 },
    filter: { include_archived: 'includeArchived' },
    operation: `query listEnvironments ($first: Int, $after: String, $filter: EnvironmentFilter) {
      body: environments(first: $first, after: $after, filter: $filter) { nodes { ${environment} } ${pageInfo} } }`,
  },
  'POST /v1/environments': {
    status: 201,
    errors: [400, 409],
    summary: 'Makes an environment; its VM is made at its first use',
    operation: `mutation createEnvironment ($input: CreateEnvironmentInput!) {
      createEnvironment(input: $input) { body: environment { ${environment} } } }`,
  },
  'GET /v1/environments/{id}': {
    status: 200,
    errors: [404],
    summary: 'One environment',
    operation: `query getEnvironment ($id: ID!) { body: environment(id: $id) { ${environment} } }`,
  },
  'POST /v1/environments/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name'],
    additive: true,
    summary: 'Changes an environment, as Anthropic’s client asks for it',
    operation: `mutation updateEnvironment ($input: UpdateEnvironmentInput!) {
      updateEnvironment(input: $input) { body: environment { ${environment} } } }`,
  },
  'DELETE /v1/environments/{id}': {
    status: 204,
    errors: [404],
    deletes: 'environment',
    summary: 'Deletes an environment and tears its VM down',
    operation:
      'mutation deleteEnvironment ($input: DeleteEnvironmentInput!) { deleteEnvironment(input: $input) { deletedId } }',
  },
  'POST /v1/environments/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives an environment and tears its VM down',
    operation: `mutation archiveEnvironment ($input: ArchiveEnvironmentInput!) {
      archiveEnvironment(input: $input) { body: environment { ${environment} } } }`,
  },
}
