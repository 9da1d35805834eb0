/** Sends the stream of a chat: what arrives together goes out together, a silent stream says that it lives, and a slow reader is waited for. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { shownError } from '#schema/public-error.ts'
import { limits } from '#src/platform/limits.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import type { Claim } from '../answers.ts'
import { drains } from '../stream.ts'
import type { ChatEnd } from './chat-ends.ts'
import type { FailureText, StreamText } from './chunks.ts'
import { attemptHeaders } from './envelope.ts'

/** Headers of an event stream; gateway streams have no `retry:`, because they cannot be resumed. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
} as const

const heartbeatMs = limits.streamHeartbeatSeconds * 1000
const heartbeat = ': ping\n\n'
const stalledMs = limits.chatStreamStalledSeconds * 1000

/** What a stream is sent with. */
export type Sending = {
  headers: Readonly<Record<string, string>>
  failure: FailureText
  end: ChatEnd
  claim: Claim | undefined
}

/**
 * Sends the answer to the end, or until the reader leaves. Its stream is opened by its first event or, where a model thinks
 * longer than that, by the first heartbeat, so that no proxy takes the silence for death. What fails before it is opened is
 * thrown and has its status; what fails later is told in the stream.
 * The claim of an idempotency key is settled here, before the last byte: the whole text is kept under it, but not one
 * that failed, was cut or is too long. The same key then asks again: half an answer is worth nothing to who wants the same.
 * @throws BerthError what startCompletion throws.
 */
export async function sendChat(
  request: FastifyRequest,
  reply: FastifyReply,
  starting: Promise<Completion>,
  textOf: (completion: Completion) => StreamText,
  { headers, failure, end, claim }: Sending,
): Promise<void> {
  const { raw } = reply
  let isOpen = false
  const open = (more?: Readonly<Record<string, string>>): void => {
    isOpen = true
    reply.hijack()
    raw.setTimeout(stalledMs) // longer than that of other answers
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders, ...headers, ...more }) // with what the request already earned
  }
  const beat = setTimeout(() => {
    if (!isOpen && !raw.destroyed) open()
    if (!raw.writableNeedDrain && !raw.destroyed) raw.write(heartbeat)
    beat.refresh()
  }, heartbeatMs)
  let told: string | null = claim ? '' : null
  let last = ''
  try {
    const completion = await starting
    const text = textOf(completion)
    const asked = attemptHeaders(completion.upstream, completion.attempts)
    if (isOpen) raw.write(commentOf(asked))
    else open(asked)
    for await (const batch of completion.events) {
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
    if (!isOpen) {
      clearTimeout(beat)
      await claim?.release() // nothing was answered: the same key may be tried again
      throw error
    }
    const reason = end.reason ?? (raw.destroyed ? undefined : shownError(error, request.id))
    if (reason) last = failure(reason, request.id)
    told = null
  }
  clearTimeout(beat)
  try {
    if (claim) await (told !== null && last !== '' ? claim.keep({ status: 200, body: told }) : claim.release())
  } catch (error) {
    last = failure(shownError(error, request.id), request.id)
  }
  if (last !== '') raw.end(last)
  else raw.destroy()
}

/** What was known too late for a header: clients skip a comment, and a person sees it. */
function commentOf(headers: Readonly<Record<string, string>>): string {
  return `${Object.entries(headers)
    .map(([name, value]) => `: ${name}: ${value}\n`)
    .join('')}\n`
}
