/** What subscribers of a session receive: each entry of its log, and the previews between them. */
import { encodeId } from '#src/platform/ids.ts'
import { now, timestamp } from '#src/platform/clock.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import type { LogEntry } from './log.ts'
import type { LoggedEvent } from './rows.ts'
import type { PreviewPiece } from './previews.ts'
import { wireEvent } from './wire-events.ts'

/**
 * One element of the stream. `position` resumes the stream after it; null for what is not in the log. `event`: as REST
 * shows it. `logged`: the event, null for a preview. `preview` is the public id of the event that it previews.
 * `isLast`: nothing follows.
 */
export type Emission = {
  position: number | null
  event: Readonly<Record<string, unknown>>
  logged: LoggedEvent | null
  sizeBytes: number
  preview: string | null
  isLast: boolean
}

const pieceEventsMax = 500
const pieceBytesMax = 2 * 1024 * 1024

type Row = Omit<LogEntry, 'at'> & { at: number | null; found: number }

/** The elements after a position: up to 500 entries or 2 MiB. For a deleted session, its last element. */
export async function readEmissions(db: Db, sessionId: string, after: number): Promise<Piece<Emission>> {
  const rows = await findAll<Row>(
    db,
    sql`
    select piece.* from sessions session left join lateral (
      select * from (
        select entry.*, sum(size_bytes) over (order by at) - size_bytes as before, count(*) over () as found from (
          (select position as at, id, type, data, size_bytes, case when taken_position is null then processed_at end as processed_at, created_at
            from session_events where session_id = ${sessionId} and position > ${after} order by position limit ${pieceEventsMax})
          union all
          (select taken_position, id, type, data, size_bytes, processed_at, created_at
          from session_events
          where session_id = ${sessionId} and taken_position > ${after}
          order by taken_position limit ${pieceEventsMax})
          order by at limit ${pieceEventsMax}) entry) counted
      where before < ${pieceBytesMax}
    ) piece on true where session.id = ${sessionId} order by piece.at`,
  )
  if (rows.length === 0) return { items: [deletion(sessionId)], more: false }
  const logged = rows.filter((row): row is Row & LogEntry => row.at !== null)
  return {
    items: logged.map((row) => emit(sessionId, row)),
    more: logged.length > 0 && (logged.length >= pieceEventsMax || (logged[0]?.found ?? 0) > logged.length),
  }
}

/** A piece of a preview as an element of the stream. */
export function emitPreview({ eventId, data }: PreviewPiece): Emission {
  return {
    position: null,
    event: data,
    logged: null,
    sizeBytes: JSON.stringify(data).length,
    preview: encodeId('sessionEvent', eventId),
    isLast: false,
  }
}

/** An entry of the log as an element of the stream. */
export function emit(sessionId: string, row: LogEntry): Emission {
  const { id, type, data, processedAt, createdAt } = row
  return {
    position: row.at,
    event: wireEvent(row),
    logged: { id, sessionId, type, data, processedAt, createdAt },
    sizeBytes: row.sizeBytes,
    preview: null,
    isLast: row.type === 'session.status_terminated',
  }
}

/**
 * The log was deleted with its session, so this event is in no log; its id is derived from the session's, and is the
 * same for everybody.
 */
function deletion(sessionId: string): Emission {
  const at = timestamp(now())
  const logged = { id: sessionId, sessionId, type: 'session.deleted', data: {}, processedAt: at, createdAt: at }
  return { position: null, event: wireEvent(logged), logged, sizeBytes: 100, preview: null, isLast: true }
}
