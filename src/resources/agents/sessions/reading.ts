/** How far the owner of a session has read, and what is new since then. */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sessionTopic } from './log.ts'
import { readSessionToChange } from './plans.ts'
import type { Session } from './rows.ts'

/** A session's recent activity. `unreadCount`, 100 at most, does not count what the owner sent. */
export type Activity = {
  lastEventId: string | null
  lastEventAt: string | null
  lastReadEventId: string | null
  unreadCount: number
  requiresAction: boolean
}

/** A session's activity. */
export function activityOf({
  lastEventId,
  lastEventAt,
  readEventId,
  serviceEvents,
  readServiceEvents,
  status,
  stopReason,
}: Session): Activity {
  return {
    lastEventId: lastEventId && encodeId('sessionEvent', lastEventId),
    lastEventAt,
    lastReadEventId: readEventId && encodeId('sessionEvent', readEventId),
    unreadCount: Math.min(limits.unreadCountMax, serviceEvents - readServiceEvents),
    requiresAction: status === 'idle' && stopReason?.type === 'requires_action',
  }
}

/**
 * Marks that the owner has read up to this event; the mark never moves back.
 * @throws BerthError not_found; invalid_request for an event that is not in the session.
 */
export async function markSeen(call: Call, publicId: string, throughEventId: string): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  const eventId = decodeId('sessionEvent', throughEventId)
  return transaction(call.db, async (tx) => {
    const session = await readSessionToChange(tx, scope, publicId)
    const event =
      eventId &&
      (await findOne<Pick<Row<'session_events'>, 'position'>>(
        tx,
        sql`select position from session_events where id = ${eventId} and session_id = ${session.id}`,
      ))
    if (!event) throw new BerthError('invalid_request', 'through_event_id is not an event of this session.')
    if (event.position <= session.readPosition) return session
    const { unread } = await getOne<{ unread: number }>(
      tx,
      sql`select count(*) filter (where not ${clientTypes}) as unread from session_events where session_id = ${session.id} and position > ${event.position}`,
    )
    publish(tx, sessionTopic, session.id)
    return getOne<Session>(
      tx,
      sql`
        update sessions
        set read_event_id = ${eventId}, read_position = ${event.position}, read_service_events = service_events - ${unread}
        where id = ${session.id}
        returning *`,
    )
  })
}

/** The same condition as isClientType in log.ts. */
const clientTypes = sql`(type like 'user.%' or type = 'system.message')`
