/**
 * Seats are the subscribers' queues: each keeps the items for its subscriber until they are taken. A full queue is
 * emptied and its subscriber told that it fell behind, so a slow one costs the others neither time nor memory.
 */
import { limits } from '#src/platform/limits.ts'

/** The queue of one subscriber. */
export type Seat<Item> = {
  /**
   * Takes the items since the last call, waiting if there are none; null when there were too many to keep. Empty when
   * no more will come, or the signal fired.
   */
  take(): Promise<readonly Item[] | null>
  leave(): void
}

/** The queues of all subscribers. */
export type Seats<Item> = {
  readonly areEmpty: boolean
  /** @param hearsAsides whether it gets asides too. */
  sit(signal: AbortSignal, hearsAsides: boolean): Seat<Item>
  /** Adds the same items to all queues. */
  hand(items: readonly Item[]): void
  /** Ends all queues: no more items will come. */
  end(): void
}

/** What seats need to know about items. An aside only goes to current subscribers that want asides. */
export type Handed<Item> = { sizeBytes(item: Item): number; isAside(item: Item): boolean }

type Queue<Item> = {
  items: Item[]
  bytes: number
  behind: boolean
  over: boolean
  hearsAsides: boolean
  wake: (() => void) | null
}

/** Makes an empty set of seats. */
export function createSeats<Item>({ sizeBytes, isAside }: Handed<Item>): Seats<Item> {
  const queues = new Set<Queue<Item>>()
  const end = (queue: Queue<Item>): void => {
    queue.over = true
    queue.wake?.()
  }
  return {
    get areEmpty() {
      return queues.size === 0
    },
    sit(signal, hearsAsides) {
      const queue: Queue<Item> = { items: [], bytes: 0, behind: false, over: signal.aborted, hearsAsides, wake: null }
      queues.add(queue)
      const stop = (): void => end(queue)
      signal.addEventListener('abort', stop, { once: true })
      return {
        take: () => takeFrom(queue),
        leave() {
          signal.removeEventListener('abort', stop)
          queues.delete(queue)
        },
      }
    },
    hand(items) {
      const bytesOf = (all: readonly Item[]): number => all.reduce((sum, item) => sum + sizeBytes(item), 0)
      const plain = items.filter((item) => !isAside(item))
      const [bytes, plainBytes] = [bytesOf(items), bytesOf(plain)]
      for (const queue of queues) put(queue, queue.hearsAsides ? items : plain, queue.hearsAsides ? bytes : plainBytes)
    },
    end() {
      for (const queue of queues) end(queue)
    },
  }
}

function put<Item>(queue: Queue<Item>, items: readonly Item[], bytes: number): void {
  if (queue.behind || items.length === 0) return
  if (queue.items.length > 0 && queue.bytes + bytes > limits.streamQueuedBytes) {
    queue.behind = true
    queue.items = []
    queue.bytes = 0
  } else {
    for (const item of items) queue.items.push(item)
    queue.bytes += bytes
  }
  queue.wake?.()
}

async function takeFrom<Item>(queue: Queue<Item>): Promise<readonly Item[] | null> {
  if (queue.items.length === 0 && !queue.behind && !queue.over) await new Promise<void>((wake) => (queue.wake = wake))
  queue.wake = null
  if (queue.behind) {
    queue.behind = false
    return null
  }
  const taken = queue.items
  queue.items = []
  queue.bytes = 0
  return taken
}
