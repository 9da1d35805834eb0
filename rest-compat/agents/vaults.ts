/** Vaults over REST. */
import { usualRoutes } from '../nouns.ts'
import type { Routes } from '../routes.ts'

const fields =
  'id type display_name: displayName metadata created_at: createdAt updated_at: updatedAt archived_at: archivedAt'
const usual = usualRoutes({
  path: '/v1/vaults',
  type: 'Vault',
  one: 'a vault',
  fields,
  archives: true,
  summaries: {
    list: 'The caller’s vaults, newest first',
    delete: 'Deletes a vault with its credentials',
    archive: 'Archives a vault and purges its secrets',
  },
  conflicts: { update: [409] },
  neverNull: ['display_name'],
  filter: { include_archived: 'includeArchived' },
  deletes: 'vault',
})

/** Vaults. */
export const vaultRoutes: Routes = {
  ...usual,
  'PUT /v1/vaults/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['display_name'],
    summary: 'Updates a vault’s name or metadata',
    operation: `mutation updateVault ($input: UpdateVaultInput!) { updateVault(input: $input) { body: vault { ${fields} } } }`,
  },
}
