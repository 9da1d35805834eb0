/** Vaults over REST. */
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const vault =
  'id type display_name: displayName metadata created_at: createdAt updated_at: updatedAt archived_at: archivedAt'
const update = `mutation updateVault ($input: UpdateVaultInput!) { updateVault(input: $input) { body: vault { ${vault} } } }`

/** Vaults. */
export const vaultRoutes: Routes = {
  'GET /v1/vaults': {
    status: 200,
    errors: [400],
    summary: 'The caller’s vaults, newest first',
    list: { shape: 'page', most: 100, usual: 100 },
    filter: { include_archived: 'includeArchived' },
    operation: `query listVaults ($first: Int, $after: String, $filter: VaultFilter) {
      body: vaults(first: $first, after: $after, filter: $filter) { nodes { ${vault} } ${pageInfo} } }`,
  },
  'POST /v1/vaults': {
    status: 201,
    errors: [400],
    summary: 'Makes a vault',
    operation: `mutation createVault ($input: CreateVaultInput!) { createVault(input: $input) { body: vault { ${vault} } } }`,
  },
  'GET /v1/vaults/{id}': {
    status: 200,
    errors: [404],
    summary: 'One vault',
    operation: `query getVault ($id: ID!) { body: vault(id: $id) { ${vault} } }`,
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
    operation: 'mutation deleteVault ($input: DeleteVaultInput!) { deleteVault(input: $input) { deletedId } }',
  },
  'POST /v1/vaults/{id}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives a vault and purges its secrets',
    operation: `mutation archiveVault ($input: ArchiveVaultInput!) { archiveVault(input: $input) { body: vault { ${vault} } } }`,
  },
}
