/**
 * Sends the stream of a chat: events that arrive together are sent together, a silent stream sends heartbeats, and a
 * slow reader causes backpressure.
 */
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

/** The settings of a stream. */
export type Sending = {
  headers: Readonly<Record<string, string>>
  failure: FailureText
  end: ChatEnd
  claim: Claim | undefined
}

/**
 * Sends the answer to the end, or until the reader disconnects. The stream is opened by its first event or, if the
 * model takes longer, by the first heartbeat, so that no proxy times out. A failure before that is thrown and gets its
 * own status; a later one is reported in the stream. The claim of an idempotency key is settled here, before the last
 * byte: the whole text is stored under it, unless the stream failed, was cut off or is too long. The same key may then
 * be used again: half an answer is no use to a client that retries.
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
    raw.setTimeout(stalledMs) // a longer limit than for other answers
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders, ...headers, ...more }) // with the headers that are already set
  }
  const beat = setTimeout(() => {
    if (!isOpen && !raw.destroyed) open()
    if (!raw.writableNeedDrain && !raw.destroyed) raw.write(heartbeat)
    beat.refresh()
  }, heartbeatMs)
  let replay: string | null = claim ? '' : null
  let last = ''
  let text: StreamText | null = null
  const failed: FailureText = (error, requestId) =>
    text?.failure ? text.failure(error, requestId) : failure(error, requestId)
  try {
    const completion = await starting
    text = textOf(completion)
    const asked = attemptHeaders(completion.upstream, completion.attempts)
    if (isOpen) raw.write(commentOf(asked))
    else open(asked)
    for await (const batch of completion.events) {
      const piece = text.batch(batch)
      if (piece === '') continue
      if (replay !== null) replay = replay.length + piece.length > limits.chatReplayBytes ? null : replay + piece
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
      await claim?.release() // nothing was sent: the same key may be used again
      throw error
    }
    const reason = end.reason ?? (raw.destroyed ? undefined : shownError(error, request.id))
    if (reason) last = failed(reason, request.id)
    replay = null
  }
  clearTimeout(beat)
  try {
    if (claim) await (replay !== null && last !== '' ? claim.keep({ status: 200, body: replay }) : claim.release())
  } catch (error) {
    last = failed(shownError(error, request.id), request.id)
  }
  if (last !== '') raw.end(last)
  else raw.destroy()
}

/** Headers that were known too late to be sent as headers: clients skip a comment, and a person can read it. */
function commentOf(headers: Readonly<Record<string, string>>): string {
  return `${Object.entries(headers)
    .map(([name, value]) => `: ${name}: ${value}\n`)
    .join('')}\n`
}
