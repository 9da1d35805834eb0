/** Event streams: server-sent events whose ids resume them (decisions.md §0). */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'

const reconnectMs = 2_000
/** Ours: a reader that takes nothing for so long is cut; it resumes where it was. */
const stuckMs = 30_000

/** The text of events that several streams send: an event that is the same object is made into text once. */
const frames = new WeakMap<Record<string, unknown>, string>()

/**
 * Sends the events of a document's subscription. Each is the object aliased `body`; its `id` is the cursor, and one
 * without an id is a heartbeat. The next one is asked for when the reader has taken what came before, but for what a
 * socket holds. When the process stops the stream ends, and its reader resumes elsewhere by its cursor.
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
      if (!raw.write(frameOf(event))) await drained(raw)
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

/** Waits until the reader has taken what was written, or is gone. */
async function drained(raw: ServerResponse): Promise<void> {
  if (raw.destroyed || raw.writableEnded) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => raw.destroy(), stuckMs)
    const go = (): void => {
      clearTimeout(timer)
      raw.off('drain', go).off('close', go)
      resolve()
    }
    raw.on('drain', go).on('close', go)
  })
}
