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
  | { type: 'call'; call: OpenCall }

const blocksMax = 1_024

class MessagesReader implements AnswerReader {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  /** Open blocks by the provider's index. */
  readonly #blocks = new Map<unknown, OpenBlock>()
  #id: string | undefined
  #stopReason: string | null = null
  #stopSequence: string | undefined

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    const event = objectOf(parseJson(this.#target, data))
    if (!event) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    switch (event['type']) {
      case 'content_block_delta':
        return this.#delta(this.#blocks.get(event['index']), objectOf(event['delta']) ?? {})
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
    if (message['content'].length > blocksMax) throw brokenAnswer(this.#target, `sent more than ${blocksMax} blocks`)
    for (const [index, content] of listOf(message['content']).entries()) {
      const block = objectOf(content) ?? {}
      this.#open(index, block)
      const open = this.#blocks.get(index)
      if (open?.type === 'call') this.#events.argumentValue(open.call, block['input'] ?? {})
      this.#close(index)
    }
    this.#stop(message)
    this.#usage(objectOf(message['usage']))
    this.#end()
  }

  close(): void {
    if (this.#stopReason !== null) this.#end()
  }

  /** Some proxies repeat the start of a message; the start of another one is the beginning of somebody else's answer. */
  #start(message: Values | null): void {
    const id = textOf(message?.['id'])
    if (id !== undefined && id !== (this.#id ??= id))
      throw brokenAnswer(this.#target, 'began another message inside its answer')
    this.#usage(objectOf(message?.['usage']))
  }

  #open(index: unknown, block: Values): void {
    if (this.#blocks.size >= blocksMax) throw brokenAnswer(this.#target, `opened more than ${blocksMax} blocks`)
    switch (block['type']) {
      case 'text':
        this.#blocks.set(index, { type: 'text' })
        return this.#events.text(textOf(block['text']) ?? '')
      case 'thinking': {
        const open: OpenBlock = {
          type: 'thinking',
          index: this.#events.openReasoning(),
          text: '',
          signature: textOf(block['signature']) ?? '',
        }
        this.#blocks.set(index, open)
        return this.#delta(open, block)
      }
      case 'redacted_thinking':
        return void this.#blocks.set(index, {
          type: 'redacted',
          index: this.#events.openReasoning(),
          data: textOf(block['data']) ?? '',
        })
      case 'tool_use':
        return void this.#blocks.set(index, {
          type: 'call',
          call: this.#events.openCall(textOf(block['id']), textOf(block['name']) ?? ''),
        })
      // Blocks of server-side tools are ignored: they are never requested.
    }
  }

  #delta(open: OpenBlock | undefined, delta: Values): void {
    if (open?.type === 'text') this.#events.text(textOf(delta['text']) ?? '')
    else if (open?.type === 'call') this.#events.arguments(open.call, textOf(delta['partial_json']) ?? '')
    else if (open?.type === 'thinking') {
      const text = textOf(delta['thinking']) ?? ''
      open.text += text
      this.#events.reasoning(open.index, text)
      if (delta['type'] === 'signature_delta') open.signature += textOf(delta['signature']) ?? ''
    }
  }

  #close(index: unknown): void {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.type === 'thinking') this.#events.closeReasoning(open.index, open)
    else if (open?.type === 'redacted')
      this.#events.closeReasoning(open.index, { redacted: true, encryptedContent: open.data })
    else if (open?.type === 'call') this.#events.closeCall(open.call)
  }

  #stop(stop: Values | null): void {
    this.#stopReason = textOf(stop?.['stop_reason']) ?? this.#stopReason
    this.#stopSequence = textOf(stop?.['stop_sequence']) ?? this.#stopSequence
  }

  /** Anthropic counts uncached input, cache reads and cache writes separately; here the input is their sum. */
  #usage(usage: Values | null): void {
    if (!usage) return
    const fresh = countOf(usage['input_tokens'])
    const cacheWriteTokens = countOf(usage['cache_creation_input_tokens'])
    const cacheReadTokens = countOf(usage['cache_read_input_tokens'])
    this.#events.usage({
      inputTokens: fresh === undefined ? undefined : fresh + (cacheWriteTokens ?? 0) + (cacheReadTokens ?? 0),
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
