/** The log of a session: what all events have in common, and their names. Inside `data` keys are as on the wire. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { nodesThere } from '../../nodes.ts'
import { sessionType } from '../sessions.ts'
import { requiresAction, sessionActivity } from './parts.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { findEvents } from '#src/resources/agents/session-events.ts'
import { sessionEvents, type SessionEventType } from '#src/resources/agents/sessions/event-types.ts'
import type { LoggedEvent } from '#src/resources/agents/sessions/rows.ts'
import { wireEvent } from '#src/resources/agents/sessions/wire-events.ts'

/** For REST, which sees what is below the schema through it. */
export {
  sessionEvents,
  type EventDefinition,
  type EventField,
  type EventValue,
} from '#src/resources/agents/sessions/event-types.ts'

const eventsPerLoad = 1000

const descriptions = Object.entries(sessionEvents).map(([type, { description }]) => [type, description])

/** The types of events. */
export const sessionEventType = enumOf<SessionEventType>(
  'SessionEventType',
  'The kind of an event in a session.',
  Object.fromEntries(descriptions) as Record<SessionEventType, string>, // it has the table's keys
)

/** Kinds whose usual type name would clash with another type. */
const namedOtherwise: Readonly<Record<string, string>> = { 'session.usage': 'SessionUsageReport' }

/** The GraphQL type of a kind of event: `user.message` is `UserMessage`. */
export function eventTypeName(type: string): string {
  return namedOtherwise[type] ?? type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** An event of a session. Fields may resolve to a stored id; all ids of one level are then loaded together. */
export const sessionEvent = builder.loadableInterfaceRef<LoggedEvent, string>('SessionEvent', {
  load: async (ids, call): Promise<LoggedEvent[]> => {
    const events = new Map((await findEvents(call, [...new Set(ids)])).map((event) => [event.id, event]))
    return ids.map((id) => events.get(id) ?? (null as never)) // every field that loads by id is nullable
  },
  loaderOptions: { cache: false, maxBatchSize: eventsPerLoad },
})
sessionEvent.implement({
  description: 'Something that happened in a session.',
  resolveType: ({ type }) => eventTypeName(type),
  fields: (t) => ({
    id: t.id({ description: '`sevt_` and 26 characters.', resolve: ({ id }) => encodeId('sessionEvent', id) }),
    type: t.field({
      type: sessionEventType,
      description: 'The kind of event.',
      resolve: ({ type }) => type as SessionEventType, // the log has no other kinds
    }),
    session: t.field({
      type: sessionType,
      nullable: true,
      description: 'The session; null once it is deleted.',
      resolve: ({ sessionId }) => sessionId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened or was sent.' }),
    processedAt: t.expose('processedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was processed; null for a queued event that a client sent.',
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The event as REST shows it: `{id, type, processed_at, …}`.',
      resolve: (event) => wireEvent(event),
    }),
  }),
})

/** The stored id of an event that another event refers to. */
export function eventIdIn(id: unknown): string | null {
  return typeof id === 'string' ? (decodeId('sessionEvent', id) ?? null) : null
}

builder.objectField(requiresAction, 'events', (t) =>
  t.field({
    type: [sessionEvent],
    nullable: true,
    description: 'The tool uses, as objects.',
    resolve: ({ event_ids: eventIds }, _, call) => nodesThere(sessionEvent, eventIds.map(eventIdIn), call),
  }),
)
builder.objectField(sessionActivity, 'lastEvent', (t) =>
  t.field({
    type: sessionEvent,
    nullable: true,
    description: 'Its newest event.',
    resolve: ({ lastEventId }) => eventIdIn(lastEventId),
  }),
)
builder.objectField(sessionActivity, 'lastReadEvent', (t) =>
  t.field({
    type: sessionEvent,
    nullable: true,
    description: 'The last event that the owner has read.',
    resolve: ({ lastReadEventId }) => eventIdIn(lastReadEventId),
  }),
)
