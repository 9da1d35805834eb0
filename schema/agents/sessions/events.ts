/** The log of a session: an interface, and a type for each kind of event. Inside `data` keys are as on the wire. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { sessionType } from '../sessions.ts'
import { requiresAction, sessionActivity } from './parts.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { findEvents } from '#src/resources/agents/session-events.ts'
import type { SessionEventType } from '#src/resources/agents/sessions/event-types.ts'
import { wireEvent } from '#src/resources/agents/sessions/log.ts'
import type { LoggedEvent } from '#src/resources/agents/sessions/rows.ts'

const eventsPerLoad = 1000

/** What each kind of event says. */
export const sessionEventType = enumOf('SessionEventType', 'What an event of a session says.', {
  'user.message': 'A user said something.',
  'user.interrupt': 'A user stopped the agent.',
  'user.tool_confirmation': 'A user allowed or denied a tool use.',
  'user.custom_tool_result': 'A tool of the client’s own answered.',
  'user.tool_result': 'A tool that the client runs itself answered.',
  'user.define_outcome': 'A user said what is to be reached.',
  'system.message': 'The model is told something beside what users say.',
  'agent.message': 'The agent said something.',
  'agent.thinking': 'The agent thought.',
  'agent.tool_use': 'The agent uses a built-in tool.',
  'agent.tool_result': 'A built-in tool answered.',
  'agent.mcp_tool_use': 'The agent uses a tool of a tool server.',
  'agent.mcp_tool_result': 'A tool of a tool server answered.',
  'agent.custom_tool_use': 'The agent uses a tool of the client’s own.',
  'agent.thread_context_compacted': 'What was said long ago was cut from what the model is shown.',
  'session.status_running': 'The session works.',
  'session.status_idle': 'The session waits.',
  'session.status_rescheduled': 'Something failed that may pass; it is tried again.',
  'session.status_terminated': 'The session ended for ever.',
  'session.error': 'Something failed.',
  'session.updated': 'The session was changed.',
  'session.deleted': 'The session was deleted, with its log.',
  'session.usage': 'What the session used so far.',
  'span.model_request_start': 'A request to the model began.',
  'span.model_request_end': 'A request to the model ended.',
  'span.outcome_evaluation_start': 'A grading began.',
  'span.outcome_evaluation_end': 'A grading ended.',
} satisfies Record<SessionEventType, string>)

/** Kinds whose plain name means something else. */
const namedOtherwise: Readonly<Record<string, string>> = { 'session.usage': 'SessionUsageReport' }

/** The GraphQL type of a kind of event: `user.message` is `UserMessage`. */
export function eventTypeName(type: string): string {
  return namedOtherwise[type] ?? type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** An event of a session. Fields may answer with a stored id: it is loaded with the others of its level. */
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
      description: 'What it says.',
      resolve: ({ type }) => type as SessionEventType, // the log holds no others
    }),
    session: t.field({
      type: sessionType,
      nullable: true,
      description: 'The session; null once it is deleted.',
      resolve: ({ sessionId }) => sessionId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened, or was sent.' }),
    processedAt: t.expose('processedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was taken up; null for what a client sent while it waits for that.',
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The event as REST shows it: `{id, type, processed_at, …}`.',
      resolve: (event) => wireEvent(event),
    }),
  }),
})

/** The stored id of an event that another one names. */
export function eventIdIn(id: unknown): string | null {
  return typeof id === 'string' ? (decodeId('sessionEvent', id) ?? null) : null
}

builder.objectField(requiresAction, 'events', (t) =>
  t.field({
    type: [sessionEvent],
    nullable: { list: false, items: true },
    description: 'The tool uses themselves.',
    resolve: ({ event_ids: eventIds }) => eventIds.map(eventIdIn),
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
