/** The credentials in vaults. */
import type { Routes } from '../routes.ts'

const credential =
  'id type vault_id: vaultId display_name: displayName auth metadata created_at: createdAt updated_at: updatedAt archived_at: archivedAt'
const answer = 'status_code: statusCode content_type: contentType body body_truncated: bodyTruncated'
const update = `mutation ($id: ID!, $cid: ID!, $display_name: String, $auth: JSON, $metadata: JSON) {
  body: updateVaultCredential(vaultId: $id, id: $cid, displayName: $display_name, auth: $auth, metadata: $metadata) { ${credential} } }`

/** Credentials. */
export const credentialRoutes: Routes = {
  'GET /v1/vaults/{id}/credentials': {
    status: 200,
    errors: [400, 404],
    summary: 'A vault’s credentials without their secrets, newest first',
    operation: `query ($id: ID!, $include_archived: Boolean, $limit: Int, $page: String) {
      body: vaultCredentialList(vaultId: $id, includeArchived: $include_archived, limit: $limit, page: $page) { data { ${credential} } has_more: hasMore next_page: nextPage } }`,
  },
  'POST /v1/vaults/{id}/credentials': {
    status: 201,
    errors: [400, 404, 409],
    summary: 'Adds a credential',
    operation: `mutation ($id: ID!, $display_name: String, $auth: JSON!, $metadata: JSON) {
      body: createVaultCredential(vaultId: $id, displayName: $display_name, auth: $auth, metadata: $metadata) { ${credential} } }`,
  },
  'GET /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One credential without its secrets',
    operation: `query ($id: ID!, $cid: ID!) { body: vaultCredential(vaultId: $id, id: $cid) { ${credential} } }`,
  },
  'PUT /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [400, 404, 409],
    summary: 'Renames a credential, or gives a static_bearer a new token',
    operation: update,
  },
  'POST /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'The same, as Anthropic’s client asks for it',
    operation: update,
  },
  'DELETE /v1/vaults/{id}/credentials/{cid}': {
    status: 204,
    errors: [404],
    deletes: 'vault_credential',
    summary: 'Deletes a credential',
    operation: 'mutation ($id: ID!, $cid: ID!) { deleteVaultCredential(vaultId: $id, id: $cid) }',
  },
  'POST /v1/vaults/{id}/credentials/{cid}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives a credential and purges its secrets',
    operation: `mutation ($id: ID!, $cid: ID!) { body: archiveVaultCredential(vaultId: $id, id: $cid) { ${credential} } }`,
  },
  'POST /v1/vaults/{id}/credentials/{cid}/mcp_oauth_validate': {
    status: 200,
    errors: [400, 404, 409],
    summary: 'Tries a credential on its tool server, refreshing it when the server refuses it',
    operation: `mutation ($id: ID!, $cid: ID!) { body: validateVaultCredential(vaultId: $id, id: $cid) {
      type credential_id: credentialId vault_id: vaultId status has_refresh_token: hasRefreshToken validated_at: validatedAt
      mcp_probe: mcpProbe { method http_response: httpResponse { ${answer} } } refresh { status http_response: httpResponse { ${answer} } } } }`,
  },
}
