/**
 * Fan-out to the subscribers of one thing in this process: they share a hub, which receives or reads what is new once
 * for all of them, and passes the same objects to each. A subscriber that falls behind reads the table from its own
 * position again.
 */
import { log } from '#src/platform/log.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { follow, type Ordered, type Piece } from './follow.ts'
import { createSeats, type Handed, type Seat, type Seats } from './seats.ts'

/** A kind of thing with many subscribers; its items are in a table. */
export type Shared<Item, Position> = Handed<Item> &
  Ordered<Item, Position> & {
    /** Its name in the log when it could not be read. */
    name: string
    /** The items of the table after a position. */
    read(db: Db, id: string, after: Position): Promise<Piece<Item>>
    /** Starts to watch one of them. Everything new after this must call `ring` or `push`. */
    watch(db: Db, id: string, hub: Listening<Item>): Watch<Item, Position>
    /** Whether one directly follows the other; absent if that cannot be known. */
    isNext?(one: Position, other: Position): boolean
  }

/** What a hub passes to `watch`; the signal fires when the last subscriber has left. */
export type Listening<Item> = {
  /** Signals that something is new and must be read. */
  ring(): void
  /** Passes new items; if they do not directly follow the last known one, the table is read anyway. */
  push(items: readonly Item[]): void
  /** Calls back for notices of this topic about the followed thing, with their payload. */
  listen(topic: string, onNotice: (payload: string | null) => void): void
  signal: AbortSignal
}

/** The result of `watch`. */
export type Watch<Item, Position> = {
  /** The position of the table's end. Subscribers read what is before it themselves. */
  start: Promise<Position>
  /** Items after a position, and asides; called after `ring`. */
  read(after: Position): Promise<Piece<Item>>
  /** Called when asides are wanted from now on. */
  beginAsides?: () => Promise<void>
}

/** The database and bus by which something is followed. */
export type Place = { db: Db; pubsub: Pubsub }

/** Follows things of one kind. */
export type FanOut<Item, Position> = {
  /** Takes a seat. What existed before this resolved must be read from the table, after it resolved. */
  join(place: Place, id: string, signal: AbortSignal, hearsAsides?: boolean): Promise<Seat<Item>>
  /**
   * The items after a position without gaps or repeats, then new ones as they come; ends after the last.
   * @param shows which items to yield, including asides; by default all that are in the table.
   */
  follow(
    call: Place & { signal?: AbortSignal },
    id: string,
    after: Position,
    shows?: (item: Item) => boolean,
  ): AsyncIterableIterator<Item>
}

type Hub<Item, Position> = { seats: Seats<Item>; watch: Watch<Item, Position>; stop: AbortController }

/** Makes the fan-out of this kind: one hub for each thing that has subscribers. */
export function createFanOut<Item, Position>(kind: Shared<Item, Position>): FanOut<Item, Position> {
  const hubs = new WeakMap<Pubsub, Map<string, Hub<Item, Position>>>()

  async function join(place: Place, id: string, signal: AbortSignal, hearsAsides = false): Promise<Seat<Item>> {
    const here = hubs.get(place.pubsub) ?? new Map<string, Hub<Item, Position>>()
    hubs.set(place.pubsub, here)
    const hub = here.get(id) ?? openHub(kind, place, id, (gone) => here.get(id) === gone && here.delete(id))
    here.set(id, hub)
    const { seats, watch, stop } = hub
    const seat = seats.sit(signal, hearsAsides)
    const leave = (): void => {
      seat.leave()
      if (!seats.areEmpty || here.get(id) !== hub) return
      here.delete(id)
      stop.abort()
    }
    try {
      await watch.start
      if (hearsAsides) await watch.beginAsides?.()
    } catch (error) {
      leave()
      throw error
    }
    return { take: seat.take, leave }
  }

  return {
    join,
    follow: (call, id, after, shows) =>
      follow(
        call,
        after,
        {
          ...kind,
          sit: (signal) => join(call, id, signal, shows !== undefined),
          read: (position) => kind.read(call.db, id, position),
        },
        shows,
      ),
  }
}

function openHub<Item, Position>(
  kind: Shared<Item, Position>,
  { db, pubsub }: Place,
  id: string,
  forget: (hub: Hub<Item, Position>) => void,
): Hub<Item, Position> {
  const stop = new AbortController()
  const { signal } = stop
  const seats = createSeats(kind)
  const { ring, rung } = createBell(signal)
  let position: Position | undefined // until it is known where the table ends
  const hand = (items: readonly Item[]): void => {
    seats.hand(items)
    for (const item of items) position = kind.positionOf(item) ?? position
  }
  const isNew = (item: Item): boolean => {
    const at = kind.positionOf(item)
    return at === null || position === undefined || kind.isAfter(at, position)
  }
  const push = (items: readonly Item[]): void => {
    const fresh = items.filter(isNew)
    const [first] = fresh
    const at = first === undefined ? null : kind.positionOf(first)
    if (at !== null && position !== undefined && kind.isNext?.(at, position) && !fresh.some(kind.isLast)) hand(fresh)
    else if (fresh.length > 0) ring()
  }
  const listen: Listening<Item>['listen'] = (topic, onNotice) => pubsub.hear(topic, id, signal, onNotice)
  const watch = kind.watch(db, id, { ring, push, listen, signal })
  const hub = { seats, watch, stop }
  const readOn = async (): Promise<void> => {
    position = await watch.start
    ring()
    while (await rung()) {
      const { items, more, isOver } = await watch.read(position)
      hand(items.filter(isNew)) // some may have been passed on meanwhile
      if (isOver || items.some(kind.isLast)) return
      if (more) ring()
    }
  }
  readOn()
    .catch(
      (error: Error) =>
        signal.aborted ||
        log.warn({ reason: error.message }, `${kind.name} could not be read; those who follow it come back`),
    ) // subscribers get it as the end of their stream
    .finally(() => {
      forget(hub)
      stop.abort()
      seats.end()
    })
  return hub
}

/** Remembers rings while nothing waits for them. `rung` is false once the signal fired. */
function createBell(signal: AbortSignal): { ring: () => void; rung: () => Promise<boolean> } {
  let due = false
  let wake: (() => void) | null = null
  const ring = (): void => {
    due = true
    wake?.()
  }
  signal.addEventListener('abort', ring, { once: true })
  return {
    ring,
    async rung() {
      if (!due) await new Promise<void>((resolve) => (wake = resolve))
      wake = null
      due = false
      return !signal.aborted
    },
  }
}
