/** The credentials in vaults over REST. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../../lists.ts'
import type { Routes } from '../../routes.ts'

const networking =
  'networking { ... on UnrestrictedCredentialNetworking { type } ... on LimitedCredentialNetworking { type allowed_hosts: allowedHosts } }'
const auth = `auth { ... on StaticBearerAuth { type mcp_server_url: mcpServerUrl }
  ... on McpOauthAuth { type mcp_server_url: mcpServerUrl expires_at: expiresAt refresh { client_id: clientId token_endpoint: tokenEndpoint
    token_endpoint_auth: tokenEndpointAuth { type } scope resource } }
  ... on EnvironmentVariableAuth { type secret_name: secretName ${networking} injection_location: injectionLocation { header: isInHeader body: isInBody } } }`
const credential = `id type vault_id: vaultId display_name: displayName ${auth} metadata created_at: createdAt updated_at: updatedAt archived_at: archivedAt`
const answer = 'status_code: statusCode content_type: contentType body body_truncated: isBodyTruncated'
const update = `mutation updateVaultCredential ($input: UpdateVaultCredentialInput!) {
  updateVaultCredential(input: $input) { body: vaultCredential { ${credential} } } }`
const into = { id: 'vaultId', cid: 'id' }

/** Credentials. */
export const credentialRoutes: Routes = {
  'GET /v1/vaults/{id}/credentials': {
    status: 200,
    errors: [400, 404],
    summary: 'A vault’s credentials without their secrets, newest first',
    list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
    filter: { include_archived: 'includeArchived' },
    operation: `query listVaultCredentials ($id: ID!, $first: Int, $after: String, $filter: VaultCredentialFilter) {
      body: vaultCredentials(vaultId: $id, first: $first, after: $after, filter: $filter) { nodes { ${credential} } ${pageInfo} } }`,
  },
  'POST /v1/vaults/{id}/credentials': {
    status: 201,
    errors: [400, 404, 409],
    summary: 'Adds a credential',
    into: { id: 'vaultId' },
    operation: `mutation createVaultCredential ($input: CreateVaultCredentialInput!) {
      createVaultCredential(input: $input) { body: vaultCredential { ${credential} } } }`,
  },
  'GET /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One credential without its secrets',
    operation: `query getVaultCredential ($id: ID!, $cid: ID!) { body: vaultCredential(vaultId: $id, id: $cid) { ${credential} } }`,
  },
  'PUT /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [400, 404, 409],
    summary: 'Renames a credential, or sets a new token for a static_bearer',
    into,
    operation: update,
  },
  'POST /v1/vaults/{id}/credentials/{cid}': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'The same for Anthropic’s client',
    into,
    operation: update,
  },
  'DELETE /v1/vaults/{id}/credentials/{cid}': {
    status: 204,
    errors: [404],
    deletes: 'vault_credential',
    summary: 'Deletes a credential',
    into,
    operation: `mutation deleteVaultCredential ($input: DeleteVaultCredentialInput!) { deleteVaultCredential(input: $input) { deletedId } }`,
  },
  'POST /v1/vaults/{id}/credentials/{cid}/archive': {
    status: 200,
    errors: [404],
    summary: 'Archives a credential and purges its secrets',
    into,
    operation: `mutation archiveVaultCredential ($input: ArchiveVaultCredentialInput!) {
      archiveVaultCredential(input: $input) { body: vaultCredential { ${credential} } } }`,
  },
  'POST /v1/vaults/{id}/credentials/{cid}/mcp_oauth_validate': {
    status: 200,
    errors: [400, 404, 409],
    summary: 'Tests a credential against its tool server, and refreshes it when the server refuses it',
    into,
    operation: `mutation validateVaultCredential ($input: ValidateVaultCredentialInput!) { validateVaultCredential(input: $input) { body: validation {
      type credential_id: credentialId vault_id: vaultId status has_refresh_token: hasRefreshToken validated_at: validatedAt
      mcp_probe: mcpProbe { method http_response: httpResponse { ${answer} } } refresh { status http_response: httpResponse { ${answer} } } } } }`,
  },
}
