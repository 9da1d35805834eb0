/**
 * Seats before one who hands things on: each keeps what it was handed until it takes it. One whose queue is full is
 * emptied, and is told that it fell behind, so a slow one costs the others neither time nor memory.
 */
import { limits } from '#src/platform/limits.ts'

/** One seat. */
export type Seat<Item> = {
  /**
   * What was handed since the last call, after waiting for something; null when too much came to keep. Empty when
   * nothing will come any more, or the signal fired.
   */
  take(): Promise<readonly Item[] | null>
  leave(): void
}

/** All of them. */
export type Seats<Item> = {
  readonly areEmpty: boolean
  /** @param hearsAsides whether it is handed asides too. */
  sit(signal: AbortSignal, hearsAsides: boolean): Seat<Item>
  /** Hands all of them the same items. */
  hand(items: readonly Item[]): void
  /** Nothing will come any more. */
  end(): void
}

/** What seats must know of items. An aside is told only to those who are here and want asides. */
export type Handed<Item> = { sizeBytes(item: Item): number; isAside(item: Item): boolean }

type Queue<Item> = {
  items: Item[]
  bytes: number
  behind: boolean
  over: boolean
  hearsAsides: boolean
  wake: (() => void) | null
}

/** Makes a room with no one in it. */
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
