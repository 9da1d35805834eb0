/** OpenAI's responses (kind `openai`): stateless, so reasoning comes back encrypted and is sent again by the caller. */
import type { AnswerEvents, AnswerReader, OpenCall } from './answer-events.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import type { AskUpstream, UpstreamTarget } from './model.ts'
import { responsesBody } from './responses-bodies.ts'
import { askOverHttp, parseJson } from './upstream-answers.ts'
import { brokenAnswer, refusedInAnswer } from './upstream-errors.ts'
import { bearerHeaders } from './wire-formats.ts'

/** Asks an upstream that speaks OpenAI's responses. */
export const askResponses: AskUpstream = (target, request, signal) =>
  askOverHttp(
    target,
    request,
    {
      path: '/responses',
      headers: bearerHeaders(target),
      body: responsesBody(target, request),
    },
    (to, events) => new ResponsesReader(to, events),
    signal,
  )

/** An output item that is still open. */
type OpenItem =
  | { type: 'message'; hasText: boolean }
  | { type: 'reasoning'; index: number; text: string }
  | { type: 'call'; call: OpenCall }

const itemsMax = 1_024

/** A token's log probability in the form of chat completions, which always include its bytes. */
function chatToken(value: unknown): unknown {
  const token = objectOf(value)
  if (!token) return value
  const others = token['top_logprobs']
  return {
    bytes: null,
    ...token,
    top_logprobs: Array.isArray(others) ? others.map((one) => ({ bytes: null, ...objectOf(one) })) : [],
  }
}

class ResponsesReader implements AnswerReader {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  /** Open items by the provider's output index. */
  readonly #items = new Map<unknown, OpenItem>()
  #isRefusal = false

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    const event = objectOf(parseJson(this.#target, data))
    if (!event) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    const item = this.#items.get(event['output_index'])
    switch (event['type']) {
      case 'response.output_text.delta':
        return this.#text(item, textOf(event['delta']) ?? '', event['logprobs'])
      case 'response.refusal.delta':
        return this.#refusal(item, textOf(event['delta']) ?? '')
      case 'response.reasoning_summary_part.added':
        return this.#reasoning(item, item?.type === 'reasoning' && item.text !== '' ? '\n\n' : '')
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#reasoning(item, textOf(event['delta']) ?? '')
      case 'response.function_call_arguments.delta':
        if (item?.type === 'call') this.#events.arguments(item.call, textOf(event['delta']) ?? '')
        return
      case 'response.output_item.added':
        return void this.#open(event['output_index'], objectOf(event['item']) ?? {})
      case 'response.output_item.done':
        return this.#close(event['output_index'], objectOf(event['item']) ?? {})
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(objectOf(event['response']) ?? {})
      case 'response.failed':
        throw refusedInAnswer(this.#target, objectOf(event['response'])?.['error'])
      case 'error':
        throw refusedInAnswer(this.#target, objectOf(event['error']) ?? event)
      // Other events repeat these, or are about tools that are never requested.
    }
  }

  whole(response: Values): void {
    if (response['status'] === 'failed' || !Array.isArray(response['output']))
      throw brokenAnswer(this.#target, 'sent something that is not an answer')
    if (response['output'].length > itemsMax) throw brokenAnswer(this.#target, `sent more than ${itemsMax} items`)
    for (const [index, value] of listOf(response['output']).entries()) this.#close(index, objectOf(value) ?? {})
    this.#end(response)
  }

  close(): void {
    // Only the last event says how an answer ended; without it, the answer was cut off.
  }

  #open(index: unknown, item: Values): OpenItem | undefined {
    if (this.#items.size >= itemsMax) throw brokenAnswer(this.#target, `opened more than ${itemsMax} items`)
    const open: OpenItem | undefined =
      item['type'] === 'message'
        ? { type: 'message', hasText: false }
        : item['type'] === 'reasoning'
          ? { type: 'reasoning', index: this.#events.openReasoning(), text: '' }
          : item['type'] === 'function_call'
            ? { type: 'call', call: this.#events.openCall(textOf(item['call_id']), textOf(item['name']) ?? '') }
            : undefined
    if (open) this.#items.set(index, open)
    return open
  }

  #text(item: OpenItem | undefined, text: string, logprobs: unknown): void {
    if (item?.type === 'message') item.hasText = true
    this.#events.text(text, Array.isArray(logprobs) && logprobs.length > 0 ? logprobs.map(chatToken) : undefined)
  }

  #refusal(item: OpenItem | undefined, text: string): void {
    if (item?.type === 'message') item.hasText = true
    this.#isRefusal = true
    this.#events.refusal(text)
  }

  #reasoning(item: OpenItem | undefined, text: string): void {
    if (item?.type !== 'reasoning') return
    item.text += text
    this.#events.reasoning(item.index, text)
  }

  /** A complete item: emits what did not arrive in pieces. */
  #close(index: unknown, item: Values): void {
    const open = this.#items.get(index) ?? this.#open(index, item)
    this.#items.delete(index)
    if (open?.type === 'message' && !open.hasText) {
      for (const part of listOf(item['content']).map(objectOf)) {
        if (part?.['type'] === 'refusal') this.#refusal(open, textOf(part['refusal']) ?? '')
        else this.#text(open, textOf(part?.['text']) ?? '', part?.['logprobs'])
      }
    } else if (open?.type === 'reasoning') {
      if (open.text === '')
        this.#reasoning(
          open,
          listOf(item['summary'])
            .map((part) => textOf(objectOf(part)?.['text']) ?? '')
            .join('\n\n'),
        )
      this.#events.closeReasoning(open.index, {
        id: textOf(item['id']),
        text: open.text,
        encryptedContent: textOf(item['encrypted_content']),
      })
    } else if (open?.type === 'call') {
      if (!open.call.hasArguments) this.#events.arguments(open.call, textOf(item['arguments']) ?? '')
      this.#events.closeCall(open.call)
    }
  }

  #end(response: Values): void {
    const usage = objectOf(response['usage'])
    const input = objectOf(usage?.['input_tokens_details'])
    this.#events.usage({
      inputTokens: countOf(usage?.['input_tokens']),
      outputTokens: countOf(usage?.['output_tokens']),
      cacheReadTokens: countOf(input?.['cached_tokens']),
      cacheWriteTokens: countOf(input?.['cache_write_tokens']),
      reasoningTokens: countOf(objectOf(usage?.['output_tokens_details'])?.['reasoning_tokens']),
    })
    const reason = objectOf(response['incomplete_details'])?.['reason']
    if (response['status'] === 'incomplete') this.#events.end(reason === 'content_filter' ? 'content_filter' : 'length')
    else this.#events.end(this.#events.hasCalls ? 'tool_calls' : this.#isRefusal ? 'content_filter' : 'stop')
  }
}
