/** Vaults; their credentials are in credentials.ts. */
import type { Routes } from '../routes.ts'

const vault =
  'id type display_name: displayName metadata created_at: createdAt updated_at: updatedAt archived_at: archivedAt'
const update = `mutation ($id: ID!, $display_name: String, $metadata: JSON) { body: updateVault(id: $id, displayName: $display_name, metadata: $metadata) { ${vault} } }`

/** Vaults. */
export const vaultRoutes: Routes = {
  'GET /v1/vaults': {
    status: 200,
    errors: [400],
    summary: 'The caller’s vaults, newest first',
    operation: `query ($include_archived: Boolean, $limit: Int, $page: String) {
      body: vaultList(includeArchived: $include_archived, limit: $limit, page: $page) { data { ${vault} } has_more: hasMore next_page: nextPage } }`,
  },
  'POST /v1/vaults': {
    status: 201,
    errors: [400],
    summary: 'Makes a vault',
    operation: `mutation ($display_name: String!, $metadata: JSON) { body: createVault(displayName: $display_name, metadata: $metadata) { ${vault} } }`,
  },
  'GET /v1/vaults/{id}': {
    status: 200,
    errors: [404],
    summary: 'One vault',
    operation: `query ($id: ID!) { body: vault(id: $id) { ${vault} } }`,
  },
  'PUT /v1/vaults/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['display_name'],
    summary: 'Changes a vault’s name or metadata',
    operation: update,
  },
  'POST /v1/vaults/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['display_name'],
    additive: true,
    summary: 'The same, as Anthropic’s client asks for it',
    operation: update,
  },
  'DELETE /v1/vaults/{id}': {
    status: 204,
    errors: [404],
    deletes: 'vault',
    summary: 'Deletes a vault with its credentials',
    operation: 'mutation ($id: ID!) { deleteVault(id: $id) }',
  },
  'POST /v1/vaults/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives a vault and purges its secrets',
    operation: `mutation ($id: ID!) { body: archiveVault(id: $id) { ${vault} } }`,
  },
}
