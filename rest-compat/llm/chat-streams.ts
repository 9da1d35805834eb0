/** Sends the stream of a chat: what arrives together goes out together, a silent stream says that it lives, and a slow reader is waited for. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import type { ModelAnswer } from '#src/drivers/models/model.ts'
import type { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Claim } from '../answers.ts'
import { drains } from '../stream.ts'
import type { StreamText } from './chunks.ts'

/** Headers of an event stream (decisions.md §0); gateway streams have no `retry:`, because they cannot be resumed. */
export const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', connection: 'keep-alive', 'x-accel-buffering': 'no' } as const

const heartbeatMsUsual = limits.streamHeartbeatSeconds * 1000
const heartbeat = ': ping\n\n'

/** What a stream is sent with. `gone` is fired when the reader is; `interrupted` tells why we ended it, if we did. */
export type Sending = { headers: Readonly<Record<string, string>>; gone: AbortController; interrupted: () => BerthError | undefined; claim: Claim | undefined; heartbeatMs?: number }

/**
 * Sends the events to the end, or until the reader leaves. What fails after the first byte is told in the stream.
 * @returns whether its text is kept under the request's idempotency key. One that failed, was cut, or is too long is not:
 * the same key then asks again, because half an answer is worth nothing to those who ask for the same one.
 */
export async function sendChat(request: FastifyRequest, reply: FastifyReply, text: StreamText, events: ModelAnswer, { headers, gone, interrupted, claim, heartbeatMs = heartbeatMsUsual }: Sending): Promise<boolean> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders, ...headers }) // with what the request already earned
  const beat = setTimeout(() => {
    if (!raw.writableNeedDrain && !raw.destroyed) raw.write(heartbeat)
    beat.refresh()
  }, heartbeatMs)
  let told: string | null = claim ? '' : null
  try {
    for await (const batch of events) {
      const piece = text.batch(batch)
      if (piece === '') continue
      if (told !== null) told = told.length + piece.length > limits.chatReplayBytes ? null : told + piece
      if (batch.at(-1)?.type === 'end') return await finish(raw, piece, told, claim)
      beat.refresh()
      if (!raw.write(piece) && !(await drains(raw, gone.signal, limits.chatStreamStalledSeconds * 1000))) raw.destroy()
      if (raw.destroyed) break
    }
  } catch (error) {
    const reason = interrupted() ?? (raw.destroyed ? undefined : shownError(error, request.id))
    if (reason && !raw.destroyed) raw.end(text.failure(reason, request.id))
  } finally {
    clearTimeout(beat)
    if (!raw.writableEnded) raw.destroy()
  }
  return false
}

/** The last piece. It is kept before it goes out, so that whoever has seen the end finds it kept. */
async function finish(raw: FastifyReply['raw'], piece: string, told: string | null, claim: Claim | undefined): Promise<boolean> {
  if (told !== null) await claim?.keep({ status: 200, body: told })
  raw.end(piece)
  return told !== null
}
