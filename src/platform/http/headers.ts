/** Headers that answers of every surface have: how many requests are left, and those of event streams. */
import type { Allowance } from '../rate-limits.ts'

/** The headers of an event stream: proxies must neither cache nor buffer it. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
} as const
/** The delay after which a client reconnects to a stream that ended. */
export const reconnectMs = 2_000

/** An answer whose headers are not sent yet, such as a reply of Fastify. */
type Answer = { header(name: string, value: number): Answer }

/** Sets the headers that say how many requests the caller has left in this minute. */
export function setAllowance(answer: Answer, { limit, remaining, resetSeconds }: Allowance): void {
  answer
    .header('ratelimit-limit', limit)
    .header('ratelimit-remaining', remaining)
    .header('ratelimit-reset', resetSeconds)
}
