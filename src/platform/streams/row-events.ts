/** Following the events of a row from any position without gaps or repeats: events in a table, a notice for each. */
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
