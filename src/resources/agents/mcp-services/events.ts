/** What happens to a person's connections: written with the change, followed from any position. */
import { allow } from '#src/platform/access.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { addCappedEvent } from '#src/platform/streams/capped-log.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import { connectorOwner, findPerson, lockPerson } from './people.ts'

/** The types of events, each with its meaning. */
export const connectionEventTypes = {
  'mcp_service.connected': 'The person connected the service, or connected it again.',
  'mcp_service.disconnected': 'They disconnected it.',
  'mcp_service.reconnect_needed': 'The service no longer accepts its token, or asks for more than it allows.',
  'mcp_service.tools_selected': 'They changed which of its tools are disabled.',
} as const
/** The type of an event. */
export type ConnectionEventType = keyof typeof connectionEventTypes

/** An event; ids are stored uuids, positions grow by one. */
export type ConnectionEvent = Row<'mcp_connection_events', { type: ConnectionEventType }>

const topic = 'mcp_connections'

/** Adds an event in the transaction of its change; the oldest are deleted when there are too many. */
export async function addConnectionEvent(
  tx: Tx,
  { personId, serviceId, connectionId }: { personId: string; serviceId: string; connectionId: string | null },
  type: ConnectionEventType,
): Promise<void> {
  await addCappedEvent(tx, {
    topic,
    id: personId,
    next: sql`update mcp_people set event_position = event_position + 1 where id = ${personId} returning event_position as position`,
    old: sql`delete from mcp_connection_events where person_id = ${personId}`,
    kept: connectorLimits.eventsKept,
    insert: sql`
      insert into mcp_connection_events (person_id, position, type, service_id, connection_id)
      select ${personId}, position, ${type}, ${serviceId}, ${connectionId}`,
  })
}

/**
 * What happens to the caller's connections after the cursor (from now on without one), as it happens.
 * @throws BerthError invalid_request for a text that is not a cursor, before the first event.
 */
export async function followConnections(
  call: Call & { signal?: AbortSignal },
  after: string | null | undefined,
): Promise<AsyncIterableIterator<ConnectionEvent>> {
  const owner = connectorOwner(allow(call.caller, 'connectors:read'))
  const person = (await findPerson(call.db, owner)) ?? (await transaction(call.db, (tx) => lockPerson(tx, owner)))
  return followRows<ConnectionEvent>(call, person.id, after, {
    topic,
    rows: sql`mcp_connection_events where person_id = ${person.id}`,
    position: person.eventPosition,
    latest: person.eventPosition,
  })
}
