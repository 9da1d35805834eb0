/** OpenAI's responses (kind `openai`): stateless, so reasoning comes back encrypted and is sent again by the caller. */
import type { AnswerEvents, AnswerReader, OpenCall } from './answer-events.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import type { AskUpstream, UpstreamTarget } from './model.ts'
import { responsesBody } from './responses-bodies.ts'
import { findStreamed, headLength, thoughtIn, typeOf, type StreamedItem } from './responses-places.ts'
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

type ItemState =
  /** `heard`: the parts, by their number, of which something has arrived. */
  | { type: 'message'; heard: Set<number> }
  | { type: 'reasoning'; index: number; text: string; encryptedContent: string | undefined }
  | { type: 'call'; call: OpenCall }
  /** Of tools that run at the provider: they are never requested. */
  | { type: 'ignored' }

/** An output item that is still open, and by what it is found again at the end. */
type OpenItem = ItemState & { seen: SeenItem }
/** `index` is the provider's own. */
type SeenItem = StreamedItem & { index: unknown; ids: Set<string> }

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
  /** All that were opened. */
  readonly #seen: SeenItem[] = []
  #isRefusal = false

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    const event = objectOf(parseJson(this.#target, data))
    if (!event) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    const index = event['output_index']
    const item = this.#items.get(index)
    switch (event['type']) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#piece(index, event, textOf(event['delta']))
      // These have what did not come in pieces, and otherwise repeat it.
      case 'response.output_text.done':
        return this.#part(index, event, event)
      case 'response.refusal.done':
        return this.#part(index, event, { ...event, type: 'refusal' })
      case 'response.content_part.added':
      case 'response.content_part.done':
        return this.#part(index, event, objectOf(event['part']) ?? {})
      case 'response.reasoning_summary_part.added':
        return this.#reasoning(item, item?.type === 'reasoning' && item.text !== '' ? '\n\n' : '')
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#reasoning(item, textOf(event['delta']) ?? '')
      case 'response.function_call_arguments.delta':
        if (item?.type === 'call') this.#events.arguments(item.call, textOf(event['delta']) ?? '')
        return
      case 'response.function_call_arguments.done':
        return this.#called(item, event)
      case 'response.output_item.added':
        return void this.#open(index, objectOf(event['item']) ?? {})
      case 'response.output_item.done':
        return this.#close(index, objectOf(event['item']) ?? {})
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
    this.#end(response)
  }

  close(): void {
    // Only the last event says how an answer ended; without it, the answer was cut off.
  }

  #open(index: unknown, item: Values): OpenItem {
    this.#close(index, {})
    if (this.#seen.length >= itemsMax) throw brokenAnswer(this.#target, `opened more than ${itemsMax} items`)
    const place = countOf(index) ?? this.#seen.length
    const seen = { index, place, ids: new Set<string>(), type: typeOf(item), head: '', callId: '', name: '' }
    const open = { ...this.#stateOf(item), seen }
    this.#seen.push(seen)
    this.#items.set(index, open)
    see(open, item)
    return open
  }

  #stateOf(item: Values): ItemState {
    switch (item['type']) {
      case 'message':
        return { type: 'message', heard: new Set() }
      case 'reasoning': {
        const encryptedContent = textOf(item['encrypted_content'])
        return { type: 'reasoning', index: this.#events.openReasoning(), text: '', encryptedContent }
      }
      case 'function_call':
        return { type: 'call', call: this.#events.openCall(textOf(item['call_id']), textOf(item['name']) ?? '') }
      default:
        return { type: 'ignored' }
    }
  }

  /** A piece of a message, also of one whose start never came. */
  #piece(index: unknown, event: Values, text: string | undefined): void {
    const item = this.#items.get(index) ?? this.#open(index, { type: 'message' })
    if (item.type !== 'message') return
    item.heard.add(placeOf(event))
    hear(item, text ?? '')
    if (event['type'] === 'response.refusal.delta') this.#refusal(text ?? '')
    else this.#text(text ?? '', event['logprobs'])
  }

  /** A part of a message that is whole: emits it, unless it has arrived in pieces. */
  #part(index: unknown, event: Values, part: Values): void {
    const item = this.#items.get(index) ?? this.#open(index, { type: 'message' })
    if (item.type === 'message') this.#say(item, placeOf(event), part)
  }

  #say(item: Extract<OpenItem, { type: 'message' }>, place: number, part: Values): void {
    const refusal = part['type'] === 'refusal' ? textOf(part['refusal']) : undefined
    const text = refusal ?? textOf(part['text'])
    if (!text || item.heard.has(place)) return
    item.heard.add(place)
    hear(item, text)
    if (refusal) this.#refusal(refusal)
    else this.#text(text, part['logprobs'])
  }

  #text(text: string, logprobs: unknown): void {
    this.#events.text(text, Array.isArray(logprobs) && logprobs.length > 0 ? logprobs.map(chatToken) : undefined)
  }

  #refusal(text: string): void {
    this.#isRefusal = true
    this.#events.refusal(text)
  }

  /** The name and the arguments of a call that did not come before. */
  #called(item: OpenItem | undefined, { name, arguments: given }: Values): void {
    if (item?.type !== 'call') return
    item.call.name ||= textOf(name) ?? ''
    if (item.call.hasArguments) return
    const value = objectOf(given)
    if (value) this.#events.argumentValue(item.call, value)
    else this.#events.arguments(item.call, textOf(given) ?? '')
  }

  #reasoning(item: OpenItem | undefined, text: string): void {
    if (item?.type !== 'reasoning') return
    item.text += text
    hear(item, text)
    this.#events.reasoning(item.index, text)
  }

  /** A complete item: emits what did not arrive in pieces. Without a type, it is one that nobody has completed. */
  #close(index: unknown, item: Values): void {
    const open = this.#items.get(index) ?? (item['type'] === undefined ? undefined : this.#open(index, item))
    this.#items.delete(index)
    if (open) see(open, item)
    if (open?.type === 'message')
      for (const [place, part] of listOf(item['content']).entries()) this.#say(open, place, objectOf(part) ?? {})
    else if (open?.type === 'reasoning') {
      if (open.text === '') this.#reasoning(open, thoughtIn(item))
      this.#events.closeReasoning(open.index, {
        id: textOf(item['id']),
        text: open.text,
        encryptedContent: textOf(item['encrypted_content']) ?? open.encryptedContent,
      })
    } else if (open?.type === 'call') {
      this.#called(open, item)
      this.#events.closeCall(open.call)
    }
  }

  /** The items that only the last event has, and those that no event has closed. */
  #closeAll(output: readonly unknown[]): void {
    if (output.length > itemsMax) throw brokenAnswer(this.#target, `sent more than ${itemsMax} items`)
    const items = output.map((value) => objectOf(value) ?? {})
    const found = findStreamed(this.#seen, items)
    for (const [at, item] of items.entries()) {
      const seen = found.get(at)
      if (!seen)
        this.#close(item, item) // its number may be another one's, so it stands for itself
      else if (this.#items.get(seen.index)?.seen === seen) this.#close(seen.index, item)
    }
    for (const index of this.#items.keys()) this.#close(index, {})
  }

  #end(response: Values): void {
    this.#closeAll(listOf(response['output']))
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

/** Notes what an event says of an item, by which it is found again at the end. */
function see({ seen }: OpenItem, { id, call_id: callId, name }: Values): void {
  if (typeof id === 'string' && id !== '') seen.ids.add(id)
  seen.callId ||= textOf(callId) ?? ''
  seen.name ||= textOf(name) ?? ''
}

function hear({ seen }: OpenItem, text: string): void {
  if (seen.head.length < headLength) seen.head = (seen.head + text).slice(0, headLength)
}

/** Which part of its message an event is about; the first, if it does not say. */
function placeOf(event: Values): number {
  return countOf(event['content_index']) ?? 0
}
