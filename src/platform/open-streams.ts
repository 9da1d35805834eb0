/** Streams that are open in this process: each holds memory, so nobody has more than a hundred. */
import { BerthError } from './errors.ts'
import { limits } from './limits.ts'
import { openStreams } from './metrics.ts'

const open = new Map<string, number>()

/**
 * Counts one stream of this kind for whom it belongs to.
 * @returns how to count it as over; further calls do nothing.
 * @throws BerthError rate_limited when they have 100 open here.
 */
export function beginStream(kind: 'sse' | 'graphql-sse' | 'websocket', whose: string): () => void {
  const count = open.get(whose) ?? 0
  if (count >= limits.streamsPerCaller) throw new BerthError('rate_limited', `You have ${limits.streamsPerCaller} streams open, which is all you may have. Close one first.`, { retryAfterSeconds: 1 })
  open.set(whose, count + 1)
  openStreams.inc({ kind })
  let over = false
  return () => {
    if (over) return
    over = true
    openStreams.dec({ kind })
    const left = (open.get(whose) ?? 1) - 1
    if (left > 0) open.set(whose, left)
    else open.delete(whose)
  }
}
