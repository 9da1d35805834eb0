/** Two connections as one: bytes pass as they are, with backpressure both ways, and where one ends, so does the other. */
import type { Duplex } from 'node:stream'
import { limits } from '#src/platform/limits.ts'

/** Joins them. Errors are the business of whoever made them. */
export function joinConnections(one: Duplex, other: Duplex): void {
  one.once('close', () => endAfter(one, other))
  other.once('close', () => endAfter(other, one))
  one.pipe(other)
  other.pipe(one)
}

/** One end is gone, and so goes the other: at once, or if all ended in order, after what it still has to send. */
function endAfter(gone: Duplex, other: Duplex): void {
  const isSending = gone.readableEnded && other.writableEnded && !other.writableFinished
  if (!isSending) return void other.destroy()
  other.resume()
  const stalled = setTimeout(() => other.destroy(), limits.stalledSeconds * 1000)
  other.once('close', () => clearTimeout(stalled))
  other.once('finish', () => other.destroy())
}
