/** Event streams: server-sent events whose ids resume them (decisions.md §0). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import { limits } from '#src/platform/limits.ts'

const reconnectMs = 2_000

/**
 * Sends the events of a document's subscription. Each is the object aliased `body`; its `id` is the cursor, and one
 * without an id is a heartbeat. When the process stops the stream ends, and its reader resumes elsewhere by its cursor.
 */
export async function sendStream(request: FastifyRequest, reply: FastifyReply, events: AsyncIterableIterator<Record<string, unknown>>, gone: AbortController, stopping: AbortSignal): Promise<void> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>), // what the request already earned: its id and its allowance
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    connection: 'keep-alive',
    'x-accel-buffering': 'no',
  })
  raw.write(`retry: ${reconnectMs}\n\n`)
  const stop = (): void => {
    gone.abort()
    raw.end()
  }
  stopping.addEventListener('abort', stop, { once: true })
  if (stopping.aborted) stop()
  try {
    for await (const event of events) {
      if (raw.writableEnded || raw.destroyed) break
      const body = event['body'] as { id?: unknown } | null | undefined // the documents of streams alias their event so
      raw.write(body && body.id !== undefined && body.id !== null ? `id: ${String(body.id)}\ndata: ${JSON.stringify(body)}\n\n` : ': ping\n\n')
      if (raw.writableLength > limits.streamQueuedBytes) {
        raw.destroy() // too slow a reader: it resumes where it was
        break
      }
    }
  } catch (error) {
    const shown = shownError(error, request.id)
    if (!raw.destroyed) raw.write(`event: error\ndata: ${JSON.stringify({ error: shown.code, message: shown.message })}\n\n`)
  } finally {
    stopping.removeEventListener('abort', stop)
    gone.abort()
    await events.return?.()
    if (!raw.destroyed) raw.end()
  }
}
