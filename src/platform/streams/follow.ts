/**
 * The one way in which anything that stands in a table is followed: from any position, without gap or repeat, as long as
 * the caller likes. What is new comes from a seat: each follower may have its own ear for notices (`listenAlone`), or many
 * of them share one reader (fan-out.ts).
 */
import { patiently } from '#src/platform/patience.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import type { Seat } from './seats.ts'

/** Items in order, and whether there may be more now. */
export type Piece<Item> = { items: readonly Item[]; more: boolean }

/** What positions mean: they grow from item to item. */
export type Ordered<Item, Position> = {
  /** Null for what stands in no table. */
  positionOf(item: Item): Position | null
  isAfter(one: Position, other: Position): boolean
  /** Whether nothing follows this item. */
  isLast(item: Item): boolean
}

/** One thing that is followed. */
export type Followed<Item, Position> = Ordered<Item, Position> & {
  /** Takes the seat that tells of what comes after this resolved. What was there before is read afterwards. */
  sit(signal: AbortSignal): Seat<Item> | Promise<Seat<Item>>
  /** The items of the table after a position. */
  read(after: Position): Promise<Piece<Item>>
  /** Whether nothing will be added any more, where the last item does not say it; asked when there was nothing to read. */
  isOver?(): Promise<boolean>
}

/**
 * The items after a position, and then those that come; ends after the last, when all is over, or when the caller leaves.
 * While Postgres restarts it waits; the reader of the items decides how fast it reads.
 * @param shows which items to tell; all without it.
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

/** The next items of the table, perhaps none yet; null when none will come any more. */
async function readOn<Item, Position>(
  followed: Followed<Item, Position>,
  after: Position,
  signal: AbortSignal,
): Promise<Piece<Item> | null> {
  const read = (): Promise<Piece<Item>> => patiently(() => followed.read(after), signal)
  const piece = await read()
  if (piece.items.length > 0 || !followed.isOver || !(await patiently(async () => followed.isOver?.(), signal)))
    return piece
  const last = await read() // it may have come between the two questions
  return last.items.length > 0 ? { items: last.items, more: true } : null
}

/** A seat of one's own: each notice about this says that the table must be read again. */
export function listenAlone(pubsub: Pubsub, topic: string, id: string, signal: AbortSignal): Seat<never> {
  const notices = pubsub.subscribe(topic, id, signal)
  return {
    take: async () => ((await notices.next()).done ? [] : null),
    leave: () => undefined, // the signal ends it
  }
}
