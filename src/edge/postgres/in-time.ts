/** Limits of time: for what goes on when it takes too long, and for streams that should have ended. */
import type { Duplex } from 'node:stream'

/** What a promise resolves to, or null when that takes longer: the promise goes on. @throws what it rejects with in time */
export async function inTime<Value>(promise: Promise<Value>, limitMs: number): Promise<{ value: Value } | null> {
  const { promise: limit, resolve: elapse } = Promise.withResolvers<null>()
  const timer = setTimeout(() => elapse(null), limitMs)
  try {
    return await Promise.race([promise.then((value) => ({ value })), limit])
  } finally {
    clearTimeout(timer)
  }
}

/** Destroys a stream that has not closed by itself after so long. */
export function destroyAfter(stream: Duplex, limitMs: number): void {
  const late = setTimeout(() => stream.destroy(), limitMs).unref()
  stream.once('close', () => clearTimeout(late))
}
