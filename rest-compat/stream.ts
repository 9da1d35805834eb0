/** Event streams: server-sent events whose ids resume them. */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import type { BerthError } from '#src/platform/errors.ts'
import { eventStreamHeaders, reconnectMs } from '#src/platform/http/headers.ts'
import { bodyText } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'

/** A reader that has accepted nothing for three heartbeats counts as gone. */
const stalledMsUsual = 3 * limits.streamHeartbeatSeconds * 1000

/** The serialized events that several streams send: each object is serialized once, a large one in steps. */
const frames = new WeakMap<Record<string, unknown>, string | Promise<Buffer>>()

/** A frame: the text before the event's JSON, the event, which is undefined for a heartbeat, and what follows it. */
type Frame = { before: string; body?: unknown; after?: string }

/** How events, and the error that ends a stream, become text. */
export type Frames = {
  ofEvent: (event: Record<string, unknown>) => Frame
  ofError: (error: BerthError, requestId: string) => string
}

/** Frames without event names, which a browser's EventSource delivers as messages. */
export const plainFrames: Frames = {
  ofEvent: plainFrame,
  ofError: ({ code, message }) => `event: error\ndata: ${JSON.stringify({ error: code, message })}\n\n`,
}

/**
 * Frames with event names, for Anthropic's clients, which drop frames without a name they know. The document's result
 * has the event in `event` and its cursor in `id`.
 * @param envelope the surface's body of an error.
 */
export function namedFrames(envelope: (error: BerthError, requestId: string) => Record<string, unknown>): Frames {
  return {
    ofEvent: namedFrame,
    ofError: (error, requestId) => `event: error\ndata: ${JSON.stringify(envelope(error, requestId))}\n\n`,
  }
}

/**
 * The AI SDK's UI message stream, which ends with a frame that says so; without it the stream was cut off, and resumes. The
 * document's result has the chunk in `chunk` and its cursor in `id`.
 */
export const uiFrames: Frames = {
  ofEvent: uiFrame,
  ofError: ({ message }) => `data: ${JSON.stringify({ type: 'error', errorText: message })}\n\n`,
}

/**
 * Sends the events of a document's subscription. Each is the object aliased `body`; its `id` is the cursor, and one
 * without an id is a heartbeat. Backpressure: events are read no faster than the client accepts them. When the process
 * stops, the stream ends, and its client resumes elsewhere from its cursor.
 * @param stalledMs how long a reader may accept nothing before it is cut off; it can resume from its cursor.
 * @param frames how events become text.
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  events: AsyncIterableIterator<Record<string, unknown>>,
  gone: AbortController,
  stopping: AbortSignal,
  stalledMs = stalledMsUsual,
  { ofEvent, ofError }: Frames = plainFrames,
): Promise<void> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>), // headers that are already set: the request id and the rate limit
    ...eventStreamHeaders,
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
      const frame = await frameOf(event, ofEvent)
      if (raw.writableEnded || raw.destroyed) break
      if (!raw.write(frame) && !(await drains(raw, gone.signal, stalledMs))) raw.destroy()
    }
  } catch (error) {
    if (!raw.destroyed) raw.write(ofError(shownError(error, request.id), request.id))
  } finally {
    stopping.removeEventListener('abort', stop)
    gone.abort()
    await events.return?.()
    if (!raw.destroyed) raw.end()
  }
}

function frameOf(event: Record<string, unknown>, make: Frames['ofEvent']): string | Promise<Buffer> {
  let frame = frames.get(event)
  if (frame === undefined) frames.set(event, (frame = written(make(event))))
  return frame
}

function written({ before, body, after = '' }: Frame): string | Promise<Buffer> {
  if (body === undefined) return before
  const text = bodyText(body)
  return typeof text === 'string'
    ? `${before}${text}\n\n${after}`
    : text.then((bytes) => Buffer.concat([Buffer.from(before), bytes, Buffer.from(`\n\n${after}`)]))
}

function plainFrame(event: Record<string, unknown>): Frame {
  const body = event['body'] as { id?: string | null } | null | undefined // documents of streams use this alias for their event
  return body && body.id !== undefined && body.id !== null
    ? { before: `id: ${body.id}\ndata: `, body }
    : { before: ': ping\n\n' }
}

function namedFrame(event: Record<string, unknown>): Frame {
  const body = event['body'] as { id?: string | null; event?: unknown } | null | undefined // as above
  if (!body?.event) return { before: 'event: ping\ndata: {"type":"ping"}\n\n' }
  return { before: `event: message\n${body.id ? `id: ${body.id}\n` : ''}data: `, body: body.event }
}

function uiFrame(event: Record<string, unknown>): Frame {
  const body = event['body'] as { id?: string; chunk?: { type: string } } | null | undefined // as above
  if (!body?.chunk) return { before: ': ping\n\n' }
  const isLast = body.chunk.type === 'finish' || body.chunk.type === 'abort'
  return { before: `id: ${body.id}\ndata: `, body: body.chunk, ...(isLast ? { after: 'data: [DONE]\n\n' } : {}) }
}

/**
 * Waits until the reader has accepted what is queued.
 * @returns false when it accepted nothing for too long, or the stream is over.
 */
export async function drains(raw: FastifyReply['raw'], gone: AbortSignal, stalledMs: number): Promise<boolean> {
  try {
    await once(raw, 'drain', { signal: AbortSignal.any([gone, AbortSignal.timeout(stalledMs)]) })
    return true
  } catch {
    return false // the signals are the only reason, and both mean the same here
  }
}
