/** A type of the graph for each type of event, made from their table. */
import type { FieldMap } from '@pothos/core'
import { builder } from '../../builder.ts'
import { eventValues } from './event-values.ts'
import { eventIdIn, eventTypeName, sessionEvent } from './events.ts'
import { camelCase } from '#src/platform/texts.ts'
import {
  sessionEvents,
  type EventDefinition,
  type EventField,
  type SessionEventType,
} from '#src/resources/agents/sessions/event-types.ts'
import type { LoggedEvent } from '#src/resources/agents/sessions/rows.ts'

type FieldBuilder = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], LoggedEvent>

/** Fields whose usual name is that of another type in other events, so that no selection could ask for both. */
const namedOtherwise: Readonly<Record<string, string>> = {
  'span.outcome_evaluation_end.result': 'verdict',
  'span.outcome_evaluation_end.usage': 'modelUsage',
}

/** The type of the graph for each type of event. */
export const eventObjects = Object.fromEntries(
  Object.entries(sessionEvents).map(([type, definition]) => [type, objectOf(type, definition)]),
) as Record<SessionEventType, ReturnType<typeof objectOf>> // it has the table's keys

function objectOf(type: string, { description, fields = {} }: EventDefinition) {
  const nameOf = (key: string): string => namedOtherwise[`${type}.${key}`] ?? camelCase(key)
  return builder.objectRef<LoggedEvent>(eventTypeName(type)).implement({
    description,
    interfaces: [sessionEvent],
    fields: (t): FieldMap =>
      Object.assign(
        {},
        ...Object.entries(fields).map(([key, field]) => fieldsOf(t, nameOf(key), key, field)),
      ) as FieldMap,
  })
}

/** The field for a key of an event's data; for the id of an event also that event; none for what REST alone shows. */
function fieldsOf(t: FieldBuilder, name: string, key: string, field: EventField): FieldMap {
  const shown = eventValues[field.is]
  if (!shown) return {}
  const { type, read = (stored) => stored } = shown
  const nullable = field.orNull ?? field.sometimes ?? shown.nullable ?? false
  const value = t.field({
    type: type as never, // Pothos cannot resolve a generic type
    nullable: nullable as never, // as above
    description: field.description,
    resolve: ({ data }) => (nullable && (data[key] ?? null) === null ? null : read(data[key])) as never, // as it was stored
  })
  if (field.is !== 'event') return { [name]: value }
  const event = t.field({
    type: sessionEvent,
    nullable: true,
    description: field.object,
    resolve: ({ data }) => eventIdIn(data[key]),
  })
  return { [name]: value, [name.replace(/Id$/, '')]: event }
}
