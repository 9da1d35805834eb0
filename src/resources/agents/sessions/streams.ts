/** Following a session: its events from any position without gaps or repeats, and its state. */
import { allow } from '#src/platform/access.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { follow, listenAlone } from '#src/platform/streams/follow.ts'
import type { Emission } from './emissions.ts'
import { followEmissions } from './hubs.ts'
import { isPreviewable, sessionTopic } from './log.ts'
import { previewTypes, type PreviewType } from './previews.ts'
import { findSessionRow, readSession, type Session } from './rows.ts'

const sentMax = 100 // events whose previews may still arrive

type Following = Call & { signal?: AbortSignal }

/** Where a stream starts (after a position or an event, at the beginning, or now), and what it previews. */
export type StreamStart = { after?: string | null; replay?: boolean | null; previews?: readonly string[] | null }

/**
 * The session's events from the start on, then new ones as they come; ends after the session does.
 * @throws BerthError not_found; invalid_request for a position or an event that is not in the session. Both before the
 * first event.
 */
export async function followSession(
  call: Following,
  publicId: string,
  { after, replay, previews }: StreamStart,
): Promise<AsyncIterableIterator<Emission>> {
  const session = await readSession(call.db, allow(call.caller, 'sessions:read'), publicId)
  const previewTypes = (previews ?? []).map(readPreviewType)
  const position = after ? await readPosition(call, session, after) : replay ? 0 : session.eventPosition
  if (session.status === 'terminated' && position >= session.eventPosition) return nothing()
  return followEmissions(
    call,
    session.id,
    position,
    previewTypes.length > 0 ? previewFilter(new Set(previewTypes)) : undefined,
  )
}

async function* nothing(): AsyncIterableIterator<never> {}

/**
 * Passes on a preview's pieces if its kind is wanted, its start was seen and its event was not. A subscriber that
 * caught up from the log, or got a notice while the pieces were read, may have the event already.
 */
function previewFilter(previewTypes: ReadonlySet<PreviewType>): (emission: Emission) => boolean {
  const sent = createBoundedMap<unknown, true>({ entriesMax: sentMax })
  let begun: string | null = null
  return ({ event, preview }) => {
    if (preview === null) {
      if (isPreviewable(String(event['type']))) sent.set(event['id'], true)
      return true
    }
    if (event['type'] !== 'event_start') return preview === begun && !sent.peek(preview)
    const type = (event['event'] as { type: PreviewType }).type // previews.ts wrote it
    begun = previewTypes.has(type) && !sent.peek(preview) ? preview : null
    return begun !== null
  }
}

/** The state of a session after a change. `position` resumes after it. */
export type SessionState = { position: number; session: Session }

/**
 * The session's state at every change: first the current one, unless nothing was logged after `after`, then live ones.
 * Of several quick changes only the last state comes. Ends when the session does.
 * @throws BerthError not_found; invalid_request. Both before the first state.
 */
export async function followSessionState(
  call: Following,
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<SessionState>> {
  const session = await readSession(call.db, allow(call.caller, 'sessions:read'), publicId)
  return statesAfter(call, session, after ? { eventPosition: await readPosition(call, session, after) } : null)
}

function versionOf({ eventPosition, updatedAt, readPosition }: Session): string {
  return `${eventPosition} ${updatedAt} ${readPosition}`
}

/** States are only compared for equality: there is no order to check, because only the newest is ever read. */
function statesAfter(
  call: Following,
  session: Session,
  seen: { eventPosition: number } | null,
): AsyncIterableIterator<SessionState> {
  const shown = seen === null || session.eventPosition > seen.eventPosition ? null : versionOf(session)
  const readState = async (): Promise<SessionState[]> => {
    const now = await findSessionRow(call.db, session.id)
    return now ? [{ position: now.eventPosition, session: now }] : []
  }
  return follow<SessionState, string | null>(call, shown, {
    sit: (signal) => listenAlone(call.pubsub, sessionTopic, session.id, signal),
    read: async () => ({ items: await readState(), more: false }),
    isOver: async () => true, // an empty result means that the session is deleted
    positionOf: (state) => versionOf(state.session),
    isAfter: (one, other) => one !== other,
    isLast: (state) => state.session.status === 'terminated',
  })
}

/**
 * An event's id stands for the position where it was sent, so that its taken entry, which comes later, is not missed.
 */
async function readPosition({ db }: Call, { id, eventPosition }: Session, after: string): Promise<number> {
  const unknown = (): BerthError =>
    new BerthError(
      'invalid_request',
      'after must be the position or the id of an event of this session; pass the id of the last one that you saw.',
    )
  if (/^\d{1,15}$/.test(after)) {
    if (Number(after) > eventPosition) throw unknown()
    return Number(after)
  }
  const eventId = decodeId('sessionEvent', after)
  const event =
    eventId &&
    (await findOne<Pick<Row<'session_events'>, 'position'>>(
      db,
      sql`select position from session_events where id = ${eventId} and session_id = ${id}`,
    ))
  if (!event) throw unknown()
  return event.position
}

function readPreviewType(given: string): PreviewType {
  const type = previewTypes.find((one) => one === given)
  if (!type) throw new BerthError('invalid_request', `event_deltas must name ${previewTypes.join(' or ')}.`)
  return type
}
