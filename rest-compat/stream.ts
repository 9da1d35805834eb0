/** Event streams: server-sent events whose ids resume them (decisions.md §0). */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import { limits } from '#src/platform/limits.ts'

const reconnectMs = 2_000
/** A reader that takes nothing for three heartbeats is gone. */
const stalledMsUsual = 3 * limits.streamHeartbeatSeconds * 1000

/** The text of events that several streams send: one that is the same object is made into text once. */
const frames = new WeakMap<Record<string, unknown>, string>()

/**
 * Sends the events of a document's subscription. Each is the object aliased `body`; its `id` is the cursor, and one
 * without an id is a heartbeat. Events are taken no faster than the reader reads. When the process stops the stream
 * ends, and its reader resumes elsewhere by its cursor.
 * @param stalledMs how long a reader may take nothing before it is cut; it resumes where it was.
 */
export async function sendStream(request: FastifyRequest, reply: FastifyReply, events: AsyncIterableIterator<Record<string, unknown>>, gone: AbortController, stopping: AbortSignal, stalledMs = stalledMsUsual): Promise<void> {
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
      if (!raw.write(frameOf(event)) && !(await drains(raw, gone.signal, stalledMs))) raw.destroy()
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

function frameOf(event: Record<string, unknown>): string {
  let frame = frames.get(event)
  if (frame === undefined) {
    const body = event['body'] as { id?: unknown } | null | undefined // the documents of streams alias their event so
    frame = body && body.id !== undefined && body.id !== null ? `id: ${String(body.id)}\ndata: ${JSON.stringify(body)}\n\n` : ': ping\n\n'
    frames.set(event, frame)
  }
  return frame
}

/** Waits until the reader has taken what is queued. @returns false when it took nothing for too long, or the stream is over. */
export async function drains(raw: FastifyReply['raw'], gone: AbortSignal, stalledMs: number): Promise<boolean> {
  try {
    await once(raw, 'drain', { signal: AbortSignal.any([gone, AbortSignal.timeout(stalledMs)]) })
    return true
  } catch {
    return false // the signals are the only reason, and both mean the same here
  }
}
