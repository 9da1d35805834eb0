/** The log of a session in GraphQL: sending events, listing them, following them. */
import { createdFields } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { readInTurn } from '../large-reads.ts'
import { connectionOf, oldestFirst, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { callIn } from '../identity/organizations.ts'
import './sessions/event-objects.ts'
import { sessionEvent, sessionEventType } from './sessions/events.ts'
import { sessionEventInput } from './sessions/inputs.ts'
import { sessionType } from './sessions.ts'
import { limits } from '#src/platform/limits.ts'
import { pageEvents, pageEventsOfEach, sendEvents } from '#src/resources/agents/session-events.ts'
import type { LogReading } from '#src/resources/agents/sessions/log-pages.ts'
import type { Emission } from '#src/resources/agents/sessions/emissions.ts'
import type { PreviewType, ShownPreview } from '#src/resources/agents/sessions/previews.ts'
import type { SessionEventType } from '#src/resources/agents/sessions/event-types.ts'
import { followSession } from '#src/resources/agents/sessions/streams.ts'

const eventFilter = builder.inputType('SessionEventFilter', {
  description: 'Narrows a list of events.',
  fields: (t) => ({
    types: t.field({ type: [sessionEventType], description: 'Only events of these kinds.' }),
    ...createdFields(t),
  }),
})
const eventConnection = connectionOf('SessionEvent', sessionEvent)
const sessionIdArgument = { required: true, description: 'The session.' } as const
const listDescription = `oldest first by default; a page has at most ${limits.eventPageBytes / 1024 ** 2} MiB of events. Errors: NOT_FOUND, INVALID_REQUEST.`

type EventsGiven = Parameters<typeof pageEventsOfEach>[2] &
  OrderGiven &
  Pick<LogReading, 'filter'> & { organizationId: string }
const eventsOf = pagesOfEach((call, sessionIds, { organizationId, filter, order, ...window }: EventsGiven, info) =>
  readInTurn(call, info, (bytesMax) =>
    pageEventsOfEach(callIn(call, { id: organizationId }), sessionIds, window, {
      filter,
      direction: order,
      bytesMax,
    }),
  ),
)

builder.objectField(sessionType, 'events', (t) =>
  t.field({
    type: eventConnection,
    description: `Its log, ${listDescription}`,
    args: {
      ...pageArgumentsUpTo(limits.eventListMax),
      filter: t.arg({ type: eventFilter, description: 'Narrows the list.' }),
      order: t.arg(oldestFirst),
    },
    resolve: ({ id, organizationId }, given, call, info) => eventsOf(call, id, { ...given, organizationId }, info),
  }),
)

builder.queryFields((t) => ({
  sessionEvents: t.field({
    type: eventConnection,
    description: `A session’s log, ${listDescription}`,
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      ...pageArgumentsUpTo(limits.eventListMax),
      filter: t.arg({ type: eventFilter, description: 'Narrows the list.' }),
      order: t.arg(oldestFirst),
    },
    resolve: (_, { sessionId, filter, order, ...window }, call, info) =>
      readInTurn(call, info, (bytesMax) => pageEvents(call, sessionId, window, { filter, direction: order, bytesMax })),
  }),
}))

builder.relayMutationField(
  'sendSessionEvents',
  {
    description: 'What `sendSessionEvents` takes.',
    inputFields: (t) => ({
      sessionId: t.id(sessionIdArgument),
      events: t.field({
        type: [sessionEventInput],
        required: true,
        extensions: { most: limits.eventsPerBatch },
        description: `1 to ${limits.eventsPerBatch} events.`,
      }),
    }),
  },
  {
    description:
      'Sends events to a session, all or none. Errors: NOT_FOUND, INVALID_REQUEST, SESSION_ARCHIVED, REQUIRES_ACTION_PENDING.',
    resolve: async (_, { input }, call) => ({
      events: await sendEvents(call, input.sessionId, input.events),
    }),
  },
  {
    description: 'What `sendSessionEvents` answers.',
    outputFields: (t) => ({
      sessionEvents: t.field({
        type: [sessionEvent],
        description: 'The stored events.',
        resolve: ({ events }) => events,
      }),
    }),
  },
)

type Preview = Extract<ShownPreview, { type: 'event_start' }>
type PreviewText = Extract<ShownPreview, { type: 'event_delta' }>
const previewStart = builder.objectRef<Preview>('SessionPreviewStart').implement({
  description: 'A preview of an event begins.',
  fields: (t) => ({
    previewOf: t.id({ description: 'The id that the event will have.', resolve: ({ event: { id } }) => id }),
    type: t.field({
      type: sessionEventType,
      description: 'The kind of event it will be.',
      resolve: ({ event: { type } }): SessionEventType => type,
    }),
  }),
})
const previewText = builder.objectRef<PreviewText>('SessionPreviewText').implement({
  description: 'More content of an event that is being previewed.',
  fields: (t) => ({
    previewOf: t.id({ description: 'The id that the event will have.', resolve: (piece) => piece.event_id }),
    index: t.int({
      description: 'The index of the content block to which it belongs.',
      resolve: ({ delta }) => delta.index,
    }),
    text: t.string({
      description: 'The content to append to that block.',
      resolve: ({ delta }) => delta.content.text,
    }),
  }),
})
const preview = builder.unionType('SessionPreview', {
  description: 'A preview of an event, while the agent is still producing it.',
  types: [previewStart, previewText],
  resolveType: ({ type }) => (type === 'event_start' ? 'SessionPreviewStart' : 'SessionPreviewText'),
})
const emission = builder.objectRef<Emission>('SessionEmission').implement({
  description: 'One element of a session’s stream: an event, or a preview of one.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'logged' in value,
  fields: (t) => ({
    cursor: t.string({
      nullable: true,
      description: 'Pass it as `after` to resume after this; null for a preview, and for the end of a deleted session.',
      resolve: ({ position }) => (position === null ? null : String(position)),
    }),
    event: t.field({
      type: sessionEvent,
      nullable: true,
      description:
        'The event; null for a preview. An event that a client sent comes twice: first with `processedAt` null, when it is queued, then with the time at which it was processed.',
      resolve: ({ logged }) => logged,
    }),
    preview: t.field({
      type: preview,
      nullable: true,
      description: 'The preview; null for an event.',
      resolve: ({ logged, event }) => (logged ? null : (event as ShownPreview)), // whatever is not in the log is a preview
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The event, `{id, type, processed_at, …}`, or the preview, as REST shows it.',
      resolve: ({ event }) => event,
    }),
  }),
})
const emissionOrHeartbeat = builder.unionType('SessionEventOrHeartbeat', {
  description: 'An event of a session, or a heartbeat.',
  types: [emission, heartbeat],
})
const previewType = enumOf('SessionPreviewType', 'The kinds of events that can be previewed.', {
  'agent.message': 'The agent’s messages.',
  'agent.thinking': 'The agent’s thinking.',
} satisfies Record<PreviewType, string>)

builder.subscriptionFields((t) => ({
  sessionEvents: t.field({
    type: emissionOrHeartbeat,
    description:
      'A session’s events: from now on, from after a cursor, or from the beginning, until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      after: t.arg.string({ description: 'The cursor or the id of the last event seen.' }),
      replay: t.arg.boolean({ description: 'Whether to start from the beginning when there is no cursor.' }),
      previews: t.arg({ type: [previewType], description: 'The kinds of events to preview.' }),
    },
    subscribe: async (_, { sessionId, ...start }, call) => withHeartbeats(await followSession(call, sessionId, start)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
