/** What a credential is for, in GraphQL: as it is shown, without its secrets, and as it is given, with them. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type {
  CredentialAuth,
  CredentialNetworking,
  EnvironmentVariableAuth,
  McpOauthAuth,
} from '#src/resources/agents/credentials/rows.ts'

const isOfType = (type: string) => (value: unknown) => (value as { type: string }).type === type

const staticBearer = builder.objectRef<CredentialAuth & { type: 'static_bearer' }>('StaticBearerAuth').implement({
  description: 'A token that is sent to a tool server as it is.',
  isTypeOf: isOfType('static_bearer'),
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `static_bearer`.' }),
    mcpServerUrl: t.exposeString('mcp_server_url', { description: 'The tool server.' }),
  }),
})

const tokenEndpointAuth = builder
  .objectRef<NonNullable<McpOauthAuth['refresh']>['token_endpoint_auth']>('TokenEndpointAuth')
  .implement({
    description: 'How Berth shows who it is at a token endpoint.',
    fields: (t) => ({
      type: t.exposeString('type', { description: '`none`, `client_secret_basic` or `client_secret_post`.' }),
    }),
  })

const oauthRefresh = builder.objectRef<NonNullable<McpOauthAuth['refresh']>>('OauthRefresh').implement({
  description: 'How a new access token is had.',
  fields: (t) => ({
    clientId: t.exposeString('client_id', { description: 'The client, at the authorization server.' }),
    tokenEndpoint: t.exposeString('token_endpoint', { description: 'Where to ask.' }),
    tokenEndpointAuth: t.field({
      type: tokenEndpointAuth,
      description: 'How to ask.',
      resolve: (refresh) => refresh.token_endpoint_auth,
    }),
    scope: t.exposeString('scope', { nullable: true, description: 'The scope that is asked for.' }),
    resource: t.exposeString('resource', { nullable: true, description: 'The resource that it is for (RFC 8707).' }),
  }),
})

const mcpOauth = builder.objectRef<McpOauthAuth>('McpOauthAuth').implement({
  description: 'An access token for a tool server, renewed by itself where `refresh` says how.',
  isTypeOf: isOfType('mcp_oauth'),
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `mcp_oauth`.' }),
    mcpServerUrl: t.exposeString('mcp_server_url', { description: 'The tool server.' }),
    expiresAt: t.expose('expires_at', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the access token is good, when that is known.',
    }),
    refresh: t.field({
      type: oauthRefresh,
      nullable: true,
      description: 'How it is renewed; null for one that is not.',
      resolve: ({ refresh }) => refresh,
    }),
  }),
})

const unrestricted = builder
  .objectRef<CredentialNetworking & { type: 'unrestricted' }>('UnrestrictedCredentialNetworking')
  .implement({
    description: 'A placeholder is replaced towards every host.',
    isTypeOf: isOfType('unrestricted'),
    fields: (t) => ({ type: t.exposeString('type', { description: 'Always `unrestricted`.' }) }),
  })

const limited = builder.objectRef<CredentialNetworking & { type: 'limited' }>('LimitedCredentialNetworking').implement({
  description: 'A placeholder is replaced towards these hosts only.',
  isTypeOf: isOfType('limited'),
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `limited`.' }),
    allowedHosts: t.exposeStringList('allowed_hosts', { description: 'The hosts.' }),
  }),
})

const networking = builder.unionType('CredentialNetworking', {
  description: 'The hosts towards which a placeholder is replaced by the secret.',
  types: [unrestricted, limited],
})

const injectionLocation = builder
  .objectRef<NonNullable<EnvironmentVariableAuth['injection_location']>>('InjectionLocation')
  .implement({
    description: 'Where in a request a placeholder is replaced.',
    fields: (t) => ({
      header: t.exposeBoolean('header', { description: 'In headers.' }),
      body: t.exposeBoolean('body', { description: 'In the body.' }),
    }),
  })

const environmentVariable = builder.objectRef<EnvironmentVariableAuth>('EnvironmentVariableAuth').implement({
  description: 'An environment variable of the VM of a session.',
  isTypeOf: isOfType('environment_variable'),
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `environment_variable`.' }),
    secretName: t.exposeString('secret_name', { description: 'The variable.' }),
    networking: t.field({
      type: networking,
      nullable: true,
      description: 'Null: the VM holds the value itself. Otherwise it holds a placeholder.',
      resolve: (auth) => auth.networking as never, // the union's own types tell them apart
    }),
    injectionLocation: t.field({
      type: injectionLocation,
      nullable: true,
      description: 'Where the placeholder is replaced; null without `networking`.',
      resolve: (auth) => auth.injection_location,
    }),
  }),
})

/** As it is shown. */
export const credentialAuth = builder.unionType('CredentialAuth', {
  description: 'What a credential is for, without its secrets.',
  types: [staticBearer, mcpOauth, environmentVariable],
})

const mcpServerUrl = { required: true, description: 'The tool server.' } as const

const staticBearerInput = builder.inputType('StaticBearerAuthInput', {
  description: 'A token that is sent to a tool server as it is.',
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
  description: 'How Berth shows who it is at a token endpoint: one of them.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    none: t.boolean({ description: 'Not at all: always true.' }),
    clientSecretBasic: t.field({ type: clientSecretInput, description: 'In the header `Authorization`.' }),
    clientSecretPost: t.field({ type: clientSecretInput, description: 'In the body.' }),
  }),
})

const oauthRefreshInput = builder.inputType('OauthRefreshInput', {
  description: 'How a new access token is had.',
  fields: (t) => ({
    clientId: t.string({ required: true, description: 'The client, at the authorization server.' }),
    refreshToken: t.string({ required: true, description: 'The refresh token. It is never shown again.' }),
    tokenEndpoint: t.string({ required: true, description: 'Where to ask.' }),
    tokenEndpointAuth: t.field({ type: tokenEndpointAuthInput, required: true, description: 'How to ask.' }),
    scope: t.string({ description: 'The scope to ask for.' }),
    resource: t.string({ description: 'The resource that it is for (RFC 8707).' }),
  }),
})

const mcpOauthInput = builder.inputType('McpOauthAuthInput', {
  description: 'An access token for a tool server, renewed by itself where `refresh` says how.',
  fields: (t) => ({
    mcpServerUrl: t.string(mcpServerUrl),
    accessToken: t.string({ required: true, description: 'The access token. It is never shown again.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'Until when it is good.' }),
    refresh: t.field({ type: oauthRefreshInput, description: 'How it is renewed.' }),
  }),
})

const limitedInput = builder.inputType('LimitedCredentialNetworkingInput', {
  description: 'Only these hosts.',
  fields: (t) => ({ allowedHosts: t.stringList({ required: true, description: 'The hosts, at least one.' }) }),
})

const networkingInput = builder.inputType('CredentialNetworkingInput', {
  description: 'The hosts towards which a placeholder is replaced by the secret: one of them.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    unrestricted: t.boolean({ description: 'Every host: always true.' }),
    limited: t.field({ type: limitedInput, description: 'Some hosts only.' }),
  }),
})

const injectionLocationInput = builder.inputType('InjectionLocationInput', {
  description: 'Where in a request a placeholder is replaced.',
  fields: (t) => ({
    header: t.boolean({ description: 'In headers; false without it.' }),
    body: t.boolean({ description: 'In the body; false without it.' }),
  }),
})

const environmentVariableInput = builder.inputType('EnvironmentVariableAuthInput', {
  description: 'An environment variable of the VM of a session.',
  fields: (t) => ({
    secretName: t.string({ required: true, description: 'The variable.' }),
    secretValue: t.string({ required: true, description: 'Its value. It is never shown again.' }),
    networking: t.field({
      type: networkingInput,
      description: 'With it the VM holds a placeholder, which is replaced on the way to these hosts.',
    }),
    injectionLocation: t.field({ type: injectionLocationInput, description: 'Where; in headers without it.' }),
  }),
})

/** As it is given with a new credential. */
export const credentialAuthInput = builder.inputType('CredentialAuthInput', {
  description: 'What a credential is for, with its secrets: one of them.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    staticBearer: t.field({ type: staticBearerInput, description: 'A token for a tool server.' }),
    mcpOauth: t.field({ type: mcpOauthInput, description: 'An access token for a tool server, by OAuth.' }),
    environmentVariable: t.field({ type: environmentVariableInput, description: 'An environment variable.' }),
  }),
})

const authType = enumOf('CredentialAuthType', 'What a credential is for.', {
  static_bearer: 'A token for a tool server.',
  mcp_oauth: 'An access token for a tool server, by OAuth.',
  environment_variable: 'An environment variable.',
} satisfies Record<CredentialAuth['type'], string>)

/** As it is given in a change. */
export const credentialAuthChangeInput = builder.inputType('CredentialAuthChangeInput', {
  description:
    'A new token for a `static_bearer`. Other secrets are not changed: archive the credential and make another.',
  fields: (t) => ({
    type: t.field({ type: authType, description: 'Its own type, or left out.' }),
    mcpServerUrl: t.string({ description: 'Its own tool server, or left out.' }),
    secretName: t.string({ description: 'Its own variable, or left out.' }),
    token: t.string({ description: 'The new token. It is never shown again.' }),
    accessToken: t.field({ type: 'Reserved', description: 'Not changed.' }),
    expiresAt: t.field({ type: 'Reserved', description: 'Not changed.' }),
    refresh: t.field({ type: 'Reserved', description: 'Not changed.' }),
    secretValue: t.field({ type: 'Reserved', description: 'Not changed.' }),
    networking: t.field({ type: 'Reserved', description: 'Not changed.' }),
    injectionLocation: t.field({ type: 'Reserved', description: 'Not changed.' }),
  }),
})
