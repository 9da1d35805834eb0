/** What changes in an organization, in GraphQL: one subscription for everything that its lists show. */
import { organizationArguments } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf, enumOfTypes } from '#schema/enums.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { encodeNodeId } from '#schema/node-ids.ts'
import { organizationEventLimits } from '#src/resources/identity/organization-events/limits.ts'
import { watchedTypeNames } from '#src/resources/identity/organization-events/watched.ts'
import {
  currentCursor,
  eventCursor,
  followOrganization,
  type OrganizationEvent,
} from '#src/resources/identity/organization-events.ts'
import { organizationType } from './organizations.ts'

const changeType = enumOf('ChangeType', 'How an object changed.', {
  created: 'It was created.',
  updated: 'Its state changed, or something else of it that lists show.',
  deleted: 'It is gone.',
})
const nodeType = enumOfTypes(
  'NodeType',
  'The types of the objects whose changes `organizationEvents` has.',
  watchedTypeNames,
)

const organizationEvent = builder.objectRef<OrganizationEvent>('OrganizationEvent').implement({
  description: 'A change of an object of an organization.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'change' in value,
  fields: (t) => ({
    cursor: t.string({ description: 'Pass it as `after` to resume after this event.', resolve: eventCursor }),
    change: t.field({ type: changeType, description: 'How it changed.', resolve: ({ change }) => change }),
    nodeType: t.field({ type: nodeType, description: 'The type of the object.', resolve: ({ type }) => type }),
    nodeId: t.id({ description: 'Which object.', resolve: ({ type, nodeId }) => encodeNodeId(type, nodeId) }),
    node: t.node({
      description: 'The object as it is now; null once it is deleted.',
      id: ({ type, nodeId }) => encodeNodeId(type, nodeId),
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const organizationEventOrHeartbeat = builder.unionType('OrganizationEventOrHeartbeat', {
  description: 'A change of an object, or a heartbeat.',
  types: [organizationEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  organizationEvents: t.field({
    type: organizationEventOrHeartbeat,
    description: `What changes in an organization: whenever an object of it that the caller may see is created, deleted, or changes in what lists show. Those after the cursor (without a cursor, only new ones), then live ones. An event is kept for ${organizationEventLimits.keptHours} hours. Not available to the token inside a VM. Errors: FORBIDDEN, REPLAY_RETENTION_EXCEEDED when the cursor is older than ${organizationEventLimits.resumeHours} hours.`,
    args: {
      ...organizationArguments,
      nodeTypes: t.arg({
        type: [nodeType],
        description: 'Only objects of these types; without it all that the caller may read.',
      }),
      after: t.arg.string({
        description: 'The cursor of the last event seen, or the `eventCursor` of the organization.',
      }),
    },
    subscribe: async (_, { organizationId, nodeTypes, after }, call) =>
      withHeartbeats(await followOrganization(call, organizationId, nodeTypes, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

builder.objectField(organizationType, 'eventCursor', (t) =>
  t.string({
    nullable: true,
    description: `Where to follow \`organizationEvents\` from, after all that the same request reads: some events of the last ${organizationEventLimits.cursorBeforeMs / 1000} seconds may come that it has seen already. Null for the token inside a VM.`,
    resolve: ({ id }, _, call) => currentCursor(call, id),
  }),
)
