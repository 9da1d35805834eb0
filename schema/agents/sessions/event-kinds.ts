/** How a kind of event becomes a type: its own fields beside those of every event. */
import type { ObjectFieldsShape } from '@pothos/core'
import { builder } from '../../builder.ts'
import type { SessionEventType } from '#src/resources/agents/sessions/event-types.ts'
import type { LoggedEvent } from '#src/resources/agents/sessions/rows.ts'
import { eventTypeName, sessionEvent } from './events.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type Fields = ObjectFieldsShape<Types, LoggedEvent>

/** Fields that several kinds may share. */
export function fieldsOf(fields: Fields): Fields {
  return fields
}

/** Makes the type of a kind of event. */
export function eventOf(type: SessionEventType, description: string, ...parts: readonly Fields[]) {
  return builder.objectRef<LoggedEvent>(eventTypeName(type)).implement({
    description,
    interfaces: [sessionEvent],
    fields: (t) => Object.assign({}, ...parts.map((part) => part(t))) as ReturnType<Fields>,
  })
}
