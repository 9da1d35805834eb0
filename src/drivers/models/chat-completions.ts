/**
 * OpenAI's chat completions as other servers implement them (kind `openai-compatible`: Ollama, vLLM, LM Studio,
 * OpenRouter, DeepSeek …), tolerant of their omissions and variations.
 */
import type { AnswerEvents, AnswerReader, OpenCall } from './answer-events.ts'
import { chatBody } from './chat-bodies.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import type { AskUpstream, FinishReason, UpstreamTarget } from './model.ts'
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
    (to, events) => new ChatReader(to, events),
    signal,
  )

/** Providers' names of finish reasons, besides OpenAI's own. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  refusal: 'content_filter',
}

/** The log probabilities of tokens, unchanged; undefined if there are none. */
function tokensOf(logprobs: unknown): readonly unknown[] | undefined {
  return Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : undefined
}

/** A block of reasoning that is still open. */
type OpenBlock = { index: number; text: string; id: string; signature: string; encryptedContent: string }

const callsMax = 256

class ChatReader implements AnswerReader {
  readonly #target: UpstreamTarget
  readonly #events: AnswerEvents
  #block: OpenBlock | null = null
  /** Calls by the provider's index; `current` is the last one. */
  readonly #calls = new Map<number, OpenCall>()
  #current = -1
  #finish: string | null = null
  /** The stop text, which vLLM names. */
  #stopText: string | undefined

  constructor(target: UpstreamTarget, events: AnswerEvents) {
    this.#target = target
    this.#events = events
  }

  event(data: string): void {
    if (data === '[DONE]') {
      if (this.#finish === null && !this.#events.hasContent && this.#calls.size === 0)
        throw brokenAnswer(this.#target, 'ended without an answer')
      return this.#end()
    }
    const chunk = objectOf(parseJson(this.#target, data))
    if (!chunk) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    const choice = objectOf(listOf(chunk['choices'])[0])
    if (choice) this.#choice(choice, objectOf(choice['delta']))
    else if (!chunk['choices']) {
      const error = errorIn(chunk)
      if (error) throw refusedInAnswer(this.#target, error)
    }
    if (chunk['error']) throw refusedInAnswer(this.#target, chunk['error'])
    const usage = objectOf(chunk['usage'])
    if (usage) this.#usage(usage)
  }

  whole(body: Values): void {
    const choice = objectOf(listOf(body['choices'])[0])
    const message = objectOf(choice?.['message'])
    if (!choice || !message) throw brokenAnswer(this.#target, 'sent something that is not an answer')
    this.#choice(choice, message)
    const usage = objectOf(body['usage'])
    if (usage) this.#usage(usage)
    this.#end()
  }

  close(): void {
    if (this.#finish !== null) this.#end()
  }

  #choice(choice: Values, delta: Values | null): void {
    if (delta) this.#delta(delta, objectOf(choice['logprobs']))
    const finish = choice['finish_reason']
    if (typeof finish !== 'string' || finish === '') return
    if (finish === 'error') throw refusedInAnswer(this.#target, choice['error'])
    this.#finish = finish
    this.#stopText = textOf(choice['stop_reason'])
  }

  #delta(delta: Values, logprobs: Values | null): void {
    const details = listOf(delta['reasoning_details'])
    if (details.length > 0) for (const detail of details) this.#reasoningDetail(objectOf(detail))
    else {
      const reasoning = textOf(delta['reasoning_content']) || textOf(delta['reasoning'])
      if (reasoning) this.#reasoning(reasoning)
    }
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
    const calls = delta['tool_calls']
    if (Array.isArray(calls))
      for (const [position, call] of listOf(calls).entries()) this.#call(objectOf(call), position)
  }

  /** Mistral's way: content is a list of parts, of which some are reasoning. @returns the text of the others. */
  #parts(content: readonly unknown[]): string {
    let text = ''
    for (const part of content.map(objectOf)) {
      for (const thought of listOf(part?.['thinking'])) {
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

  #call(call: Values | null, position: number): void {
    if (!call) return
    this.#closeBlock()
    const called = objectOf(call['function']) ?? {}
    const id = textOf(call['id'])
    const name = textOf(called['name']) ?? ''
    const index = this.#indexOf(call, id, name, position)
    let open = this.#calls.get(index)
    if (!open) {
      if (this.#calls.size >= callsMax) throw brokenAnswer(this.#target, `called more than ${callsMax} tools`)
      const last = this.#calls.get(this.#current)
      if (last) this.#events.tellCall(last)
      this.#calls.set(index, (open = this.#events.openCall(id, name)))
    } else if (open.number === null && name !== open.name) open.name += name
    this.#current = index
    const given = called['arguments']
    const value = objectOf(given)
    if (value) this.#events.argumentValue(open, value)
    else this.#events.arguments(open, textOf(given) ?? '')
  }

  /** If a call has no index, a new id or name starts a new call, and anything else continues the last one. */
  #indexOf(call: Values, id: string | undefined, name: string, position: number): number {
    const index = countOf(call['index'])
    if (index !== undefined) return index
    const current = this.#calls.get(this.#current)
    const isNew = !current || position > 0 || (id ? id !== current.id : name !== '' && current.hasArguments)
    return isNew ? this.#calls.size : this.#current
  }

  #usage(usage: Values): void {
    const input = objectOf(usage['prompt_tokens_details'])
    const inputTokens = countOf(usage['prompt_tokens'])
    const reasoningTokens = countOf(objectOf(usage['completion_tokens_details'])?.['reasoning_tokens'])
    this.#events.usage({
      inputTokens,
      outputTokens: outputTokens(usage, inputTokens, reasoningTokens),
      cacheReadTokens: countOf(input?.['cached_tokens']) ?? countOf(usage['prompt_cache_hit_tokens']),
      cacheWriteTokens: countOf(input?.['cache_write_tokens']),
      reasoningTokens,
    })
  }

  #end(): void {
    this.#closeBlock()
    for (const call of this.#calls.values()) this.#events.closeCall(call)
    const reason = finishReasons[this.#finish?.toLowerCase() ?? ''] ?? 'stop'
    this.#events.end(reason === 'stop' && this.#events.hasCalls ? 'tool_calls' : reason, this.#stopText)
  }
}

/** xAI counts reasoning beside the other output and not within it, which only its total says. */
function outputTokens(
  usage: Values,
  inputTokens: number | undefined,
  reasoningTokens: number | undefined,
): number | undefined {
  const said = countOf(usage['completion_tokens'])
  if (said === undefined || inputTokens === undefined || reasoningTokens === undefined) return said
  const all = said + reasoningTokens
  return usage['total_tokens'] === inputTokens + all ? all : said
}
