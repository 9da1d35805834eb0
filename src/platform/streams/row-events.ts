/** What happens to a row, followed from any position without gap or repeat: events in a table, a notice for each. */
import type { Pubsub } from '#src/platform/pubsub.ts'

/** How one kind of row's events are read. */
export type RowEvents<Event extends { position: number }> = {
  topic: string
  /** The events after a position, oldest first, at most so many. */
  read: (position: number, most: number) => Promise<Event[]>
  /** Whether nothing follows this event. */
  isLast: (event: Event) => boolean
  /** Whether nothing will be added any more; asked when there was nothing to read. */
  isOver: () => Promise<boolean>
}

const batchMax = 100

/** The events of a row after a position, then new ones as they come; ends after the last, or when the caller leaves. */
export async function* eventsAfter<Event extends { position: number }>(
  call: { pubsub: Pubsub; signal?: AbortSignal },
  id: string,
  position: number,
  { topic, read, isLast, isOver }: RowEvents<Event>,
): AsyncIterableIterator<Event> {
  const left = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, left.signal]) : left.signal
  const notices = call.pubsub.subscribe(topic, id, signal)
  try {
    for (;;) {
      let events = await read(position, batchMax)
      if (events.length === 0 && (await isOver())) {
        events = await read(position, batchMax) // the last one may have come between the two questions
        if (events.length === 0) return
      }
      for (const event of events) {
        position = event.position
        yield event
        if (isLast(event)) return
      }
      if (events.length < batchMax && (await notices.next()).done) return
    }
  } finally {
    left.abort()
  }
}
