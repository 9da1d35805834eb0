/** Following the events of a row from any position without gaps or repeats: events in a table, a notice for each. */
import type { RawBuilder } from 'kysely'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { follow, listenAlone } from './follow.ts'

/** How the events of one kind of row are read. */
export type RowEvents<Event extends { position: number }> = {
  topic: string
  /** The events after a position, oldest first, at most so many. */
  read: (position: number, most: number) => Promise<Event[]>
  /** Whether nothing follows this event. */
  isLast: (event: Event) => boolean
  /** Whether nothing more will be added; called when there was nothing to read. */
  isOver: () => Promise<boolean>
}

const batchMax = 100

/**
 * The events of a row after a position, then new ones as they come; ends after the last, or when the caller
 * disconnects.
 */
export function eventsAfter<Event extends { position: number }>(
  call: { pubsub: Pubsub; signal?: AbortSignal },
  id: string,
  position: number,
  { topic, read, isLast, isOver }: RowEvents<Event>,
): AsyncIterableIterator<Event> {
  return follow<Event, number>(call, position, {
    sit: (signal) => listenAlone(call.pubsub, topic, id, signal),
    async read(after) {
      const items = await read(after, batchMax)
      return { items, more: items.length >= batchMax }
    },
    isOver,
    isLast,
    positionOf: (event) => event.position,
    isAfter: (one, other) => one > other,
  })
}

/** Rows of one row, which have positions; both as they stand behind `from`: a table and a condition. */
type RowsOfOne = {
  topic: string
  rows: RawBuilder<unknown>
  /** The row that they are of. They are over when it is gone; without it, never. */
  owner?: RawBuilder<unknown>
  /** After which position to begin without a cursor. */
  position: number
  /** The newest position, if one beyond it is no cursor; otherwise it is waited for. */
  latest?: number
}

/**
 * The rows of one row after the cursor, then new ones as they come.
 * @throws BerthError invalid_request for a text that is not a cursor, before the first.
 */
export function followRows<Event extends { position: number }>(
  call: { db: Db; pubsub: Pubsub; signal?: AbortSignal },
  id: string,
  after: string | null | undefined,
  { topic, rows, owner, position, latest }: RowsOfOne,
): AsyncIterableIterator<Event> {
  return eventsAfter<Event>(call, id, after ? eventPosition(after, latest) : position, {
    topic,
    isLast: () => false,
    read: (from, most) =>
      findAll<Event>(call.db, sql`select * from ${rows} and position > ${from} order by position limit ${most}`),
    isOver: async () => owner !== undefined && (await findOne(call.db, sql`select 1 from ${owner}`)) === undefined,
  })
}
