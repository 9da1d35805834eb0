/** Limits open streams in this process, because each takes memory. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { openStreams } from '#src/platform/metrics.ts'

const open = new Map<string, number>()

/**
 * Counts one stream of this kind for its owner.
 * @param most how many the owner may have open in this process.
 * @returns a function that counts it as ended; further calls do nothing.
 * @throws BerthError rate_limited when the owner has that many.
 */
export function beginStream(
  kind: 'sse' | 'graphql-sse' | 'websocket' | 'websocket-operation' | 'chat' | 'terminal' | 'tunnel',
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
