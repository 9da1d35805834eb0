/** The log of a session in GraphQL: sent to, listed, followed. */
import { createdFields } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { wiredInput } from '../mutations.ts'
import { sessionEvent, sessionEventType } from './sessions/events.ts'
import { sessionEventInput } from './sessions/inputs.ts'
import './sessions/said-events.ts'
import './sessions/state-events.ts'
import { sessionType } from './sessions.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { pageEvents, sendEvents } from '#src/resources/agents/session-events.ts'
import type { Emission } from '#src/resources/agents/sessions/emissions.ts'
import type { PreviewType, ShownPreview } from '#src/resources/agents/sessions/previews.ts'
import type { SessionEventType } from '#src/resources/agents/sessions/event-types.ts'
import { followSession } from '#src/resources/agents/sessions/streams.ts'

const eventFilter = builder.inputType('SessionEventFilter', {
  description: 'Which events a list shows.',
  fields: (t) => ({
    types: t.field({ type: [sessionEventType], description: 'Only events of these kinds.' }),
    ...createdFields(t),
  }),
})
const eventConnection = connectionOf('SessionEvent', sessionEvent)
const eventOrder = orderOf('SessionEvent')
const sessionIdArgument = { required: true, description: 'The session.' } as const
const listDescription = `oldest first unless asked otherwise; a page has up to ${limits.eventListMax} events, or 32 MiB of them. Errors: NOT_FOUND, INVALID_REQUEST.`

builder.objectField(sessionType, 'events', (t) =>
  t.field({
    type: eventConnection,
    description: `Its log, ${listDescription}`,
    args: {
      ...pageArguments,
      filter: t.arg({ type: eventFilter, description: 'Which ones.' }),
      orderBy: t.arg({ type: eventOrder, description: 'Oldest first without it.' }),
    },
    resolve: ({ id }, { filter, orderBy, ...window }, call) =>
      pageEvents(call, encodeId('session', id), window, filter, orderBy?.direction),
  }),
)

builder.queryFields((t) => ({
  sessionEvents: t.field({
    type: eventConnection,
    description: `A session’s log, ${listDescription}`,
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      ...pageArguments,
      filter: t.arg({ type: eventFilter, description: 'Which ones.' }),
      orderBy: t.arg({ type: eventOrder, description: 'Oldest first without it.' }),
    },
    resolve: (_, { sessionId, filter, orderBy, ...window }, call) =>
      pageEvents(call, sessionId, window, filter, orderBy?.direction),
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
      'Sends a session events, all or none. Errors: NOT_FOUND, INVALID_REQUEST, SESSION_ARCHIVED, REQUIRES_ACTION_PENDING.',
    resolve: async (_, { input }, call, info) => ({
      events: await sendEvents(call, input.sessionId, wiredInput(input, info).events),
    }),
  },
  {
    description: 'What `sendSessionEvents` answers.',
    outputFields: (t) => ({
      events: t.field({ type: [sessionEvent], description: 'They as stored.', resolve: ({ events }) => events }),
    }),
  },
)

type Preview = Extract<ShownPreview, { type: 'event_start' }>
type PreviewText = Extract<ShownPreview, { type: 'event_delta' }>
const previewStart = builder.objectRef<Preview>('SessionPreviewStart').implement({
  description: 'The agent begins to say something.',
  fields: (t) => ({
    previewOf: t.id({ description: 'The id that the event will have.', resolve: ({ event: { id } }) => id }),
    type: t.field({
      type: sessionEventType,
      description: 'What kind of event it will be.',
      resolve: ({ event: { type } }): SessionEventType => type,
    }),
  }),
})
const previewText = builder.objectRef<PreviewText>('SessionPreviewText').implement({
  description: 'More of what the agent says.',
  fields: (t) => ({
    previewOf: t.id({ description: 'The id that the event will have.', resolve: (piece) => piece.event_id }),
    index: t.int({
      description: 'To which block of the event’s content it belongs.',
      resolve: ({ delta }) => delta.index,
    }),
    text: t.string({
      description: 'What comes behind what was said before.',
      resolve: ({ delta }) => delta.content.text,
    }),
  }),
})
const preview = builder.unionType('SessionPreview', {
  description: 'What is being said, before it is in the log.',
  types: [previewStart, previewText],
  resolveType: ({ type }) => (type === 'event_start' ? 'SessionPreviewStart' : 'SessionPreviewText'),
})
const emission = builder.objectRef<Emission>('SessionEmission').implement({
  description: 'Something that happened in a session, as it goes out: an event, or a preview of one.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'logged' in value,
  fields: (t) => ({
    cursor: t.string({
      nullable: true,
      description:
        'Pass it as `after` to resume behind this; null for a preview, and for the end of a deleted session.',
      resolve: ({ position }) => (position === null ? null : String(position)),
    }),
    event: t.field({
      type: sessionEvent,
      nullable: true,
      description:
        'The event; null for a preview. What a client sent comes twice: with `processedAt` null when it was queued, and with the moment when it was taken.',
      resolve: ({ logged }) => logged,
    }),
    preview: t.field({
      type: preview,
      nullable: true,
      description: 'The preview; null for an event.',
      resolve: ({ logged, event }) => (logged ? null : (event as ShownPreview)), // what is not logged is one
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The event, `{id, type, processed_at, …}`, or the preview, as REST shows it.',
      resolve: ({ event }) => event,
    }),
  }),
})
const emissionOrHeartbeat = builder.unionType('SessionEventOrHeartbeat', {
  description: 'An event of a session, or a sign of life.',
  types: [emission, heartbeat],
})
const previewType = enumOf('SessionPreviewType', 'What can be followed while it is said.', {
  'agent.message': 'What the agent says.',
  'agent.thinking': 'That it thinks.',
} satisfies Record<PreviewType, string>)

builder.subscriptionFields((t) => ({
  sessionEvents: t.field({
    type: emissionOrHeartbeat,
    description:
      'What happens in a session: from now on, or from behind a cursor, or from the beginning; until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      sessionId: t.arg.id(sessionIdArgument),
      after: t.arg.string({ description: 'The cursor, or the id, of the last event seen.' }),
      replay: t.arg.boolean({ description: 'From the beginning, when there is no cursor.' }),
      previews: t.arg({ type: [previewType], description: 'What shows while it is said.' }),
    },
    subscribe: async (_, { sessionId, ...start }, call) => withHeartbeats(await followSession(call, sessionId, start)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))
