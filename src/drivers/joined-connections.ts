/** Two connections as one: bytes pass as they are, with backpressure both ways, and where one ends, so does the other. */
import type { Duplex } from 'node:stream'
import { limits } from '#src/platform/limits.ts'
import { JoinedWrites } from './joined-pieces.ts'

/** Joins them. Errors are the business of whoever made them. */
export function joinConnections(one: Duplex, other: Duplex): void {
  one.once('close', () => endAfter(one, other))
  other.once('close', () => endAfter(other, one))
  pass(one, other)
  pass(other, one)
}

/** As `pipe` does, but what comes in small pieces is written together. */
function pass(from: Duplex, to: Duplex): void {
  const writes = new JoinedWrites((joined) => {
    if (to.writable && !to.write(joined)) from.pause() // behind its end, nobody wants it
  })
  from.on('data', (piece: Buffer) => writes.add(piece))
  from.once('end', () => {
    writes.flush()
    to.end()
  })
  to.on('drain', () => from.resume())
  from.resume() // it may have been paused, with bytes that were read before
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
