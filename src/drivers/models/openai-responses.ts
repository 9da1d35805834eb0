/** OpenAI's responses (kind `openai`): stateless, so reasoning comes back encrypted and is sent again by the caller. */
import type { AnswerEvents, AnswerReader } from './answer-events.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import type { AskUpstream, UpstreamTarget } from './model.ts'
import { responsesBody } from './responses-bodies.ts'
import {
  argue,
  beginCall,
  completeCall,
  hear,
  HeardText,
  isOther,
  namedBy,
  OpenItems,
  placeOf,
  saysAll,
  see,
  type ItemState,
  type Named,
  type OpenItem,
  type OpenMessage,
  type SeenItem,
} from './responses-items.ts'
import { findStreamed, thoughtIn, typeOf } from './responses-places.ts'
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

const itemsMax = 1_024
/** Of all messages of an answer. */
const partsMax = 16_384

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
  readonly #items = new OpenItems<OpenItem>()
  /** Those whose end was not told: also of such as are done, where that did not say what they have. */
  readonly #going = new Map<SeenItem, OpenItem>()
  /** All that were opened. */
  readonly #seen: SeenItem[] = []
  #parts = 0
  #isRefusal = false

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    const event = objectOf(parseJson(this.#target, data))
    if (!event) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    switch (event['type']) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#piece(event, textOf(event['delta']) ?? '')
      // These have what did not come in pieces, and otherwise repeat it.
      case 'response.output_text.done':
        return this.#part(event, event)
      case 'response.refusal.done':
        return this.#part(event, { ...event, type: 'refusal' })
      case 'response.content_part.added':
      case 'response.content_part.done':
        return this.#part(event, objectOf(event['part']) ?? {})
      case 'response.reasoning_summary_part.added':
        return this.#paragraph(this.#find('reasoning', event))
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#reasoning(this.#find('reasoning', event), textOf(event['delta']) ?? '')
      case 'response.function_call_arguments.delta':
        return argue(this.#events, this.#find('call', event), textOf(event['delta']) ?? '')
      case 'response.function_call_arguments.done':
        return completeCall(this.#events, this.#find('call', event), event)
      case 'response.output_item.added':
        return void this.#open(namedBy(event), objectOf(event['item']) ?? {})
      case 'response.output_item.done':
        return this.#done(event, objectOf(event['item']) ?? {})
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

  #find(type: SeenItem['type'], event: Values): OpenItem | undefined {
    return this.#items.find(type, namedBy(event))
  }

  /** Opens an item. Another one at its index goes on, as far as events name it by its id. */
  #open(named: Named, item: Values, isAdded = true): OpenItem {
    const { index } = named
    const thought = this.#items.at('reasoning', index)
    if (thought && !isOther(thought.seen, named)) this.#finish(thought, {})
    const before = this.#items.at('call', index)
    if (before?.type === 'call' && before.call.name !== '') this.#events.emitCall(before.call) // it is the first of both
    const open = this.#make(index, item, isAdded)
    this.#items.add(open)
    beginCall(this.#events, open, item['arguments'])
    return open
  }

  #make(index: Named['index'], item: Values, isAdded: boolean): OpenItem {
    if (this.#seen.length >= itemsMax) throw brokenAnswer(this.#target, `opened more than ${itemsMax} items`)
    const place = countOf(index) ?? this.#seen.length
    const seen = { index, place, isAdded, ids: new Set<string>(), type: typeOf(item), head: '', callId: '', name: '' }
    const open = { ...this.#stateOf(item), seen }
    this.#seen.push(seen)
    this.#going.set(seen, open)
    see(open, item)
    return open
  }

  #stateOf(item: Values): ItemState {
    switch (item['type']) {
      case 'message':
        return { type: 'message', heard: new Map() }
      case 'reasoning': {
        const encryptedContent = textOf(item['encrypted_content'])
        return { type: 'reasoning', index: this.#events.openReasoning(), text: '', encryptedContent }
      }
      case 'function_call': {
        const call = this.#events.openCall(textOf(item['call_id']), textOf(item['name']) ?? '')
        return { type: 'call', call, heard: new HeardText(), isWhole: false }
      }
      default:
        return { type: 'ignored' }
    }
  }

  /** The message that an event is about, also one whose start never came; none if it is about an item of these types. */
  #message(event: Values, ...types: SeenItem['type'][]): OpenMessage | undefined {
    const named = namedBy(event)
    let item = this.#items.find('message', named)
    if (!item && types.some((type) => this.#items.find(type, named))) return undefined
    item ??= this.#open(named, { type: 'message', id: named.id }, false)
    return item.type === 'message' ? item : undefined
  }

  #piece(event: Values, text: string): void {
    const item = this.#message(event, 'ignored')
    if (!item) return
    this.#heard(item, placeOf(event)).add(text)
    hear(item, text)
    if (event['type'] === 'response.refusal.delta') this.#refusal(text)
    else this.#text(text, event['logprobs'])
  }

  /** A part of a message that is whole: emits what has not arrived in pieces. Items of reasoning have parts, too. */
  #part(event: Values, part: Values): void {
    if (part['type'] === 'reasoning_text' || part['type'] === 'summary_text') return
    const item = this.#message(event, 'ignored', 'reasoning')
    if (item) this.#say(item, placeOf(event), part)
  }

  #say(item: OpenMessage, place: number, part: Values): void {
    const refusal = part['type'] === 'refusal' ? textOf(part['refusal']) : undefined
    const text = refusal ?? textOf(part['text'])
    if (!text) return
    const heard = this.#heard(item, place)
    const rest = heard.rest(text)
    if (rest === '') return
    heard.add(rest)
    hear(item, rest)
    if (refusal) this.#refusal(rest)
    else this.#text(rest, rest === text ? part['logprobs'] : undefined) // they are of all its tokens
  }

  #heard(item: OpenMessage, place: number): HeardText {
    let heard = item.heard.get(place)
    if (heard) return heard
    if (++this.#parts > partsMax) throw brokenAnswer(this.#target, `sent more than ${partsMax} parts of messages`)
    item.heard.set(place, (heard = new HeardText()))
    return heard
  }

  #text(text: string, logprobs: unknown): void {
    this.#events.text(text, Array.isArray(logprobs) && logprobs.length > 0 ? logprobs.map(chatToken) : undefined)
  }

  #refusal(text: string): void {
    this.#isRefusal = true
    this.#events.refusal(text)
  }

  #paragraph(item: OpenItem | undefined): void {
    if (item?.type === 'reasoning' && item.text !== '') this.#reasoning(item, '\n\n')
  }

  #reasoning(item: OpenItem | undefined, text: string): void {
    if (item?.type !== 'reasoning') return
    item.text += text
    hear(item, text)
    this.#events.reasoning(item.index, text)
  }

  /** An item is done: nothing more comes for it, but the last event may say what it has. */
  #done(event: Values, item: Values): void {
    const named = namedBy(event)
    const types = item['type'] === undefined ? (['message', 'reasoning', 'call'] as const) : [typeOf(item)]
    let open = types.map((type) => this.#items.find(type, named)).find((found) => found !== undefined)
    if (item['type'] !== undefined) open ??= this.#open(named, item)
    if (!open) return
    if (saysAll(open, item)) return this.#finish(open, item)
    see(open, item)
    this.#items.delete(open)
    if (open.type !== 'call') return
    completeCall(this.#events, open, item)
    if (open.call.name !== '') this.#events.emitCall(open.call)
  }

  /** The end of an item: emits what did not arrive in pieces. Without values, it is one that nobody has completed. */
  #finish(open: OpenItem, item: Values): void {
    this.#items.delete(open)
    this.#going.delete(open.seen)
    see(open, item)
    if (open.type === 'message')
      for (const [place, part] of listOf(item['content']).entries()) this.#say(open, place, objectOf(part) ?? {})
    else if (open.type === 'reasoning') {
      const thought = thoughtIn(item)
      if (thought.startsWith(open.text)) this.#reasoning(open, thought.slice(open.text.length))
      this.#events.closeReasoning(open.index, {
        id: textOf(item['id']),
        text: open.text,
        encryptedContent: textOf(item['encrypted_content']) ?? open.encryptedContent,
      })
    } else if (open.type === 'call') {
      completeCall(this.#events, open, item)
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
      const open = seen ? this.#going.get(seen) : this.#make(undefined, item, true)
      if (open) this.#finish(open, item)
    }
    for (const open of this.#going.values()) this.#finish(open, {})
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
