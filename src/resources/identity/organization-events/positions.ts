/**
 * Where an event is in its organization's stream: the number of the transaction that wrote it, and its own. Events of
 * transactions below the lowest one that still runs are all there, so those are the ones that are read: none comes before one
 * that was read already.
 */
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { organizationEventLimits } from './limits.ts'

/** A place in the stream; both grow. */
export type EventPosition = Pick<Row<'organization_events'>, 'transaction' | 'id'>

/** The lowest transaction that still runs: all events below it are there. */
export const horizon = sql<number>`pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

/** The next transaction: none of this server has a number above it. */
export const next = sql<number>`pg_snapshot_xmax(pg_current_snapshot())::text::bigint`

/** Behind every event that is there now. */
export async function readEnd(db: Db): Promise<EventPosition> {
  const { transaction } = await getOne<Pick<EventPosition, 'transaction'>>(db, sql`select ${horizon} as transaction`)
  return { transaction, id: 0 }
}

/** Whether one place is after another. */
export function isAfter(one: EventPosition, other: EventPosition): boolean {
  return one.transaction > other.transaction || (one.transaction === other.transaction && one.id > other.id)
}

/** The cursor of a place that was the stream's at this moment. */
export function cursorOf({ transaction, id }: EventPosition, atMs: number): string {
  return `${transaction}-${id}-${Math.floor(atMs / 1000)}`
}

const cursorForm = /^(\d{1,15})-(\d{1,15})-(\d{1,11})$/

/**
 * The place of a cursor.
 * @throws BerthError invalid_request for a text that is no cursor, replay_retention_exceeded when what follows it may be gone.
 */
export async function readCursor(db: Db, after: string): Promise<EventPosition> {
  const [, transaction = '', id = '', seconds = ''] = cursorForm.exec(after) ?? []
  if (transaction === '')
    throw new BerthError(
      'invalid_request',
      'after is not a cursor of this stream; pass the cursor of the last event, or the organization’s eventCursor.',
      { field: 'after' },
    )
  const isKept = Number(seconds) * 1000 > nowMs() - organizationEventLimits.resumeHours * 3_600_000
  // Of a database that was restored from a dump the numbers begin again.
  const position = { transaction: Number(transaction), id: Number(id) }
  const isKnown =
    isKept && (await getOne<{ known: boolean }>(db, sql`select ${position.transaction} <= ${next} as known`)).known
  if (!isKnown)
    throw new BerthError(
      'replay_retention_exceeded',
      'What follows this cursor is not kept any more. Read what you show again, and follow from the new eventCursor.',
      { field: 'after' },
    )
  return position
}
