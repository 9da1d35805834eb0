/** Subscriptions as `multipart/mixed`, for clients that accept nothing else: Apollo's, in its subscription protocol, and urql's. */
import type { ExecutionResult } from 'graphql'

/** A variant of the format: the boundary, and whether each result is inside `payload`, as in Apollo's. */
type Form = { type: string; boundary: string; wraps: boolean }

const plain: Form = { type: 'multipart/mixed; boundary="-"', boundary: '-', wraps: false }
const apollo: Form = {
  type: 'multipart/mixed; boundary="graphql"; subscriptionSpec=1.0',
  boundary: 'graphql',
  wraps: true,
}

/** The multipart variant for this `Accept`; null when it accepts server-sent events, or no multipart. */
export function multipartForm(accept: string | null): Form | null {
  const accepted = (accept ?? '').toLowerCase()
  if (!accepted.includes('multipart/mixed') || accepted.includes('text/event-stream')) return null
  return accepted.includes('subscriptionspec') ? apollo : plain
}

/** Sends each result as a part as soon as it arrives, and ends with the results. */
export function multipartResponse(results: AsyncIterable<ExecutionResult>, { type, boundary, wraps }: Form): Response {
  const events = results[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(`\r\n--${boundary}`)),
    async pull(controller) {
      const { done, value } = await events.next()
      if (!done) {
        const text = textOf(value)
        // The boundary after a part is sent with it: without it a client would wait for the part's end.
        return controller.enqueue(
          encoder.encode(
            `\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${wraps ? `{"payload":${text}}` : text}\r\n--${boundary}`,
          ),
        )
      }
      controller.enqueue(encoder.encode('--\r\n'))
      controller.close()
    },
    async cancel() {
      await events.return?.()
    },
  })
  return new Response(body, { headers: { 'content-type': type } })
}

/** The text of a result; see yogaEvents in graphql-answers.ts. */
function textOf(result: ExecutionResult & { stringify?: () => string }): string {
  return result.stringify?.() ?? JSON.stringify(result)
}
