/** Credentials of vaults in GraphQL. `auth` travels as REST shows it; its secrets only ever go in. */
import { archivedArguments, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { connectionOf, listArguments, listTypeOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Credential } from '#src/resources/agents/credentials/rows.ts'
import {
  validateCredential,
  type CapturedAnswer,
  type CredentialValidation,
} from '#src/resources/agents/credentials/validation.ts'
import {
  archiveCredential,
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
  pageCredentials,
  updateCredential,
} from '#src/resources/agents/credentials.ts'

const credentialType = builder.objectRef<Credential>('VaultCredential').implement({
  description: 'A credential in a vault: for a tool server, or for an environment variable of a VM.',
  fields: (t) => ({
    id: t.id({ description: '`vcrd_` and 26 characters.', resolve: ({ id }) => encodeId('credential', id) }),
    type: t.string({ description: 'Always `vault_credential`.', resolve: () => 'vault_credential' }),
    vaultId: t.id({ description: 'Which vault it is in.', resolve: ({ vaultId }) => encodeId('vault', vaultId) }),
    displayName: t.exposeString('displayName', { nullable: true, description: 'Its name for people.' }),
    auth: t.field({
      type: 'JSON',
      description:
        'What it is for, as REST shows it, without its secrets: `static_bearer`, `mcp_oauth` or `environment_variable`.',
      resolve: ({ auth }) => auth,
    }),
    metadata: t.expose('metadata', { type: 'TextMap', description: 'Up to 16 pairs of text of your own.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was changed or refreshed last.' }),
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was archived, which purged its secrets; null for one in use.',
    }),
  }),
})

const capturedAnswer = builder.objectRef<CapturedAnswer>('CapturedHttpResponse').implement({
  description: 'What a server answered while a credential was tried.',
  fields: (t) => ({
    statusCode: t.exposeInt('statusCode', { description: 'The HTTP status.' }),
    contentType: t.exposeString('contentType', { description: 'The header `content-type`.' }),
    body: t.exposeString('body', { description: 'The beginning of the body; secrets are `***`.' }),
    bodyTruncated: t.exposeBoolean('bodyTruncated', { description: 'Whether there was more of it.' }),
  }),
})

const mcpProbe = builder.objectRef<NonNullable<CredentialValidation['mcpProbe']>>('McpProbe').implement({
  description: 'The request to the tool server that failed.',
  fields: (t) => ({
    method: t.exposeString('method', { description: '`initialize` or `tools/list`.' }),
    httpResponse: t.field({
      type: capturedAnswer,
      nullable: true,
      description: 'What the server answered; null when it answered nothing.',
      resolve: ({ httpResponse }) => httpResponse,
    }),
  }),
})

const refreshRecord = builder.objectRef<NonNullable<CredentialValidation['refresh']>>('CredentialRefresh').implement({
  description: 'How it went to get a new access token.',
  fields: (t) => ({
    status: t.string({
      description: '`succeeded`, `failed`, `connect_error` or `no_refresh_token`.',
      resolve: ({ status }) => status,
    }),
    httpResponse: t.field({
      type: capturedAnswer,
      nullable: true,
      description: 'What the token endpoint answered, when it failed.',
      resolve: ({ httpResponse }) => httpResponse,
    }),
  }),
})

const validationType = builder.objectRef<CredentialValidation>('VaultCredentialValidation').implement({
  description: 'Whether a credential works, tried just now.',
  fields: (t) => ({
    type: t.string({
      description: 'Always `vault_credential_validation`.',
      resolve: () => 'vault_credential_validation',
    }),
    credentialId: t.id({
      description: 'Which credential.',
      resolve: ({ credential }) => encodeId('credential', credential.id),
    }),
    vaultId: t.id({
      description: 'Which vault it is in.',
      resolve: ({ credential }) => encodeId('vault', credential.vaultId),
    }),
    status: t.string({
      description:
        '`valid`; `invalid`: the server refused it, so its owner must authorize again; `unknown`: it could not be told, try again.',
      resolve: ({ status }) => status,
    }),
    hasRefreshToken: t.exposeBoolean('hasRefreshToken', { description: 'Whether it holds a refresh token.' }),
    mcpProbe: t.field({
      type: mcpProbe,
      nullable: true,
      description: 'The request that failed; null when all went well.',
      resolve: ({ mcpProbe }) => mcpProbe,
    }),
    refresh: t.field({
      type: refreshRecord,
      nullable: true,
      description: 'The attempt to refresh; null when none was made.',
      resolve: ({ refresh }) => refresh,
    }),
    validatedAt: t.expose('validatedAt', { type: 'DateTime', description: 'When it was tried.' }),
  }),
})

const credentialConnection = connectionOf('VaultCredential', credentialType)
const credentialList = listTypeOf('VaultCredential', credentialType)
const nameArgument = { description: '1 to 255 characters, or null.' } as const
const ofVault = builder.args((t) => ({ vaultId: t.id({ required: true, description: 'Its vault’s id.' }) }))
const ofCredential = { ...ofVault, ...idArguments }

builder.queryFields((t) => ({
  vaultCredential: t.field({
    type: credentialType,
    description: 'One credential. Errors: NOT_FOUND.',
    args: ofCredential,
    resolve: (_, { vaultId, id }, call) => getCredential(call, vaultId, id),
  }),
  vaultCredentials: t.field({
    type: credentialConnection,
    description: 'A vault’s credentials, newest first. Errors: NOT_FOUND.',
    args: { ...ofVault, ...pageArguments, ...archivedArguments },
    resolve: (_, { vaultId, ...page }, call) => pageCredentials(call, vaultId, page) as never, // see pages.ts
  }),
  vaultCredentialList: t.field({
    type: credentialList,
    description: 'A vault’s credentials as REST lists them, newest first. Errors: NOT_FOUND.',
    args: { ...ofVault, ...listArguments, ...archivedArguments },
    resolve: (_, { vaultId, ...page }, call) => listCredentials(call, vaultId, page) as never, // see pages.ts
  }),
}))

builder.mutationFields((t) => ({
  createVaultCredential: t.field({
    type: credentialType,
    description:
      'Adds a credential. Errors: NOT_FOUND, VAULT_ARCHIVED, CREDENTIAL_KEY_TAKEN, INVALID_REQUEST, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
    args: {
      ...ofVault,
      displayName: t.arg.string(nameArgument),
      metadata: t.arg({ type: 'JSON', description: 'Up to 16 pairs of text.' }),
      auth: t.arg({
        type: 'JSON',
        required: true,
        description:
          '`{type: "static_bearer", mcp_server_url, token}`, `{type: "mcp_oauth", mcp_server_url, access_token, expires_at?, refresh?: {client_id, refresh_token, token_endpoint, token_endpoint_auth: {type, client_secret?}, scope?, resource?}}`, or `{type: "environment_variable", secret_name, secret_value, networking?, injection_location?}`.',
      }),
    },
    resolve: (_, { vaultId, ...input }, call) => createCredential(call, vaultId, input),
  }),
  updateVaultCredential: t.field({
    type: credentialType,
    description:
      'Renames a credential, or gives a static_bearer a new token. Errors: NOT_FOUND, VAULT_ARCHIVED, RESOURCE_ARCHIVED, MCP_SERVER_URL_IMMUTABLE, SECRET_NAME_IMMUTABLE, INVALID_REQUEST.',
    args: {
      ...ofCredential,
      displayName: t.arg.string(nameArgument),
      metadata: t.arg({ type: 'JSON', description: 'Pairs to set; null as a value deletes its key.' }),
      auth: t.arg({
        type: 'JSON',
        description: '`{type: "static_bearer", token}`; other secrets are not changed: archive and create again.',
      }),
    },
    resolve: (_, { vaultId, id, ...input }, call) => updateCredential(call, vaultId, id, input),
  }),
  archiveVaultCredential: t.field({
    type: credentialType,
    description: 'Archives a credential and purges its secrets. Errors: NOT_FOUND.',
    args: ofCredential,
    resolve: (_, { vaultId, id }, call) => archiveCredential(call, vaultId, id),
  }),
  deleteVaultCredential: t.field({
    type: 'ID',
    description: 'Deletes a credential. Errors: NOT_FOUND.',
    args: ofCredential,
    resolve: async (_, { vaultId, id }, call) => (await deleteCredential(call, vaultId, id), id),
  }),
  validateVaultCredential: t.field({
    type: validationType,
    description:
      'Tries an `mcp_oauth` credential on its tool server, refreshing it when the server refuses it. Errors: NOT_FOUND, RESOURCE_ARCHIVED, INVALID_REQUEST.',
    args: ofCredential,
    resolve: (_, { vaultId, id }, call) => validateCredential(call, vaultId, id),
  }),
}))
