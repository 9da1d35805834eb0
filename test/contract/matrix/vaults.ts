/** Who may do what with vaults: rows as in agents.ts. People only, and each their own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]
const bearer = { type: 'static_bearer', mcp_server_url: 'https://{fresh}.example.com', token: 'x' }

/** Every REST operation of vaults and their credentials. */
export const vaultsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/vaults': { outcomes: lists('200') },
  'POST /agents/v1/vaults': { outcomes: makes('201'), body: { display_name: 'x' } },
  'GET /agents/v1/vaults/{id}': { of: 'vault', outcomes: reads('200') },
  'PUT /agents/v1/vaults/{id}': { of: 'vault', outcomes: writes('200'), body: { display_name: 'y' } },
  'POST /agents/v1/vaults/{id}': { of: 'vault', outcomes: writes('200'), body: { display_name: 'y' } },
  'DELETE /agents/v1/vaults/{id}': { of: 'vault', outcomes: writes('204') },
  'POST /agents/v1/vaults/{id}/archive': { of: 'vault', outcomes: writes('200') },
  'GET /agents/v1/vaults/{id}/credentials': { of: 'vault', outcomes: reads('200') },
  'POST /agents/v1/vaults/{id}/credentials': { of: 'vault', outcomes: writes('201'), body: { auth: bearer } },
  'GET /agents/v1/vaults/{id}/credentials/{cid}': { of: 'vault', outcomes: reads('200') },
  'PUT /agents/v1/vaults/{id}/credentials/{cid}': { of: 'vault', outcomes: writes('200'), body: { display_name: 'y' } },
  'POST /agents/v1/vaults/{id}/credentials/{cid}': {
    of: 'vault',
    outcomes: writes('200'),
    body: { display_name: 'y' },
  },
  'DELETE /agents/v1/vaults/{id}/credentials/{cid}': { of: 'vault', outcomes: writes('204') },
  'POST /agents/v1/vaults/{id}/credentials/{cid}/archive': { of: 'vault', outcomes: writes('200') },
  'POST /agents/v1/vaults/{id}/credentials/{cid}/mcp_oauth_validate': { of: 'vault', outcomes: writes('200') },
}

const vault = 'id: "{vault}"'
const inVault = 'vaultId: "{vault}"'
const credential = `${inVault}, id: "{cid}"`

/** Every root field of GraphQL that vaults bring. */
export const vaultsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query vault': { outcomes: reads('200'), args: vault },
  'query vaults': { outcomes: lists('200'), args: 'first: 5' },
  'query vaultCredential': { outcomes: reads('200'), args: credential },
  'query vaultCredentials': { outcomes: reads('200'), args: `${inVault}, first: 5` },
  'mutation createVault': { outcomes: makes('200'), args: 'displayName: "x"' },
  'mutation updateVault': { outcomes: writes('200'), args: `${vault}, displayName: "y"` },
  'mutation archiveVault': { outcomes: writes('200'), args: vault },
  'mutation deleteVault': { outcomes: writes('200'), args: vault },
  'mutation createVaultCredential': {
    outcomes: writes('200'),
    args: `${inVault}, auth: {staticBearer: {mcpServerUrl: "https://{fresh}.example.com", token: "x"}}`,
  },
  'mutation updateVaultCredential': { outcomes: writes('200'), args: `${credential}, displayName: "y"` },
  'mutation archiveVaultCredential': { outcomes: writes('200'), args: credential },
  'mutation deleteVaultCredential': { outcomes: writes('200'), args: credential },
  'mutation validateVaultCredential': { outcomes: writes('200'), args: credential },
  'subscription vaultEvents': { outcomes: reads('200'), args: 'vaultId: "{vault}"' },
}
