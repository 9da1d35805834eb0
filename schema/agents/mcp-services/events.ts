/** What happens to people's connections, as a subscription. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { linkTo } from '../../nodes.ts'
import { connectedService, mcpServiceType } from '../mcp-services.ts'
import {
  connectionEventTypes,
  followConnections,
  type ConnectionEvent,
} from '#src/resources/agents/mcp-services/events.ts'
import { getService } from '#src/resources/agents/mcp-services.ts'

const connectionEvent = builder.objectRef<ConnectionEvent>('McpServiceEvent').implement({
  description: 'Something that happened to a person’s connections.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'connectionId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    type: t.field({
      type: enumOf('McpServiceEventType', 'What happened to a connection.', connectionEventTypes),
      description: 'What happened.',
      resolve: ({ type }) => type,
    }),
    serviceId: t.exposeID('serviceId', { description: 'The connector.' }),
    service: t.field({
      type: mcpServiceType,
      nullable: true,
      description: 'The connector as it is now; null once it left the catalog.',
      resolve: ({ serviceId }, _arguments, call) => getService(call, serviceId),
    }),
    ...linkTo(t, 'connection', {
      type: connectedService,
      nullable: true,
      description: 'The connection as it is now; null once it is deleted.',
      id: ({ connectionId }: ConnectionEvent) => connectionId,
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const connectionEventOrHeartbeat = builder.unionType('McpServiceEventOrHeartbeat', {
  description: 'An event of a connection, or a heartbeat.',
  types: [connectionEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  mcpServiceEvents: t.field({
    type: connectionEventOrHeartbeat,
    description: 'What happens to the caller’s connections: after the cursor (without one, from now on).',
    args: { after: t.arg.string({ description: 'The cursor of the last event seen.' }) },
    subscribe: async (_, { after }, call) => withHeartbeats(await followConnections(call, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
