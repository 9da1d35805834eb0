/**
 * The one way to follow items in a table: from any position, without gaps or repeats, for as long as the caller likes.
 * New items come from a seat: a subscriber may listen to notices by itself (`listenAlone`), or many of them share one
 * reader (fan-out.ts).
 */
import { patiently } from '#src/platform/patience.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import type { Seat } from './seats.ts'

/** Items in order, and whether there may be more now. `isOver`: there are none, and there never will be. */
export type Piece<Item> = { items: readonly Item[]; more: boolean; isOver?: boolean }

/** The order of items: positions grow from item to item. */
export type Ordered<Item, Position> = {
  /** Null for an item that is not in a table. */
  positionOf(item: Item): Position | null
  isAfter(one: Position, other: Position): boolean
  /** Whether nothing follows this item. */
  isLast(item: Item): boolean
}

/** A thing to follow. */
export type Followed<Item, Position> = Ordered<Item, Position> & {
  /** Takes a seat, which gets everything new after this resolved. What existed before is read afterwards. */
  sit(signal: AbortSignal): Seat<Item> | Promise<Seat<Item>>
  /** The items of the table after a position. */
  read(after: Position): Promise<Piece<Item>>
  /** Whether nothing more will be added, if the last item does not say so; called when there was nothing to read. */
  isOver?(): Promise<boolean>
}

/**
 * The items after a position, then new ones as they come; ends after the last, when nothing more will be added, or when
 * the caller disconnects. While Postgres restarts it waits; the consumer sets the pace.
 * @param shows which items to yield; all by default.
 * @throws what `sit` and `read` throw.
 */
export async function* follow<Item, Position>(
  call: { signal?: AbortSignal },
  after: Position,
  followed: Followed<Item, Position>,
  shows: (item: Item) => boolean = () => true,
): AsyncIterableIterator<Item> {
  const left = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, left.signal]) : left.signal
  let seat: Seat<Item> | undefined
  let position = after
  try {
    seat = await followed.sit(signal)
    let fromTable = true
    while (!signal.aborted) {
      let items: readonly Item[]
      if (fromTable) {
        const piece = await readOn(followed, position, signal)
        if (!piece) return
        ;({ items, more: fromTable } = piece)
      } else {
        const taken = await seat.take()
        if (taken?.length === 0) return
        items = taken ?? []
        fromTable = taken === null
      }
      for (const item of items) {
        const at = followed.positionOf(item)
        if (at === null || followed.isAfter(at, position)) {
          position = at ?? position
          if (shows(item)) yield item
        }
        if (followed.isLast(item)) return
      }
    }
  } finally {
    left.abort()
    seat?.leave()
  }
}

/** The next items of the table, possibly none yet; null when no more will come. */
async function readOn<Item, Position>(
  followed: Followed<Item, Position>,
  after: Position,
  signal: AbortSignal,
): Promise<Piece<Item> | null> {
  const read = (): Promise<Piece<Item>> => patiently(() => followed.read(after), signal)
  const piece = await read()
  if (piece.isOver) return null
  if (piece.items.length > 0 || !followed.isOver || !(await patiently(async () => followed.isOver?.(), signal)))
    return piece
  const last = await read() // it may have come between the two queries
  return last.items.length > 0 ? { items: last.items, more: true } : null
}

/** A private seat: each notice about this means that the table must be read again. */
export function listenAlone(pubsub: Pubsub, topic: string, id: string, signal: AbortSignal): Seat<never> {
  const notices = pubsub.subscribe(topic, id, signal)
  return {
    take: async () => ((await notices.next()).done ? [] : null),
    leave: () => undefined, // the signal ends it
  }
}
