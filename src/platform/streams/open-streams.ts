/** Streams that are open in this process: each holds memory, so nobody has more than so many. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { openStreams } from '#src/platform/metrics.ts'

const open = new Map<string, number>()

/**
 * Counts one stream of this kind for whom it belongs to.
 * @param most how many they may have open in this process.
 * @returns how to count it as over; further calls do nothing.
 * @throws BerthError rate_limited when they have that many.
 */
export function beginStream(
  kind: 'sse' | 'graphql-sse' | 'websocket' | 'chat',
  whose: string,
  most: number = limits.streamsPerCaller,
): () => void {
  const count = open.get(whose) ?? 0
  if (count >= most)
    throw new BerthError('rate_limited', `You have ${most} streams open, which is the limit. Close one first.`, {
      retryAfterSeconds: 1,
    })
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
