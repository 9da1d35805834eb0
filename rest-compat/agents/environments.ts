/** Environments and the VMs behind them. */
import type { Routes } from '../routes.ts'

const environment =
  'id type name description config metadata scope status status_reason: statusReason vm_id: vmId created_at: createdAt updated_at: updatedAt archived_at: archivedAt'

/** Environments. */
export const environmentRoutes: Routes = {
  'GET /v1/environments': {
    status: 200,
    errors: [400],
    summary: 'The caller’s environments, newest first',
    operation: `query ($include_archived: Boolean, $limit: Int, $page: String) {
      body: environmentList(includeArchived: $include_archived, limit: $limit, page: $page) { data { ${environment} } has_more: hasMore next_page: nextPage } }`,
  },
  'POST /v1/environments': {
    status: 201,
    errors: [400, 409],
    summary: 'Makes an environment; its VM is made at its first use',
    operation: `mutation ($name: String!, $description: String, $config: JSON, $metadata: JSON, $scope: String) {
      body: createEnvironment(name: $name, description: $description, config: $config, metadata: $metadata, scope: $scope) { ${environment} } }`,
  },
  'GET /v1/environments/{id}': {
    status: 200,
    errors: [404],
    summary: 'One environment',
    operation: `query ($id: ID!) { body: environment(id: $id) { ${environment} } }`,
  },
  'POST /v1/environments/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['name'],
    additive: true,
    summary: 'Changes an environment, as Anthropic’s client asks for it',
    operation: `mutation ($id: ID!, $name: String, $description: String, $config: JSON, $metadata: JSON, $scope: String) {
      body: updateEnvironment(id: $id, name: $name, description: $description, config: $config, metadata: $metadata, scope: $scope) { ${environment} } }`,
  },
  'DELETE /v1/environments/{id}': {
    status: 204,
    errors: [404],
    deletes: 'environment',
    summary: 'Deletes an environment and tears its VM down',
    operation: 'mutation ($id: ID!) { deleteEnvironment(id: $id) }',
  },
  'POST /v1/environments/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives an environment and tears its VM down',
    operation: `mutation ($id: ID!) { body: archiveEnvironment(id: $id) { ${environment} } }`,
  },
}
