/** The wire format of `POST /v1/responses`: the events of a stream, and the response that they add up to. */
import type { CallExtra, ModelEvent, ReasoningBlock } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { roughLength } from '#src/platform/json/text.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import { responseLimits } from '#src/resources/llm/responses/limits.ts'
import { sealBlock } from '#src/resources/llm/responses/reasoning-items.ts'
import type { Repeated } from '#src/resources/llm/responses/requests.ts'
import type { StreamText } from './chunks.ts'
import { llmEnvelope } from './envelope.ts'
import {
  endOfResponse,
  errorEvent,
  responseId,
  responseObject,
  type OutputItem,
  type OutputPart,
} from './response-objects.ts'

type Item<Type extends OutputItem['type']> = Extract<OutputItem, { type: Type }>
type Fields = Readonly<Record<string, unknown>>

/** Writes one response. Calls stay open until the end, because pieces of several may come in turns. */
export class ResponseText implements StreamText {
  /** The whole response, once it has ended. */
  whole: Record<string, unknown> | null = null
  readonly #completion: Completion
  readonly #repeated: Repeated
  readonly #suffix: string
  readonly #isStreamed: boolean
  readonly #output: OutputItem[] = []
  /** Calls by the number that their events have, each with its place in the output. */
  readonly #calls = new Map<number, { item: Item<'function_call'>; place: number }>()
  /** The message or the reasoning that is being written, which is the last item but for calls. */
  #open: { item: Item<'message'> | Item<'reasoning'>; place: number } | null = null
  #sequence = 0
  #hasBegun = false
  #hasRefused = false
  #lengthLeft: number = responseLimits.streamedLength
  /** What precedes a piece of text: it is the same for all pieces of a part. */
  #deltaHead = ''

  /**
   * @param repeated what the response says of its request.
   * @param isStreamed whether events are written; otherwise the response is only put together.
   */
  constructor(completion: Completion, repeated: Repeated, isStreamed: boolean) {
    this.#isStreamed = isStreamed
    this.#completion = completion
    this.#repeated = repeated
    const id = responseId(completion)
    this.#suffix = id.slice(id.indexOf('_'))
  }

  batch(events: readonly ModelEvent[]): string {
    let text = this.#begin()
    for (const event of events) text += this.#write(event)
    return text
  }

  /** The end of a stream that failed. */
  failure(error: BerthError, requestId: string): string {
    return frameOf('error', errorEvent(llmEnvelope(error, requestId), error, this.#sequence++))
  }

  #begin(): string {
    if (this.#hasBegun || !this.#isStreamed) return ''
    this.#hasBegun = true
    const response = JSON.stringify(responseObject(this.#completion, this.#repeated, [], { status: 'in_progress' }))
    return ['response.created', 'response.in_progress']
      .map(
        (type) =>
          `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${response}}\n\n`,
      )
      .join('')
  }

  #write(event: ModelEvent): string {
    switch (event.type) {
      case 'text':
        this.#keep(event.text.length + (event.logprobs ? roughLength(event.logprobs) : 0))
        return this.#say(event)
      case 'reasoning':
        this.#keep(event.text.length)
        return this.#think(event.text)
      case 'reasoning_end':
        return this.#endReasoning(event.block)
      case 'tool':
        return this.#call(event)
      case 'arguments':
        this.#keep(event.text.length)
        return this.#argue(event.index, event.text)
      case 'extra':
        this.#keep(roughLength(event.extra))
        return this.#argue(event.index, '', event.extra)
      case 'end':
        return this.#end(event)
      case 'usage':
        return '' // reported at the end
    }
  }

  /** Counts what the end of a stream will repeat. @throws BerthError upstream_error for too much. */
  #keep(length: number): void {
    this.#lengthLeft -= length
    if (this.#isStreamed && this.#lengthLeft < 0)
      throw new BerthError(
        'upstream_error',
        `The answer has more than ${responseLimits.streamedLength} characters, and the end of a streamed response repeats them. Ask for less, or use /llm/v1/chat/completions.`,
        { upstream: this.#completion.upstream },
      )
  }

  #frame(type: string, fields: Fields): string {
    return this.#isStreamed ? frameOf(type, { type, sequence_number: this.#sequence++, ...fields }) : ''
  }

  #add<Added extends OutputItem>(item: Added): { item: Added; place: number; text: string } {
    const place = this.#output.push(item) - 1
    return { item, place, text: this.#frame('response.output_item.added', { output_index: place, item }) }
  }

  #id(prefix: string): string {
    return `${prefix}${this.#suffix}_${this.#output.length}`
  }

  #say({ text, refusal, logprobs }: Extract<ModelEvent, { type: 'text' }>): string {
    const type = refusal ? 'refusal' : 'output_text'
    const open = this.#open
    const part = open?.item.type === 'message' ? open.item.content.at(-1) : undefined
    const begin = part?.type === type ? '' : this.#openPart(type)
    const current = this.#message().content.at(-1)
    if (current?.type === 'output_text') {
      current.text += text
      if (logprobs) for (const token of logprobs) current.logprobs.push(token)
      if (!this.#isStreamed) return ''
      const tokens = logprobs ? JSON.stringify(logprobs) : '[]'
      return `${begin}${this.#deltaHead}${JSON.stringify(text)},"logprobs":${tokens},"sequence_number":${this.#sequence++}}\n\n`
    }
    if (current?.type === 'refusal') current.refusal += text
    this.#hasRefused = true
    return begin + this.#frame('response.refusal.delta', { ...this.#partAt(), delta: text })
  }

  #message(): Item<'message'> {
    if (this.#open?.item.type !== 'message') throw new Error('text without a message')
    return this.#open.item
  }

  /** Where the open part is. */
  #partAt(): { item_id: string; output_index: number; content_index: number } {
    const { id, content } = this.#message()
    return { item_id: id, output_index: this.#open?.place ?? 0, content_index: content.length - 1 }
  }

  #openPart(type: OutputPart['type']): string {
    let text = ''
    if (this.#open?.item.type === 'message') text += this.#closePart()
    else {
      text += this.#close()
      const added = this.#add({
        type: 'message',
        id: this.#id('msg'),
        status: 'in_progress',
        role: 'assistant',
        content: [],
      })
      this.#open = added
      text += added.text
    }
    const part: OutputPart =
      type === 'refusal' ? { type, refusal: '' } : { type, annotations: [], logprobs: [], text: '' }
    this.#message().content.push(part)
    const at = this.#partAt()
    text += this.#frame('response.content_part.added', { ...at, part })
    if (!this.#isStreamed) return text
    const head = JSON.stringify({ type: 'response.output_text.delta', ...at })
    this.#deltaHead = `event: response.output_text.delta\ndata: ${head.slice(0, -1)},"delta":`
    return text
  }

  #closePart(): string {
    const part = this.#message().content.at(-1)
    if (!part) return ''
    const at = this.#partAt()
    const done =
      part.type === 'refusal'
        ? this.#frame('response.refusal.done', { ...at, refusal: part.refusal })
        : this.#frame('response.output_text.done', { ...at, text: part.text, logprobs: part.logprobs })
    return done + this.#frame('response.content_part.done', { ...at, part })
  }

  /** Opens a block of reasoning, unless one is open: the next one begins when this has ended. */
  #openReasoning(): { item: Item<'reasoning'>; place: number; text: string } {
    const open = this.#open
    if (open?.item.type === 'reasoning') return { item: open.item, place: open.place, text: '' }
    const closed = this.#close()
    const added = this.#add({
      type: 'reasoning',
      id: this.#id('rs'),
      status: 'in_progress',
      summary: [],
      encrypted_content: null,
    })
    this.#open = added
    return { ...added, text: closed + added.text }
  }

  #think(piece: string): string {
    const { item, place, text: begin } = this.#openReasoning()
    const at = { item_id: item.id, output_index: place, summary_index: 0 }
    let text = begin
    const [part = { type: 'summary_text' as const, text: '' }] = item.summary
    if (item.summary.length === 0) {
      text += this.#frame('response.reasoning_summary_part.added', { ...at, part })
      item.summary.push(part)
    }
    part.text += piece
    return text + this.#frame('response.reasoning_summary_text.delta', { ...at, delta: piece })
  }

  #endReasoning(block: ReasoningBlock): string {
    const { item, text } = this.#openReasoning()
    item.encrypted_content = sealBlock(block)
    return text + this.#close()
  }

  #call({ index, id, name, extra }: Extract<ModelEvent, { type: 'tool' }>): string {
    if (extra) this.#keep(roughLength(extra))
    const closed = this.#close()
    const item = {
      type: 'function_call',
      id: this.#id('fc'),
      status: 'in_progress',
      call_id: id,
      name,
      arguments: '',
      ...(extra ? { extra_content: extra } : {}),
    } as const
    const added = this.#add<Item<'function_call'>>({ ...item })
    this.#calls.set(index, added)
    return closed + added.text
  }

  #argue(index: number, piece: string, extra?: CallExtra): string {
    const call = this.#calls.get(index)
    if (call && extra) call.item.extra_content = extra // shown when the item is complete
    if (!call || piece === '') return ''
    call.item.arguments += piece
    const at = { item_id: call.item.id, output_index: call.place }
    return this.#frame('response.function_call_arguments.delta', { ...at, delta: piece })
  }

  /** Closes the message or the reasoning that is open. */
  #close(status: 'completed' | 'incomplete' = 'completed'): string {
    const open = this.#open
    if (!open) return ''
    const { item, place } = open
    let text = ''
    if (item.type === 'message') text += this.#closePart()
    else {
      const [part] = item.summary
      const at = { item_id: item.id, output_index: place, summary_index: 0 }
      if (part)
        text +=
          this.#frame('response.reasoning_summary_text.done', { ...at, text: part.text }) +
          this.#frame('response.reasoning_summary_part.done', { ...at, part })
    }
    this.#open = null
    item.status = status
    return text + this.#frame('response.output_item.done', { output_index: place, item })
  }

  #end({ finishReason, usage }: Extract<ModelEvent, { type: 'end' }>): string {
    const end = endOfResponse(finishReason, usage, this.#hasRefused)
    const isCut = end.status === 'incomplete'
    let text = this.#close(isCut ? 'incomplete' : 'completed')
    for (const { item, place } of this.#calls.values()) {
      item.status = isCut && place === this.#output.length - 1 ? 'incomplete' : 'completed'
      const at = { item_id: item.id, output_index: place }
      text +=
        this.#frame('response.function_call_arguments.done', { ...at, name: item.name, arguments: item.arguments }) +
        this.#frame('response.output_item.done', { output_index: place, item })
    }
    this.whole = responseObject(this.#completion, this.#repeated, this.#output, end)
    return text + this.#frame(`response.${end.status}`, { response: this.whole })
  }
}

/** The end of a stream that failed before its response had begun. */
export function responseFailure(error: BerthError, requestId: string): string {
  return frameOf('error', errorEvent(llmEnvelope(error, requestId), error, 0))
}

function frameOf(type: string, data: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}
