/** The kinds of credentials in GraphQL: output types without secrets, and inputs with them. */
import { builder } from '#schema/builder.ts'
import { always, kindOf } from '../../../words.ts'
import { enumOf } from '#schema/enums.ts'
import type {
  CredentialAuth,
  CredentialNetworking,
  EnvironmentVariableAuth,
  McpOauthAuth,
} from '#src/resources/agents/vaults/credentials/rows.ts'

const isOfType = (type: string) => (value: unknown) => (value as { type: string }).type === type

const staticBearer = builder.objectRef<CredentialAuth & { type: 'static_bearer' }>('StaticBearerAuth').implement({
  description: 'A fixed token that is sent to a tool server.',
  isTypeOf: isOfType('static_bearer'),
  fields: (t) => ({
    type: t.string(always('static_bearer')),
    mcpServerUrl: t.exposeString('mcp_server_url', { description: 'The tool server.' }),
  }),
})

const tokenEndpointAuthType = enumOf('TokenEndpointAuthType', 'A way to authenticate at a token endpoint.', {
  none: 'Not at all: a public client.',
  client_secret_basic: 'By the client’s secret, in a header.',
  client_secret_post: 'By the client’s secret, in the body.',
} satisfies Record<NonNullable<McpOauthAuth['refresh']>['token_endpoint_auth']['type'], string>)
const tokenEndpointAuth = builder
  .objectRef<NonNullable<McpOauthAuth['refresh']>['token_endpoint_auth']>('TokenEndpointAuth')
  .implement({
    description: 'How Berth authenticates at a token endpoint.',
    fields: (t) => ({
      type: t.expose('type', { type: tokenEndpointAuthType, description: 'Which way.' }),
    }),
  })

const oauthRefresh = builder.objectRef<NonNullable<McpOauthAuth['refresh']>>('OauthRefresh').implement({
  description: 'How to get a new access token.',
  fields: (t) => ({
    clientId: t.exposeString('client_id', { description: 'The client id at the authorization server.' }),
    tokenEndpoint: t.exposeString('token_endpoint', { description: 'The URL of the token endpoint.' }),
    tokenEndpointAuth: t.field({
      type: tokenEndpointAuth,
      description: 'How to authenticate there.',
      resolve: (refresh) => refresh.token_endpoint_auth,
    }),
    scope: t.exposeString('scope', { nullable: true, description: 'The requested scope.' }),
    resource: t.exposeString('resource', {
      nullable: true,
      description: 'The resource that the token is for (RFC 8707).',
    }),
  }),
})

const mcpOauth = builder.objectRef<McpOauthAuth>('McpOauthAuth').implement({
  description: 'An OAuth access token for a tool server. Berth refreshes it when `refresh` is set.',
  isTypeOf: isOfType('mcp_oauth'),
  fields: (t) => ({
    type: t.string(always('mcp_oauth')),
    mcpServerUrl: t.exposeString('mcp_server_url', { description: 'The tool server.' }),
    expiresAt: t.expose('expires_at', {
      type: 'DateTime',
      nullable: true,
      description: 'When the access token expires, when known.',
    }),
    refresh: t.field({
      type: oauthRefresh,
      nullable: true,
      description: 'How to refresh it; null when it cannot be refreshed.',
      resolve: ({ refresh }) => refresh,
    }),
  }),
})

const networkingKind = enumOf('CredentialNetworkingKind', 'To how many hosts requests carry a secret.', {
  unrestricted: 'To every host.',
  limited: 'To some hosts only.',
} satisfies Record<CredentialNetworking['type'], string>)
const unrestricted = builder
  .objectRef<CredentialNetworking & { type: 'unrestricted' }>('UnrestrictedCredentialNetworking')
  .implement({
    description: 'The placeholder is replaced in requests to every host.',
    isTypeOf: isOfType('unrestricted'),
    fields: (t) => ({ type: t.field(kindOf(networkingKind, 'unrestricted')) }),
  })

const limited = builder.objectRef<CredentialNetworking & { type: 'limited' }>('LimitedCredentialNetworking').implement({
  description: 'The placeholder is replaced in requests to these hosts only.',
  isTypeOf: isOfType('limited'),
  fields: (t) => ({
    type: t.field(kindOf(networkingKind, 'limited')),
    allowedHosts: t.exposeStringList('allowed_hosts', { description: 'The hosts.' }),
  }),
})

const networking = builder.unionType('CredentialNetworking', {
  description: 'The hosts to which requests carry the secret instead of its placeholder.',
  types: [unrestricted, limited],
})

const injectionLocation = builder
  .objectRef<NonNullable<EnvironmentVariableAuth['injection_location']>>('InjectionLocation')
  .implement({
    description: 'Which parts of a request carry the secret instead of its placeholder.',
    fields: (t) => ({
      isInHeader: t.exposeBoolean('header', { description: 'In headers.' }),
      isInBody: t.exposeBoolean('body', { description: 'In the body.' }),
    }),
  })

const environmentVariable = builder.objectRef<EnvironmentVariableAuth>('EnvironmentVariableAuth').implement({
  description: 'An environment variable of a session’s VM.',
  isTypeOf: isOfType('environment_variable'),
  fields: (t) => ({
    type: t.string(always('environment_variable')),
    secretName: t.exposeString('secret_name', { description: 'The variable.' }),
    networking: t.field({
      type: networking,
      nullable: true,
      description:
        'Null when the VM holds the value itself; otherwise the VM holds a placeholder, and requests to these hosts carry the value.',
      resolve: (auth) => auth.networking as never, // isTypeOf of the union's members tells them apart
    }),
    injectionLocation: t.field({
      type: injectionLocation,
      nullable: true,
      description: 'Which parts of a request carry the value; null without `networking`.',
      resolve: (auth) => auth.injection_location,
    }),
  }),
})

/** The settings of a credential as the API shows them. */
export const credentialAuth = builder.unionType('CredentialAuth', {
  description: 'The kind of a credential and its settings, without secrets.',
  types: [staticBearer, mcpOauth, environmentVariable],
})

const mcpServerUrl = { required: true, description: 'The tool server.' } as const

const staticBearerInput = builder.inputType('StaticBearerAuthInput', {
  description: 'A fixed token that is sent to a tool server.',
  fields: (t) => ({
    mcpServerUrl: t.string(mcpServerUrl),
    token: t.string({ required: true, description: 'The token. It is never shown again.' }),
  }),
})

const clientSecretInput = builder.inputType('ClientSecretInput', {
  description: 'The secret of a client.',
  fields: (t) => ({ clientSecret: t.string({ required: true, description: 'It is never shown again.' }) }),
})

const tokenEndpointAuthInput = builder.inputType('TokenEndpointAuthInput', {
  description: 'How Berth authenticates at a token endpoint: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    none: t.boolean({ description: 'No authentication; send true.' }),
    clientSecretBasic: t.field({ type: clientSecretInput, description: 'With the header `Authorization`.' }),
    clientSecretPost: t.field({ type: clientSecretInput, description: 'In the body.' }),
  }),
})

const oauthRefreshInput = builder.inputType('OauthRefreshInput', {
  description: 'How to get a new access token.',
  fields: (t) => ({
    clientId: t.string({ required: true, description: 'The client id at the authorization server.' }),
    refreshToken: t.string({ required: true, description: 'The refresh token. It is never shown again.' }),
    tokenEndpoint: t.string({ required: true, description: 'The URL of the token endpoint.' }),
    tokenEndpointAuth: t.field({
      type: tokenEndpointAuthInput,
      required: true,
      description: 'How to authenticate there.',
    }),
    scope: t.string({ description: 'The scope to request.' }),
    resource: t.string({ description: 'The resource that the token is for (RFC 8707).' }),
  }),
})

const mcpOauthInput = builder.inputType('McpOauthAuthInput', {
  description: 'An OAuth access token for a tool server. Berth refreshes it when `refresh` is set.',
  fields: (t) => ({
    mcpServerUrl: t.string(mcpServerUrl),
    accessToken: t.string({ required: true, description: 'The access token. It is never shown again.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it expires.' }),
    refresh: t.field({ type: oauthRefreshInput, description: 'How to refresh it.' }),
  }),
})

const limitedInput = builder.inputType('LimitedCredentialNetworkingInput', {
  description: 'Only these hosts.',
  fields: (t) => ({ allowedHosts: t.stringList({ required: true, description: 'The hosts, at least one.' }) }),
})

const networkingInput = builder.inputType('CredentialNetworkingInput', {
  description: 'The hosts to which requests carry the secret instead of its placeholder: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    unrestricted: t.boolean({ description: 'Every host; send true.' }),
    limited: t.field({ type: limitedInput, description: 'Some hosts only.' }),
  }),
})

const injectionLocationInput = builder.inputType('InjectionLocationInput', {
  description: 'Which parts of a request carry the secret instead of its placeholder.',
  fields: (t) => ({
    header: t.boolean({ description: 'In headers; false by default.' }),
    body: t.boolean({ description: 'In the body; false by default.' }),
  }),
})

const environmentVariableInput = builder.inputType('EnvironmentVariableAuthInput', {
  description: 'An environment variable of a session’s VM.',
  fields: (t) => ({
    secretName: t.string({ required: true, description: 'The variable.' }),
    secretValue: t.string({ required: true, description: 'Its value. It is never shown again.' }),
    networking: t.field({
      type: networkingInput,
      description: 'If set, the VM holds a placeholder, and requests to these hosts carry the value.',
    }),
    injectionLocation: t.field({
      type: injectionLocationInput,
      description: 'Which parts of a request carry the value; headers by default.',
    }),
  }),
})

/** The settings of a new credential as clients send them. */
export const credentialAuthInput = builder.inputType('CredentialAuthInput', {
  description: 'The kind of a credential and its settings, with secrets: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    staticBearer: t.field({ type: staticBearerInput, description: 'A token for a tool server.' }),
    mcpOauth: t.field({ type: mcpOauthInput, description: 'An access token for a tool server, by OAuth.' }),
    environmentVariable: t.field({ type: environmentVariableInput, description: 'An environment variable.' }),
  }),
})

const authType = enumOf('CredentialAuthType', 'The kind of a credential.', {
  static_bearer: 'A token for a tool server.',
  mcp_oauth: 'An access token for a tool server, by OAuth.',
  environment_variable: 'An environment variable.',
} satisfies Record<CredentialAuth['type'], string>)

/** The settings of a credential as clients send them in an update. */
export const credentialAuthChangeInput = builder.inputType('CredentialAuthChangeInput', {
  description:
    'A new token for a `static_bearer`. Other secrets cannot be changed: archive the credential and create another.',
  fields: (t) => ({
    type: t.field({ type: authType, description: 'The type it has, or omitted.' }),
    mcpServerUrl: t.string({ description: 'The tool server it has, or omitted.' }),
    secretName: t.string({ description: 'The variable it has, or omitted.' }),
    token: t.string({ description: 'The new token. It is never shown again.' }),
    accessToken: t.field({ type: 'Reserved', description: 'Not changed.' }),
    expiresAt: t.field({ type: 'Reserved', description: 'Not changed.' }),
    refresh: t.field({ type: 'Reserved', description: 'Not changed.' }),
    secretValue: t.field({ type: 'Reserved', description: 'Not changed.' }),
    networking: t.field({ type: 'Reserved', description: 'Not changed.' }),
    injectionLocation: t.field({ type: 'Reserved', description: 'Not changed.' }),
  }),
})
