/** Connectors in GraphQL: the catalog, people's connections, and what happens to them. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { userType } from '../identity/users.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { nameFilter, organizationOf } from '../nouns.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { always } from '../words.ts'
import { mcpTool } from './mcp-tools.ts'
import { encodeId } from '#src/platform/ids.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import {
  completeConnection,
  disconnectService,
  startConnection,
} from '#src/resources/agents/mcp-services/connecting.ts'
import { isRefused, type McpConnection } from '#src/resources/agents/mcp-services/rows.ts'
import type { McpService } from '#src/resources/agents/mcp-services/services.ts'
import {
  findMcpConnections,
  getService,
  listToolsOfService,
  pageServices,
  selectTools,
  type McpServiceTools,
} from '#src/resources/agents/mcp-services.ts'

const connectionStatus = enumOf('ConnectedServiceStatus', 'Whether a connection can be used.', {
  active: 'As far as is known, it can.',
  scope_missing: 'The service asks for more than it allows: connect it again to allow that.',
  refused: 'The service does not accept it any more: connect it again.',
  moved: 'The service has another address by now, to which its tokens are not sent, or left the catalog.',
})
type ConnectionStatus = (typeof connectionStatus)['$inferType']

/** A connection. */
export const connectedService = nodeOf('ConnectedService', findMcpConnections)

/** A connector, for one person. */
export const mcpServiceType = builder.objectRef<McpService>('McpService')

builder.objectType(connectedService, {
  description: 'A person’s connection to a connector. Only they see it. Its tokens are never shown.',
  fields: (t) => ({
    serviceId: t.exposeID('serviceId', { description: 'The connector.' }),
    service: t.field({
      type: mcpServiceType,
      nullable: true,
      description: 'The connector; null once it left the catalog.',
      resolve: ({ serviceId }, _arguments, call) => getService(call, serviceId),
    }),
    ...organizationOf(t, 'The organization in which it is used.'),
    ...linkTo(t, 'user', {
      type: userType,
      description: 'The person.',
      id: ({ ownerUserId }: McpConnection) => ownerUserId,
    }),
    status: t.field({
      type: connectionStatus,
      description: 'Whether it can be used.',
      resolve: (connection, _arguments, { config }) =>
        statusOf(connection, serviceCatalog(config).get(connection.serviceId)?.url),
    }),
    issuer: t.exposeString('issuer', { description: 'The authorization server where the person signed in.' }),
    scopes: t.stringList({
      description: 'What it allows, in the service’s words; empty where the service does not say.',
      resolve: ({ scope }) => wordsOf(scope),
    }),
    missingScopes: t.stringList({
      description: 'What the service asks for besides.',
      resolve: ({ missingScope }) => wordsOf(missingScope),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its token ends; it is refreshed before if it can be. Null for one that does not end.',
    }),
    connectedAt: t.expose('connectedAt', { type: 'DateTime', description: 'When the person last signed in.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they first did.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

mcpServiceType.implement({
  description: 'A connector: a service with a tool server, as the operator lists it, and what the caller has of it.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its short name in the catalog, such as `linear`.' }),
    type: t.string(always('mcp_service')),
    name: t.exposeString('name', { description: 'What it is called.' }),
    description: t.exposeString('description', { description: 'What it is for.' }),
    iconUrl: t.exposeString('iconUrl', { nullable: true, description: 'Where its icon is; null without one.' }),
    url: t.exposeString('url', { description: 'Its tool server.' }),
    auth: t.field({
      type: enumOf('McpServiceAuth', 'How a connector is used.', {
        oauth: 'Each person signs in to it.',
        none: 'Everybody uses it as it is.',
      } satisfies Record<McpService['auth'], string>),
      description: 'Whether people sign in to it.',
      resolve: ({ auth }) => auth,
    }),
    isConnected: t.exposeBoolean('connected', {
      description: 'Whether the caller’s agents can use it; true for one that needs no sign-in.',
    }),
    connectedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the caller last signed in to it; null when they are not connected.',
      resolve: ({ connection, connected }) => (connected ? (connection?.connectedAt ?? null) : null),
    }),
    connection: t.field({
      type: connectedService,
      nullable: true,
      description: 'The caller’s connection to it; null without one.',
      resolve: ({ connection }) => connection,
    }),
    toolsCount: t.exposeInt('toolsCount', {
      description: 'How many tools it had when the caller or their agents last asked; 0 before.',
    }),
    disabledTools: t.stringList({
      description: 'The names of its tools that the caller’s agents are not offered.',
      resolve: ({ disabledTools }) => [...disabledTools],
    }),
  }),
})

const serviceTools = builder.objectRef<McpServiceTools>('McpServiceTools').implement({
  description: 'The tools of a connector now.',
  fields: (t) => ({
    tools: t.field({ type: [mcpTool], description: 'All of them, disabled ones too.', resolve: ({ tools }) => tools }),
    disabledTools: t.stringList({
      description:
        'The names of those that the caller’s agents are not offered; it may have names that it does not have.',
      resolve: ({ disabledTools }) => [...disabledTools],
    }),
    error: t.exposeString('leftOut', {
      nullable: true,
      description: 'Which tools were left out and why, as a sentence.',
    }),
  }),
})

builder.queryFields((t) => ({
  mcpService: t.field({
    type: mcpServiceType,
    description: 'One connector. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getService(call, id),
  }),
  mcpServices: t.field({
    type: connectionOf('McpService', mcpServiceType),
    description: 'The connectors of this installation, in the order of its catalog.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: nameFilter('McpService'), description: 'Narrows the list.' }),
    },
    resolve: (_, { filter, ...window }, call) => pageServices(call, window, filter),
  }),
  mcpServiceTools: t.field({
    type: serviceTools,
    description:
      'Asks a connector for its tools, within 10 s. Errors: NOT_FOUND, PROVIDER_NOT_CONNECTED, SERVICE_UNAVAILABLE.',
    args: { mcpServiceId: t.arg.id({ required: true, description: 'The connector.' }) },
    resolve: (_, { mcpServiceId }, call) => listToolsOfService(call, mcpServiceId),
  }),
}))

builder.relayMutationField(
  'startMcpSignIn',
  {
    description: 'What `startMcpSignIn` takes.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector.' }),
      returnUrl: t.string({
        required: true,
        description:
          'Where the person comes back to, with `code` and `state`: an address of an origin that the operator lists.',
      }),
    }),
  },
  {
    description:
      'Begins to connect a service: send the person’s browser to its URL. Errors: NOT_FOUND, INVALID_REQUEST, RATE_LIMITED, SERVICE_UNAVAILABLE, TIMEOUT.',
    resolve: (_, { input }, call) => startConnection(call, input),
  },
  {
    description: 'What `startMcpSignIn` answers.',
    outputFields: (t) => ({
      authorizationUrl: t.exposeString('authorizationUrl', { description: 'Where the person signs in.' }),
      state: t.exposeString('state', {
        description: 'Comes back with the code; good once, for this person, for ten minutes.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the state ends.' }),
    }),
  },
)
builder.relayMutationField(
  'completeMcpSignIn',
  {
    description: 'What `completeMcpSignIn` takes.',
    inputFields: (t) => ({
      code: t.string({ required: true, description: 'The code that came back.' }),
      state: t.string({ required: true, description: 'The state that came back with it, which names the service.' }),
      iss: t.string({ description: 'The `iss` that came back with them, if any.' }),
    }),
  },
  {
    description:
      'Connects the service for which this sign-in began, in place of the connection before. Errors: INVALID_CODE, RATE_LIMITED, SERVICE_UNAVAILABLE, TIMEOUT.',
    resolve: async (_, { input }, call) => ({ service: await completeConnection(call, input) }),
  },
  {
    description: 'What `completeMcpSignIn` answers.',
    outputFields: (t) => ({
      mcpService: t.field({ type: mcpServiceType, description: 'The service.', resolve: ({ service }) => service }),
    }),
  },
)
builder.relayMutationField(
  'disconnectMcpService',
  {
    description: 'What `disconnectMcpService` takes.',
    inputFields: (t) => ({ id: t.id({ required: true, description: 'The connector.' }) }),
  },
  {
    description:
      'Disconnects a service: its tokens are deleted, and withdrawn where they came from. Errors: NOT_FOUND.',
    resolve: (_, { input }, call) => disconnectService(call, input.id),
  },
  {
    description: 'What `disconnectMcpService` answers.',
    outputFields: (t) => ({
      deletedId: t.id({
        description: 'The id of the connection.',
        resolve: ({ connectionId }) => encodeId('mcpConnection', connectionId),
      }),
    }),
  },
)
builder.relayMutationField(
  'selectMcpTools',
  {
    description: 'What `selectMcpTools` takes.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector.' }),
      disabledTools: t.stringList({
        required: true,
        description: 'The names of its tools that the caller’s agents are not to be offered, in place of those before.',
      }),
    }),
  },
  {
    description:
      'Chooses which tools of a service the caller’s agents are offered. Errors: NOT_FOUND, INVALID_REQUEST.',
    resolve: async (_, { input }, call) => ({ service: await selectTools(call, input) }),
  },
  {
    description: 'What `selectMcpTools` answers.',
    outputFields: (t) => ({
      mcpService: t.field({ type: mcpServiceType, description: 'The service.', resolve: ({ service }) => service }),
    }),
  },
)

function statusOf(connection: McpConnection, url: string | undefined): ConnectionStatus {
  if (connection.serverUrl !== url) return 'moved'
  if (isRefused(connection)) return 'refused'
  return connection.missingScope === null ? 'active' : 'scope_missing'
}

function wordsOf(scope: string | null): string[] {
  return scope === null ? [] : scope.split(' ').filter(Boolean)
}
