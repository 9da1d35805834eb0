/** Sends the stream of a chat: what arrives together goes out together, a silent stream says that it lives, and a slow reader is waited for. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import type { ModelAnswer } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import type { Claim } from '../answers.ts'
import { drains } from '../stream.ts'
import type { ChatEnd } from './chat-ends.ts'
import type { StreamText } from './chunks.ts'

/** Headers of an event stream (decisions.md §0); gateway streams have no `retry:`, because they cannot be resumed. */
export const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', connection: 'keep-alive', 'x-accel-buffering': 'no' } as const

const heartbeatMs = limits.streamHeartbeatSeconds * 1000
const heartbeat = ': ping\n\n'
const stalledMs = limits.chatStreamStalledSeconds * 1000

/** What a stream is sent with. */
export type Sending = { headers: Readonly<Record<string, string>>; end: ChatEnd; claim: Claim | undefined }

/**
 * Sends the events to the end, or until the reader leaves. What fails after the first byte is told in the stream.
 * The claim of an idempotency key is settled here, before the last byte: the whole text is kept under it, but not one
 * that failed, was cut or is too long. The same key then asks again: half an answer is worth nothing to who wants the same.
 */
export async function sendChat(request: FastifyRequest, reply: FastifyReply, text: StreamText, events: ModelAnswer, { headers, end, claim }: Sending): Promise<void> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders, ...headers }) // with what the request already earned
  const beat = setTimeout(() => {
    if (!raw.writableNeedDrain && !raw.destroyed) raw.write(heartbeat)
    beat.refresh()
  }, heartbeatMs)
  let told: string | null = claim ? '' : null
  let last = ''
  try {
    for await (const batch of events) {
      const piece = text.batch(batch)
      if (piece === '') continue
      if (told !== null) told = told.length + piece.length > limits.chatReplayBytes ? null : told + piece
      if (batch.at(-1)?.type === 'end') {
        last = piece
        break
      }
      beat.refresh()
      if (!raw.write(piece) && !(await drains(raw, end.gone.signal, stalledMs))) raw.destroy()
      if (raw.destroyed) break
    }
  } catch (error) {
    const reason = end.reason ?? (raw.destroyed ? undefined : shownError(error, request.id))
    if (reason) last = text.failure(reason, request.id)
    told = null
  }
  clearTimeout(beat)
  try {
    if (claim) await (told !== null && last !== '' ? claim.keep({ status: 200, body: told }) : claim.release())
  } catch (error) {
    last = text.failure(shownError(error, request.id), request.id)
  }
  if (last !== '') raw.end(last)
  else raw.destroy()
}
