/** Pages of the logs of sessions. Who may read them was checked before. */
import type { RawBuilder } from 'kysely'
import { limits } from '#src/platform/limits.ts'
import {
  pageSql,
  readSizedPagesOfEach,
  type Direction,
  type Loaded,
  type Page,
  type PageReading,
  type PagesOf,
  type PageWindow,
} from '#src/platform/pages.ts'
import { withinPageBytes } from '#src/platform/pages/bytes.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { createdWithin, type CreatedFilter } from '#src/resources/agents/created-filters.ts'
import { eventColumns, type SessionEvent } from './rows.ts'

/** Conditions of a list of events. */
export type EventFilter = CreatedFilter & { types?: readonly string[] | null }

/** How a log is listed. `bytesMax`: what all pages may have together. */
export type LogReading = { filter?: EventFilter | null; direction?: Direction | undefined; bytesMax?: number }

/**
 * A page of a log, after the access check: each event once, at the position where it was sent; oldest first by default.
 * @throws BerthError invalid_request.
 */
export async function pageLog(
  { db }: Pick<Call, 'db'>,
  sessionId: string,
  window: PageWindow,
  reading: LogReading,
): Promise<Loaded<Page<SessionEvent>>> {
  const { loaded, bytes } = await pageLogs(db, sql`select ${sessionId}::uuid as id`, 1, window, reading)
  return { loaded: loaded(sessionId), bytes }
}

/**
 * A page of the log of each of so many sessions, after the access check.
 * @param sessions their rows, with `id`.
 * @throws BerthError invalid_request.
 */
export function pageLogs(
  db: Db,
  sessions: RawBuilder<unknown>,
  sessionCount: number,
  window: PageWindow,
  { filter, direction = 'asc', bytesMax = Infinity }: LogReading,
): Promise<Loaded<PagesOf<SessionEvent>>> {
  const pageBytesMax = Math.min(bytesMax, limits.eventPageBytes)
  const types = filter?.types ?? null
  const chosen = sql`session_id = parent.id and (${types}::text[] is null or type = any(${types}::text[])) and ${createdWithin(filter ?? {})}`
  const rows = (reading: PageReading): RawBuilder<unknown> => {
    const { within, cut } = pageSql(sql`position`, reading, direction)
    const listed = sql`select ${eventColumns}, size_bytes from session_events where ${chosen} and ${within} ${cut}`
    return withinPageBytes(listed, sql`position`, reading, direction, Math.floor(pageBytesMax / sessionCount))
  }
  return readSizedPagesOfEach<SessionEvent, string>(db, window, {
    cursors: { keyOf: positionOf, cursorOf: ({ position }) => `${cursorLetter}${position}` },
    parents: sessions,
    rows,
    whole: sql`session_events where ${chosen}`,
    parentName: 'session',
    most: limits.eventListMax,
    bytesMax: pageBytesMax,
  })
}

const cursorLetter = 'p'

/** The position in a log's cursor; undefined for a text that is not a cursor. */
function positionOf(cursor: string): string | undefined {
  return /^p\d{1,15}$/.test(cursor) ? cursor.slice(cursorLetter.length) : undefined
}
