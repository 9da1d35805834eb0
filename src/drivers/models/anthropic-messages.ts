/** Anthropic's messages (kind `anthropic`): signed and redacted thinking is passed on unchanged. */
import type { AnswerEvents, AnswerReader, OpenCall } from './answer-events.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import { messagesBody } from './messages-bodies.ts'
import type { AskUpstream, FinishReason, UpstreamTarget } from './model.ts'
import { askOverHttp, parseJson } from './upstream-answers.ts'
import { brokenAnswer, refusedInAnswer } from './upstream-errors.ts'

const version = '2023-06-01'

/** The headers of a request in Anthropic's format, as alternating names and values. */
export function messagesHeaders({ apiKey }: Pick<UpstreamTarget, 'apiKey'>): string[] {
  const key = apiKey === null ? [] : ['x-api-key', apiKey]
  return ['content-type', 'application/json', 'anthropic-version', version, ...key]
}

/** Asks an upstream that speaks Anthropic's messages. */
export const askMessages: AskUpstream = (target, request, signal) =>
  askOverHttp(
    target,
    request,
    {
      path: '/messages',
      headers: messagesHeaders(target),
      body: messagesBody(target, request),
    },
    (to, events) => new MessagesReader(to, events),
    signal,
  )

const finishReasons: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** A content block that is still open. */
type OpenBlock =
  | { type: 'text' }
  | { type: 'thinking'; index: number; text: string; signature: string }
  | { type: 'redacted'; index: number; data: string }
  /** `input` came with the start; pieces, if any come, take its place. */
  | { type: 'call'; call: OpenCall; input: unknown }
  /** Of a tool that runs at the provider: these are never requested. */
  | { type: 'ignored' }

/** What Anthropic counts, each by itself. */
type Counted = Record<'input_tokens' | 'cache_creation_input_tokens' | 'cache_read_input_tokens', number | undefined>

const blocksMax = 1_024

class MessagesReader implements AnswerReader {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  /** Open blocks by the provider's index. */
  readonly #blocks = new Map<unknown, OpenBlock>()
  readonly #counted: Counted = {
    input_tokens: undefined,
    cache_creation_input_tokens: undefined,
    cache_read_input_tokens: undefined,
  }
  #hasStarted = false
  #id: string | undefined
  #stopReason: string | null = null
  #stopSequence: string | undefined

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    if (data === '[DONE]') return this.close() // as some proxies end every stream
    const event = objectOf(parseJson(this.#target, data))
    if (!event) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    switch (event['type']) {
      case 'content_block_delta':
        return this.#delta(event['index'], objectOf(event['delta']) ?? {})
      case 'content_block_start':
        return this.#open(event['index'], objectOf(event['content_block']) ?? {})
      case 'content_block_stop':
        return this.#close(event['index'])
      case 'message_start':
        return this.#start(objectOf(event['message']))
      case 'message_delta':
        this.#stop(objectOf(event['delta']))
        return this.#usage(objectOf(event['usage']))
      case 'message_stop':
        return this.#end()
      case 'error':
        throw refusedInAnswer(this.#target, event['error'])
      // Pings and unknown events are ignored.
    }
  }

  whole(message: Values): void {
    if (!Array.isArray(message['content'])) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    this.#content(message['content'])
    this.#stop(message)
    this.#usage(objectOf(message['usage']))
    this.#end()
  }

  close(): void {
    if (this.#stopReason !== null) this.#end()
  }

  /**
   * Some proxies repeat the start of a message; the start of another one is the beginning of somebody else's answer. What
   * a message has at its start counts once.
   */
  #start(message: Values | null): void {
    const id = textOf(message?.['id'])
    if (id !== undefined && id !== (this.#id ??= id))
      throw brokenAnswer(this.#target, 'began another message inside its answer')
    this.#usage(objectOf(message?.['usage']))
    if (!this.#hasStarted) this.#content(listOf(message?.['content']))
    this.#stop(message)
  }

  /** Blocks that are complete. */
  #content(content: readonly unknown[]): void {
    if (content.length > blocksMax) throw brokenAnswer(this.#target, `sent more than ${blocksMax} blocks`)
    for (const [index, block] of content.entries()) {
      this.#open(index, objectOf(block) ?? {})
      this.#close(index)
    }
  }

  #open(index: unknown, block: Values): void {
    this.#hasStarted = true
    this.#close(index) // some servers give every block the same index, and close none
    if (this.#blocks.size >= blocksMax) throw brokenAnswer(this.#target, `opened more than ${blocksMax} blocks`)
    const open = this.#openBlock(block)
    this.#blocks.set(index, open)
    if (open.type === 'text' || open.type === 'thinking') this.#add(open, block)
  }

  #openBlock(block: Values): OpenBlock {
    switch (block['type']) {
      case 'text':
        return { type: 'text' }
      case 'thinking':
        return { type: 'thinking', index: this.#events.openReasoning(), text: '', signature: '' }
      case 'redacted_thinking':
        return { type: 'redacted', index: this.#events.openReasoning(), data: textOf(block['data']) ?? '' }
      case 'tool_use': {
        const call = this.#events.openCall(textOf(block['id']), textOf(block['name']) ?? '')
        return { type: 'call', call, input: block['input'] }
      }
      default:
        return { type: 'ignored' }
    }
  }

  /** A piece; of text and thinking also of a block whose start never came. */
  #delta(index: unknown, delta: Values): void {
    if (!this.#blocks.has(index)) {
      if (delta['type'] === 'input_json_delta') throw brokenAnswer(this.#target, 'called a tool without a name')
      this.#open(index, { type: delta['type'] === 'thinking_delta' ? 'thinking' : 'text' })
    }
    const open = this.#blocks.get(index)
    if (open) this.#add(open, delta)
  }

  #add(open: OpenBlock, delta: Values): void {
    if (open.type === 'text') this.#events.text(textOf(delta['text']) ?? '')
    else if (open.type === 'call') this.#events.arguments(open.call, textOf(delta['partial_json']) ?? '')
    else if (open.type === 'thinking') {
      const text = textOf(delta['thinking']) ?? ''
      open.text += text
      this.#events.reasoning(open.index, text)
      open.signature += textOf(delta['signature']) ?? ''
    }
  }

  #close(index: unknown): void {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.type === 'thinking') this.#events.closeReasoning(open.index, open)
    else if (open?.type === 'redacted')
      this.#events.closeReasoning(open.index, { redacted: true, encryptedContent: open.data })
    else if (open?.type === 'call') {
      const { call, input } = open
      if (!call.hasArguments && objectOf(input)) this.#events.argumentValue(call, input)
      else if (!call.hasArguments) this.#events.arguments(call, textOf(input) ?? '')
      this.#events.closeCall(open.call)
    }
  }

  #stop(stop: Values | null): void {
    this.#stopReason = textOf(stop?.['stop_reason']) ?? this.#stopReason
    this.#stopSequence = textOf(stop?.['stop_sequence']) ?? this.#stopSequence
  }

  /**
   * Anthropic counts uncached input, cache reads and cache writes separately; here the input is their sum. It is told at
   * the start and, by some, again at the end: in parts, or as zeros.
   */
  #usage(usage: Values | null): void {
    if (!usage) return
    for (const name of ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const)
      this.#counted[name] = countOf(usage[name]) || this.#counted[name]
    const {
      input_tokens: fresh,
      cache_creation_input_tokens: cacheWriteTokens,
      cache_read_input_tokens: cacheReadTokens,
    } = this.#counted
    const isCounted = fresh !== undefined || cacheReadTokens !== undefined || cacheWriteTokens !== undefined
    this.#events.usage({
      inputTokens: isCounted ? (fresh ?? 0) + (cacheWriteTokens ?? 0) + (cacheReadTokens ?? 0) : undefined,
      outputTokens: countOf(usage['output_tokens']),
      cacheReadTokens,
      cacheWriteTokens,
      reasoningTokens: countOf(objectOf(usage['output_tokens_details'])?.['thinking_tokens']),
    })
  }

  #end(): void {
    for (const index of this.#blocks.keys()) this.#close(index)
    const reason = finishReasons[this.#stopReason ?? ''] ?? (this.#events.hasCalls ? 'tool_calls' : 'stop')
    this.#events.end(reason, this.#stopSequence)
  }
}
