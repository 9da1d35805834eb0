/**
 * OpenAI's chat completions as other servers implement them (kind `openai-compatible`: Ollama, vLLM, LM Studio,
 * OpenRouter, DeepSeek …), tolerant of their omissions and variations.
 */
import type { AnswerEvents, AnswerReader } from './answer-events.ts'
import { chatBody } from './chat-bodies.ts'
import { ChatCalls } from './chat-calls.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import type { AskUpstream, FinishReason, UpstreamTarget, Usage } from './model.ts'
import { askOverHttp, parseJson } from './upstream-answers.ts'
import { brokenAnswer, errorIn, refusedInAnswer } from './upstream-errors.ts'
import { bearerHeaders } from './wire-formats.ts'

/** Asks an upstream that speaks chat completions. */
export const askChatCompletions: AskUpstream = (target, request, signal) =>
  askOverHttp(
    target,
    request,
    {
      path: '/chat/completions',
      headers: bearerHeaders(target),
      body: chatBody(target, request),
    },
    (to, events) => new ChatReader(to, events, new Set(request.tools.map(({ name }) => name))),
    signal,
  )

/** Providers' names of finish reasons, besides OpenAI's own; Gemini writes more behind a colon. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  max_output_tokens: 'length',
  model_context_window_exceeded: 'length',
  repetition_truncation: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  sensitive: 'content_filter',
}
/** Reasons that say that the server gave its answer up: those of OpenRouter, vLLM and sglang, Zhipu, and DeepSeek. */
const failures: Readonly<Record<string, Values>> = {
  error: {},
  abort: {},
  network_error: {},
  insufficient_system_resource: { status: 529 },
}

/** The log probabilities of tokens, unchanged; undefined if there are none. */
function tokensOf(logprobs: unknown): readonly unknown[] | undefined {
  return Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : undefined
}

/** A block of reasoning that is still open. */
type OpenBlock = { index: number; text: string; id: string; signature: string; encryptedContent: string }

class ChatReader implements AnswerReader {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  #block: OpenBlock | null = null
  readonly #calls: ChatCalls
  #finish: string | null = null
  /** The stop text, which vLLM names. */
  #stopText: string | undefined

  /** @param offered the names of the tools that were offered. */
  constructor(target: UpstreamTarget, events: AnswerEvents, offered: ReadonlySet<string>) {
    this.#target = target
    this.#events = events
    this.#calls = new ChatCalls(target, events, offered)
  }

  event(data: string): void {
    if (data === '[DONE]') {
      if (this.#finish === null && !this.#events.hasContent && !this.#calls.areAny)
        throw brokenAnswer(this.#target, 'ended without an answer')
      return this.#end()
    }
    const chunk = objectOf(parseJson(this.#target, data))
    if (!chunk) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    const choice = objectOf(listOf(chunk['choices'])[0])
    if (choice) this.#choice(choice, objectOf(choice['delta']) ?? this.#lateMessage(choice), chunk['error'])
    else if (!chunk['choices']) {
      const error = errorIn(chunk)
      if (error) throw refusedInAnswer(this.#target, error)
    }
    if (chunk['error']) throw refusedInAnswer(this.#target, chunk['error'])
    this.#usageOf(chunk, choice)
  }

  whole(body: Values): void {
    const choice = objectOf(listOf(body['choices'])[0])
    const message = objectOf(choice?.['message'])
    if (!choice || !message) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    this.#choice(choice, message, body['error'])
    this.#usageOf(body, choice)
    this.#end()
  }

  close(): void {
    if (this.#finish !== null) this.#end()
  }

  /** A stream may have a whole message in place of its pieces; beside them it only repeats them. */
  #lateMessage(choice: Values): Values | null {
    return this.#events.hasContent || this.#calls.areAny ? null : objectOf(choice['message'])
  }

  #choice(choice: Values, delta: Values | null, error: unknown): void {
    if (delta) this.#delta(delta, objectOf(choice['logprobs']))
    const finish = choice['finish_reason']
    if (typeof finish !== 'string' || finish === '') return
    const failure = failures[finish]
    if (failure) throw refusedInAnswer(this.#target, choice['error'] ?? error ?? failure)
    this.#finish = finish
    this.#stopText = textOf(choice['stop_reason']) ?? textOf(choice['matched_stop']) ?? this.#stopText
  }

  #delta(delta: Values, logprobs: Values | null): void {
    const details = listOf(delta['reasoning_details']).map(objectOf)
    // Details repeat the text, unless they only have what replays it.
    if (!details.some((detail) => textOf(detail?.['text']) || textOf(detail?.['summary']))) {
      const reasoning = textOf(delta['reasoning_content']) || textOf(delta['reasoning'])
      if (reasoning) this.#reasoning(reasoning)
    }
    for (const detail of details) this.#reasoningDetail(detail)
    const { content } = delta
    const text = typeof content === 'string' ? content : Array.isArray(content) ? this.#parts(content) : ''
    const refusal = textOf(delta['refusal']) ?? ''
    const ofText = logprobs ? tokensOf(logprobs['content']) : undefined
    const ofRefusal = logprobs ? tokensOf(logprobs['refusal']) : undefined
    if (text || refusal || ofText || ofRefusal) {
      this.#closeBlock()
      this.#events.text(text, ofText)
      this.#events.refusal(refusal, ofRefusal)
    }
    const calls = listOf(delta['tool_calls'])
    if (calls.length > 0) {
      this.#closeBlock()
      this.#calls.take(calls)
    }
  }

  /** Mistral's way: content is a list of parts, of which some are reasoning. @returns the text of the others. */
  #parts(content: readonly unknown[]): string {
    let text = ''
    for (const part of content.map(objectOf)) {
      const thinking = part?.['thinking']
      for (const thought of typeof thinking === 'string' ? [{ text: thinking }] : listOf(thinking)) {
        const piece = textOf(objectOf(thought)?.['text'])
        if (piece) this.#reasoning(piece)
      }
      text += textOf(part?.['text']) ?? ''
    }
    return text
  }

  #openBlock(): OpenBlock {
    return (this.#block ??= {
      index: this.#events.openReasoning(),
      text: '',
      id: '',
      signature: '',
      encryptedContent: '',
    })
  }

  #reasoning(text: string): void {
    const block = this.#openBlock()
    block.text += text
    this.#events.reasoning(block.index, text)
  }

  /** OpenRouter's way: a block has a text or a summary in pieces, then what replays it. */
  #reasoningDetail(detail: Values | null): void {
    if (!detail) return
    const text = textOf(detail['text']) || textOf(detail['summary'])
    if (text) this.#reasoning(text)
    const block = this.#openBlock()
    block.id ||= textOf(detail['id']) ?? ''
    block.signature += textOf(detail['signature']) ?? ''
    block.encryptedContent += detail['type'] === 'reasoning.encrypted' ? (textOf(detail['data']) ?? '') : ''
  }

  #closeBlock(): void {
    const block = this.#block
    if (!block) return
    this.#block = null
    this.#events.closeReasoning(block.index, {
      ...block,
      redacted: block.encryptedContent !== '' && block.text === '' && this.#target.reasoningReplay === 'signature',
    })
  }

  /** The usage, which Groq has under a name of its own, and Moonshot in the choice. */
  #usageOf(answer: Values, choice: Values | null): void {
    const usage =
      objectOf(answer['usage']) ?? objectOf(objectOf(answer['x_groq'])?.['usage']) ?? objectOf(choice?.['usage'])
    if (usage) this.#events.usage(usageFrom(usage, this.#target))
  }

  #end(): void {
    this.#closeBlock()
    this.#calls.close()
    const reported = this.#finish?.toLowerCase().split(':', 1)[0] ?? ''
    const reason = finishReasons[reported] ?? 'stop'
    const hasStopped = reason === 'stop' || reason === 'tool_calls' // some say the one, and mean the other
    this.#events.end(hasStopped ? (this.#events.hasCalls ? 'tool_calls' : 'stop') : reason, this.#stopText)
  }
}

/** The names of models whose provider counts reasoning beside the output without a number of its own. */
const countsBeside = /\bgemini\b/i

function usageFrom(usage: Values, { upstreamModel }: UpstreamTarget): { [Name in keyof Usage]?: number | undefined } {
  const input = objectOf(usage['prompt_tokens_details'])
  const inputTokens = countOf(usage['prompt_tokens'])
  const reported = countOf(usage['completion_tokens'])
  const thought = countOf(objectOf(usage['completion_tokens_details'])?.['reasoning_tokens'])
  const beside = countOf(Number(usage['total_tokens']) - (inputTokens ?? NaN) - (reported ?? NaN)) ?? 0
  // xAI counts thinking beside the other output and names its number, which with the total says so; Gemini names none. What else
  // a provider may have in its total is not known to be output, so it is not charged.
  const isBeside = beside > 0 && (thought === undefined ? countsBeside.test(upstreamModel) : thought === beside)
  return {
    inputTokens,
    outputTokens: reported !== undefined && isBeside ? reported + beside : reported,
    cacheReadTokens:
      countOf(input?.['cached_tokens']) ??
      countOf(usage['prompt_cache_hit_tokens']) ??
      countOf(usage['cached_tokens']) ??
      countOf(usage['cache_read_input_tokens']),
    cacheWriteTokens: countOf(input?.['cache_write_tokens']) ?? countOf(usage['cache_creation_input_tokens']),
    reasoningTokens: isBeside ? beside : thought,
  }
}
