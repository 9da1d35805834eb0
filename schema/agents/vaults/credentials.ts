/** Credentials of vaults in GraphQL. Secrets are write-only. */
import { idArguments } from '../../arguments.ts'
import { builder } from '../../builder.ts'
import { always, oneOfWords } from '../../words.ts'
import { enumOf } from '../../enums.ts'
import { callIn } from '../../identity/organizations.ts'
import { deletionOf, idField, mutationOf } from '../../mutations.ts'
import { linkTo, nodeOf } from '../../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../../pages.ts'
import { pagesOfEach } from '../../pages-of-each.ts'
import { credentialAuth, credentialAuthChangeInput, credentialAuthInput } from './credentials/auth.ts'
import { vaultEvent, vaultType } from '../vaults.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Credential } from '#src/resources/agents/vaults/credentials/rows.ts'
import {
  validateCredential,
  type CapturedAnswer,
  type CredentialValidation,
} from '#src/resources/agents/vaults/credentials/validation.ts'
import {
  archiveCredential,
  createCredential,
  deleteCredential,
  findCredentials,
  getCredential,
  pageCredentials,
  pageCredentialsOfEach,
  updateCredential,
} from '#src/resources/agents/vaults/credentials.ts'

/** A credential. */
export const credentialType = nodeOf('VaultCredential', findCredentials)

builder.objectType(credentialType, {
  description: 'A credential in a vault: for a tool server, or for an environment variable of a VM.',
  fields: (t) => ({
    type: t.string(always('vault_credential')),
    vaultId: t.id({ description: 'The id of its vault.', resolve: ({ vaultId }) => encodeId('vault', vaultId) }),
    vault: t.field({
      type: vaultType,
      nullable: true,
      description: 'Its vault.',
      resolve: ({ vaultId }) => vaultId,
    }),
    displayName: t.exposeString('displayName', { nullable: true, description: 'A name to display.' }),
    auth: t.field({
      type: credentialAuth,
      description: 'The kind of credential and its settings, without secrets.',
      resolve: ({ auth }) => auth as never, // isTypeOf of the union's members tells them apart
    }),
    metadata: t.expose('metadata', {
      type: 'TextMap',
      description: 'Your own labels: up to 16 pairs of key and text.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed or refreshed.' }),
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was archived, which purged its secrets; null for one in use.',
    }),
  }),
})

const capturedAnswer = builder.objectRef<CapturedAnswer>('CapturedHttpResponse').implement({
  description: 'A server’s response while a credential was tested.',
  fields: (t) => ({
    statusCode: t.exposeInt('statusCode', { description: 'The HTTP status.' }),
    contentType: t.exposeString('contentType', { description: 'The header `content-type`.' }),
    body: t.exposeString('body', { description: 'The beginning of the body, with secrets masked as `***`.' }),
    isBodyTruncated: t.exposeBoolean('bodyTruncated', { description: 'Whether the body was longer.' }),
  }),
})

const mcpProbe = builder.objectRef<NonNullable<CredentialValidation['mcpProbe']>>('McpProbe').implement({
  description: 'The request to the tool server that failed.',
  fields: (t) => ({
    method: t.exposeString('method', oneOfWords(['initialize', 'tools/list'], '`initialize` or `tools/list`.')),
    httpResponse: t.field({
      type: capturedAnswer,
      nullable: true,
      description: 'The server’s response; null when there was none.',
      resolve: ({ httpResponse }) => httpResponse,
    }),
  }),
})

const refreshStatus = enumOf('CredentialRefreshStatus', 'The result of refreshing an access token.', {
  succeeded: 'There is a new access token.',
  failed: 'The token endpoint refused.',
  connect_error: 'The token endpoint did not answer.',
  no_refresh_token: 'There is no refresh token.',
} satisfies Record<NonNullable<CredentialValidation['refresh']>['status'], string>)

const validationStatus = enumOf('CredentialValidationStatus', 'Whether a credential is valid.', {
  valid: 'The server accepted the credential.',
  invalid: 'The server refused the credential; its owner must authorize again.',
  unknown: 'Whether the credential is valid could not be determined; try again.',
} satisfies Record<CredentialValidation['status'], string>)

const refreshRecord = builder.objectRef<NonNullable<CredentialValidation['refresh']>>('CredentialRefresh').implement({
  description: 'The result of refreshing an access token.',
  fields: (t) => ({
    status: t.field({
      type: refreshStatus,
      description: 'The result.',
      resolve: ({ status }) => status,
    }),
    httpResponse: t.field({
      type: capturedAnswer,
      nullable: true,
      description: 'The token endpoint’s response, when refreshing failed.',
      resolve: ({ httpResponse }) => httpResponse,
    }),
  }),
})

const validationType = builder.objectRef<CredentialValidation>('VaultCredentialValidation').implement({
  description: 'The result of testing a credential.',
  fields: (t) => ({
    type: t.string(always('vault_credential_validation')),
    credentialId: t.id({
      description: 'Which credential.',
      resolve: ({ credential }) => encodeId('credential', credential.id),
    }),
    credential: t.field({
      type: credentialType,
      nullable: true,
      description: 'The credential.',
      resolve: ({ credential }) => credential as Credential, // the row that was tested
    }),
    vaultId: t.id({
      description: 'The id of its vault.',
      resolve: ({ credential }) => encodeId('vault', credential.vaultId),
    }),
    vault: t.field({
      type: vaultType,
      nullable: true,
      description: 'Its vault.',
      resolve: ({ credential }) => credential.vaultId,
    }),
    status: t.field({ type: validationStatus, description: 'The outcome.', resolve: ({ status }) => status }),
    hasRefreshToken: t.exposeBoolean('hasRefreshToken', { description: 'Whether it holds a refresh token.' }),
    mcpProbe: t.field({
      type: mcpProbe,
      nullable: true,
      description: 'The request that failed; null when none did.',
      resolve: ({ mcpProbe }) => mcpProbe,
    }),
    refresh: t.field({
      type: refreshRecord,
      nullable: true,
      description: 'The attempt to refresh the access token; null when there was none.',
      resolve: ({ refresh }) => refresh,
    }),
    validatedAt: t.expose('validatedAt', { type: 'DateTime', description: 'When it was tested.' }),
  }),
})

const credentialFilter = builder.inputType('VaultCredentialFilter', {
  description: 'Narrows a list of credentials.',
  fields: (t) => ({
    includeArchived: t.boolean({ description: 'Whether to include archived ones; false by default.' }),
  }),
})
const credentialConnection = connectionOf('VaultCredential', credentialType)
const listArguments = builder.args((t) => ({
  filter: t.field({ type: credentialFilter, description: 'Narrows the list.' }),
  order: t.field(newestFirst),
}))
const ofVault = builder.args((t) => ({ vaultId: t.id({ required: true, description: 'Its vault’s id.' }) }))

const vaultIfGiven = { description: 'Its vault. If given, a credential of another vault is not found.' }

builder.queryFields((t) => ({
  vaultCredential: t.field({
    type: credentialType,
    description: 'One credential. Errors: NOT_FOUND.',
    args: { vaultId: t.arg.id(vaultIfGiven), ...idArguments },
    resolve: (_, { vaultId, id }, call) => getCredential(call, vaultId, id),
  }),
  vaultCredentials: t.field({
    type: credentialConnection,
    description: 'A vault’s credentials, newest first. Errors: NOT_FOUND.',
    args: { ...ofVault, ...pageArguments, ...listArguments },
    resolve: (_, { vaultId, filter, order, ...window }, call) => pageCredentials(call, vaultId, window, filter, order),
  }),
}))

builder.objectFields(vaultEvent, (t) =>
  linkTo(t, 'credential', {
    type: credentialType,
    nullable: true,
    description: 'The credential, when the event is about one.',
    id: ({ credentialId }) => credentialId,
  }),
)
type CredentialsGiven = Parameters<typeof pageCredentialsOfEach>[2] &
  OrderGiven & { filter?: Parameters<typeof pageCredentialsOfEach>[3]; organizationId: string }
const credentialsOf = pagesOfEach((call, vaultIds, { organizationId, filter, order, ...window }: CredentialsGiven) =>
  pageCredentialsOfEach(callIn(call, { id: organizationId }), vaultIds, window, filter, order),
)

builder.objectField(vaultType, 'credentials', (t) =>
  t.field({
    type: credentialConnection,
    description: 'Its credentials, newest first.',
    args: { ...pageArguments, ...listArguments },
    resolve: ({ id, organizationId }, given, call) => credentialsOf(call, id, { ...given, organizationId }),
  }),
)

const credential = { field: 'vaultCredential', type: credentialType }
const name = { description: '1 to 255 characters, or null.' }
const whichOne = (t: Parameters<typeof idField>[0]) => ({
  vaultId: t.id(vaultIfGiven),
  ...idField(t),
})
mutationOf(
  'createVaultCredential',
  credential,
  'Adds a credential. Errors: NOT_FOUND, VAULT_ARCHIVED, CREDENTIAL_KEY_TAKEN, INVALID_REQUEST, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
  (t) => ({
    vaultId: t.id({ required: true, description: 'Its vault’s id.' }),
    displayName: t.string(name),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
    auth: t.field({
      type: credentialAuthInput,
      required: true,
      description: 'The kind of credential and its settings, with secrets.',
    }),
  }),
  (call, { vaultId, ...input }) => createCredential(call, vaultId, input),
)
mutationOf(
  'updateVaultCredential',
  credential,
  'Renames a credential, or sets a new token for a `static_bearer`. Errors: NOT_FOUND, VAULT_ARCHIVED, RESOURCE_ARCHIVED, MCP_SERVER_URL_IMMUTABLE, SECRET_NAME_IMMUTABLE, INVALID_REQUEST.',
  (t) => ({
    ...whichOne(t),
    displayName: t.string(name),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
    auth: t.field({ type: credentialAuthChangeInput, description: 'A new token.' }),
  }),
  (call, { vaultId, id, ...changes }) => updateCredential(call, vaultId, id, changes),
)
mutationOf(
  'archiveVaultCredential',
  credential,
  'Archives a credential and purges its secrets. Errors: NOT_FOUND.',
  whichOne,
  (call, { vaultId, id }) => archiveCredential(call, vaultId, id),
)
mutationOf(
  'validateVaultCredential',
  { field: 'validation', type: validationType, description: 'The result of the test.' },
  'Tests an `mcp_oauth` credential against its tool server, and refreshes it when the server refuses it. Errors: NOT_FOUND, RESOURCE_ARCHIVED, INVALID_REQUEST.',
  whichOne,
  (call, { vaultId, id }) => validateCredential(call, vaultId, id),
)
deletionOf(
  'deleteVaultCredential',
  'Deletes a credential. Errors: NOT_FOUND.',
  (call, { vaultId, id }) => deleteCredential(call, vaultId, id),
  whichOne,
)
