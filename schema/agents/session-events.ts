/** The log of a session in GraphQL: sent to, listed, followed. */
import { createdArguments, listOrder } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { listArguments } from '../pages.ts'
import type { Emission } from '#src/resources/agents/sessions/emissions.ts'
import { listEvents, sendEvents, type EventList } from '#src/resources/agents/session-events.ts'
import { followSession } from '#src/resources/agents/sessions/streams.ts'

const eventList = builder.objectRef<EventList>('SessionEventList').implement({
  description: 'A page of a session’s log.',
  fields: (t) => ({
    data: t.field({
      type: ['JSON'],
      description: 'The events: `{id, type, processed_at, …}`, each once.',
      resolve: ({ data }) => data,
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are more behind this page.' }),
    nextPage: t.exposeString('nextPage', {
      nullable: true,
      description: 'Pass it as `page` for the next page; null behind the last.',
    }),
  }),
})

const emission = builder.objectRef<Emission>('SessionEvent').implement({
  description: 'An event of a session as it goes out.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'event' in value,
  fields: (t) => ({
    cursor: t.string({
      nullable: true,
      description: 'Pass it as `after` to resume behind this event; null for a preview, which is not logged.',
      resolve: ({ position }) => (position === null ? null : String(position)),
    }),
    event: t.field({
      type: 'JSON',
      description:
        '`{id, type, processed_at, …}`. What a client sent comes twice: with `processed_at` null when it was queued, and with the moment when it was taken.',
      resolve: ({ event }) => event,
    }),
  }),
})
const emissionOrHeartbeat = builder.unionType('SessionEventOrHeartbeat', {
  description: 'An event of a session, or a sign of life.',
  types: [emission, heartbeat],
})
const sessionIdArgument = { required: true, description: 'The session.' } as const

builder.queryFields((t) => ({
  sessionEventList: t.field({
    type: eventList,
    description: 'A session’s log, oldest first unless asked otherwise. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      limit: t.arg.int({ description: 'How many, 1 to 1000; 100 without it.' }),
      page: listArguments.page,
      order: t.arg({ type: listOrder, description: 'Oldest first without it.' }),
      types: t.arg.stringList({ description: 'Only events of these types.' }),
      ...createdArguments,
    },
    resolve: (_, { sessionId, ...filter }, call) => listEvents(call, sessionId, filter),
  }),
}))

builder.mutationFields((t) => ({
  sendSessionEvents: t.field({
    type: ['JSON'],
    description:
      'Sends a session 1 to 100 events, all or none; answers them as stored. Errors: NOT_FOUND, INVALID_REQUEST, SESSION_ARCHIVED, REQUIRES_ACTION_PENDING.',
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      events: t.arg({
        type: 'JSON',
        required: true,
        description:
          'A list of `{type, …}`: `user.message`, `user.interrupt`, `user.tool_confirmation`, `user.custom_tool_result`, `user.tool_result`, `user.define_outcome`, `system.message`.',
      }),
    },
    resolve: (_, { sessionId, events }, call) => sendEvents(call, sessionId, events),
  }),
}))

builder.subscriptionFields((t) => ({
  sessionEvents: t.field({
    type: emissionOrHeartbeat,
    description:
      'What happens in a session: from now on, or from behind a cursor, or from the beginning; until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      after: t.arg.string({ description: 'The cursor, or the id, of the last event seen.' }),
      replay: t.arg.boolean({ description: 'From the beginning, when there is no cursor.' }),
      previews: t.arg.stringList({
        description: '`agent.message`, `agent.thinking`: what is said shows while it is said.',
      }),
    },
    subscribe: async (_, { sessionId, ...start }, call) => withHeartbeats(await followSession(call, sessionId, start)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))
