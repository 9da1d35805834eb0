/** The states of a session, and the only place that moves one: row, event of the log and notice change together. */
import type { RawBuilder } from 'kysely'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { definedBy } from '#src/resources/agents/sessions/outcomes/rows.ts'
import { appendEvents, isClientType, type NewEvent } from './log.ts'
import type { Session, SessionEvent, SessionStatus, StopReason } from './rows.ts'

/** Where each status may go. A session that is waiting for a retry can be stopped, or give up. */
export const sessionStates: States<SessionStatus> = states<SessionStatus>('sessions', 'session', {
  idle: ['running', 'terminated'],
  running: ['idle', 'rescheduling', 'terminated'],
  rescheduling: ['running', 'idle', 'terminated'],
  terminated: [],
})

/** A status change of a session, and the events to log with it. `stopReason` is required for idle. */
export type SessionMove =
  | { to: 'idle'; stopReason: StopReason; before?: readonly NewEvent[] }
  | { to: 'running' | 'rescheduling' | 'terminated'; stopReason?: undefined; before?: readonly NewEvent[] }

/** A status that a session came to, and why it is idle. */
export type SessionMoved = { sessionId: string; to: SessionStatus; stopReason?: StopReason | undefined }

/** A session came to another status: its row is locked, and its log has the events already. */
export const sessionMoved = hook<[tx: Tx, stop: SessionMoved]>('session moved')
/** An idle session still waits for its client, after some of what it waited for was answered. */
export const sessionStillWaits = hook<[tx: Tx, sessionId: string]>('session still waits')

/**
 * Changes a session's status if that move is allowed, and logs `before` and then the new status.
 * @param set further assignments.
 * @returns the session and the logged events; undefined, having logged nothing, when the move is not allowed or the
 * session is deleted.
 */
export async function moveSession(
  tx: Tx,
  id: string,
  { to, stopReason, before = [] }: SessionMove,
  set: RawBuilder<unknown> = sql`updated_at = now()`,
): Promise<{ session: Session; events: SessionEvent[] } | undefined> {
  const moved = await transition<Session, SessionStatus>(
    tx,
    sessionStates,
    id,
    to,
    sql`
    stop_reason = ${stopReason ? JSON.stringify(stopReason) : null}::jsonb,
    active_ms = active_ms + coalesce((extract(epoch from now() - running_since) * 1000)::bigint, 0),
    running_since = ${to === 'running' ? sql`now()` : sql`null`}, ${set}`,
  )
  if (!moved) return undefined
  const events = await appendEvents(tx, id, [...before, statusEvent(to, stopReason)])
  await sessionMoved.run(tx, { sessionId: id, to, stopReason })
  return { session: afterAppending(moved, events), events }
}

/**
 * Logs what an idle session is still waiting for, after some of it was answered; its status stays.
 * @returns the logged events.
 */
export async function waitOn(
  tx: Tx,
  id: string,
  stopReason: StopReason,
  before: readonly NewEvent[],
): Promise<SessionEvent[]> {
  await findOne(
    tx,
    sql`update sessions set stop_reason = ${JSON.stringify(stopReason)}::jsonb where id = ${id} and status = 'idle'`,
  )
  const events = await appendEvents(tx, id, [...before, statusEvent('idle', stopReason)])
  await sessionStillWaits.run(tx, id)
  return events
}

/** The row as it is after events were appended to its log. */
export function afterAppending(session: Session, events: readonly SessionEvent[]): Session {
  const last = events.at(-1)
  const fromService = events.filter(({ type }) => !isClientType(type)).length
  return last
    ? {
        ...session,
        eventPosition: last.position,
        serviceEvents: session.serviceEvents + fromService,
        lastEventId: last.id,
        lastEventAt: last.createdAt,
        outcomes: [...session.outcomes, ...definedBy(events)],
      }
    : session
}

/** The event that tells of a status. */
export function statusEvent(status: SessionStatus, stopReason?: StopReason): NewEvent {
  if (status === 'idle') return { type: 'session.status_idle', data: { stop_reason: stopReason, stop_details: null } }
  return { type: status === 'rescheduling' ? 'session.status_rescheduled' : `session.status_${status}` }
}
