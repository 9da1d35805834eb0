/**
 * A chat with tools or reasoning for a client that does not stream, where the operator allows it
 * (`BERTH_CHAT_JOIN_STREAMS`): the stream of the model is joined to one message.
 */
import { endOf, type CallExtra, type ModelEvent } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { roughLength } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import type { TokenLogprobs } from '#src/resources/llm/chats.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import { bodyOf, reasoningDetails } from './chunks.ts'

/** The whole answer as one body. @throws BerthError when the upstream cuts it off, or sends more than can be joined. */
export async function joinedBody(completion: Completion): Promise<Record<string, unknown>> {
  const joined = new JoinedMessage(completion.upstream)
  let last: readonly ModelEvent[] = []
  for await (const batch of completion.events) {
    for (const event of batch) joined.add(event)
    last = batch
  }
  const { finishReason, usage } = endOf(last)
  return bodyOf(completion, joined.message(), { logprobs: joined.logprobs, finishReason, usage })
}

type JoinedCall = { id: string; name: string; extra: CallExtra | undefined; pieces: string[] }

/** A message that arrives in pieces. */
class JoinedMessage {
  logprobs: TokenLogprobs | null = null
  readonly #upstream: string
  readonly #text: string[] = []
  readonly #refusal: string[] = []
  readonly #reasoning: string[] = []
  readonly #details: Record<string, unknown>[] = []
  /** By the number that their events have. */
  readonly #calls = new Map<number, JoinedCall>()
  #lengthLeft: number = limits.chatJoinedLength

  /** @param upstream who sends it, for errors. */
  constructor(upstream: string) {
    this.#upstream = upstream
  }

  /** Takes the next event. @throws BerthError upstream_error for one too much. */
  add(event: ModelEvent): void {
    switch (event.type) {
      case 'text':
        return this.#say(event)
      case 'reasoning':
        this.#spend(event.text.length)
        return void this.#reasoning.push(event.text)
      case 'reasoning_end': {
        const details = reasoningDetails(event.index, event.block)
        this.#spend(roughLength(details))
        return void this.#details.push(...details)
      }
      case 'tool':
        this.#spend(event.id.length + event.name.length + (event.extra ? roughLength(event.extra) : 0))
        return void this.#calls.set(event.index, { id: event.id, name: event.name, extra: event.extra, pieces: [] })
      case 'extra': {
        this.#spend(roughLength(event.extra))
        const call = this.#calls.get(event.index)
        if (call) call.extra = event.extra
        return
      }
      case 'arguments':
        this.#spend(event.text.length)
        return void this.#calls.get(event.index)?.pieces.push(event.text)
    }
  }

  /** The message, when all of it has arrived. What it does not have is left out, but for its content. */
  message(): Record<string, unknown> {
    const text = this.#text.join('')
    const refusal = this.#refusal.join('')
    const calls = [...this.#calls.values()].map(({ id, name, extra, pieces }) => ({
      id,
      type: 'function',
      function: { name, arguments: pieces.join('') },
      ...(extra ? { extra_content: extra } : {}),
    }))
    return {
      role: 'assistant',
      content: text === '' && (refusal !== '' || calls.length > 0) ? null : text,
      refusal: refusal === '' ? null : refusal,
      ...(this.#reasoning.length > 0 ? { reasoning_content: this.#reasoning.join('') } : {}),
      ...(this.#details.length > 0 ? { reasoning_details: this.#details } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    }
  }

  #say({ text, refusal, logprobs }: Extract<ModelEvent, { type: 'text' }>): void {
    this.#spend(text.length + (logprobs ? roughLength(logprobs) : 0))
    const pieces = refusal ? this.#refusal : this.#text
    pieces.push(text)
    if (!logprobs) return
    this.logprobs ??= { content: [], refusal: [] }
    for (const token of logprobs) this.logprobs[refusal ? 'refusal' : 'content'].push(token)
  }

  #spend(length: number): void {
    this.#lengthLeft -= length
    if (this.#lengthLeft < 0)
      throw new BerthError(
        'upstream_error',
        `The answer has more than ${limits.chatJoinedLength} characters, which are too many to be joined. Send stream: true.`,
        { upstream: this.#upstream },
      )
  }
}
