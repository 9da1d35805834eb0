/** The wire format of chat completions: the chunks of a stream, and the body of an answer that is not streamed. */
import type { ModelEvent, ReasoningBlock, Usage } from '#src/drivers/models/model.ts'
import type { ChatAnswer } from '#src/resources/llm/chats.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import type { BerthError } from '#src/platform/errors.ts'
import { llmEnvelope } from './envelope.ts'

/** How a route writes its stream: the text of each batch of events, which goes out in one piece. */
export type StreamText = {
  batch: (events: readonly ModelEvent[]) => string
  /** The error that ends it, where that depends on what was written before. */
  failure?: FailureText
}

/** How it writes the error that ends a stream, whether its answer has begun or not. */
export type FailureText = (error: BerthError, requestId: string) => string

/** What every chunk says about its stream. */
export type Answering = Pick<Completion, 'id' | 'createdSeconds' | 'model'>

/** The last line of every stream of the gateway. */
export const done = 'data: [DONE]\n\n'

/**
 * Writes chunks. This is a hot path: the part that all chunks share is serialized once, and only the delta for each
 * chunk.
 */
export function chunkText({ id, createdSeconds, model }: Answering, includeUsage: boolean): StreamText {
  const head = `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${createdSeconds},"model":${JSON.stringify(model.id)},"choices":[`
  const before = `${head}{"index":0,"delta":`
  const noUsage = includeUsage ? ',"usage":null' : ''
  const after = `,"finish_reason":null,"logprobs":null}]${noUsage}}\n\n`
  const rareEnd = `]${noUsage}}\n\n`
  let hasBegun = false
  // As at OpenAI, so that a message that only calls has the same content as one that is not streamed.
  const opening = (first: ModelEvent | undefined): string =>
    `${before}{"role":"assistant","content":${first?.type === 'tool' ? 'null' : '""'}}${after}`
  const ending = (reason: string, usage: Usage): string => {
    const counted = includeUsage ? `${head}],"usage":${JSON.stringify(usageBody(usage))}}\n\n` : ''
    return `${before}{},"finish_reason":"${reason}","logprobs":null}]${noUsage}}\n\n${counted}${done}`
  }
  return {
    batch(events) {
      let text = hasBegun ? '' : opening(events.find(({ type }) => type !== 'usage'))
      hasBegun = true
      for (const event of events) {
        switch (event.type) {
          case 'text':
            text +=
              event.refusal || event.logprobs
                ? before + rareText(event) + rareEnd
                : `${before}{"content":${JSON.stringify(event.text)}}${after}`
            break
          case 'reasoning':
            text += `${before}{"reasoning_content":${JSON.stringify(event.text)}}${after}`
            break
          case 'reasoning_end':
            text += before + JSON.stringify(closedReasoning(event.index, event.block)) + after
            break
          case 'tool':
            text += `${before}{"tool_calls":[{"index":${event.index},"id":${JSON.stringify(event.id)},"type":"function","function":{"name":${JSON.stringify(event.name)},"arguments":""}${event.extra ? `,"extra_content":${JSON.stringify(event.extra)}` : ''}}]}${after}`
            break
          case 'arguments':
            text += `${before}{"tool_calls":[{"index":${event.index},"function":{"arguments":${JSON.stringify(event.text)}}}]}${after}`
            break
          case 'extra':
            text += `${before}{"tool_calls":[{"index":${event.index},"extra_content":${JSON.stringify(event.extra)}}]}${after}`
            break
          case 'end':
            text += ending(event.finishReason, event.usage)
            break
          case 'usage': // reported at the end
        }
      }
      return text
    },
  }
}

/** The rest of a chunk, from its delta on, for a piece of a refusal or a piece with log probabilities. */
function rareText({ text, refusal, logprobs }: Extract<ModelEvent, { type: 'text' }>): string {
  const delta = JSON.stringify(refusal ? { refusal: text } : { content: text })
  return `${delta},"finish_reason":null,"logprobs":${JSON.stringify(logprobs ? { content: refusal ? null : logprobs, refusal: refusal ? logprobs : null } : null)}}`
}

function orNull(tokens: readonly unknown[]): readonly unknown[] | null {
  return tokens.length > 0 ? tokens : null
}

/** The error chunk that OpenAI's clients read, and throw. */
export const chunkFailure: FailureText = (error, requestId) =>
  `data: ${JSON.stringify(llmEnvelope(error, requestId))}\n\n${done}`

/**
 * What clients need to replay a block of reasoning, sent once when it is finished; and the same in OpenRouter's form.
 */
function closedReasoning(index: number, block: ReasoningBlock): Record<string, unknown> {
  const { id, model, signature, encryptedContent, redacted } = block
  const replay =
    signature !== null ? { signature } : encryptedContent !== null ? { encrypted_content: encryptedContent } : {}
  return {
    reasoning_meta: { id, index, model, ...replay, ...(redacted ? { redacted } : {}) },
    reasoning_details: reasoningDetails(index, block),
  }
}

/** A finished block of reasoning in OpenRouter's form, which clients send back as it is. */
export function reasoningDetails(
  index: number,
  { id, text, model, signature, encryptedContent, redacted }: ReasoningBlock,
): Record<string, unknown>[] {
  const shared = { id, index, model }
  const details: Record<string, unknown>[] = []
  if (encryptedContent === null || signature !== null)
    details.push({ type: 'reasoning.text', text, ...(signature === null ? {} : { signature }), ...shared })
  else {
    if (text !== '') details.push({ type: 'reasoning.summary', summary: text, ...shared })
    const hidden = redacted ? { redacted } : {}
    details.push({ type: 'reasoning.encrypted', data: encryptedContent, ...shared, ...hidden })
  }
  return details
}

/** The usage under the documented names; `prompt_tokens` includes cached tokens. */
export function usageBody({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens,
}: Usage): Record<string, unknown> {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

/** The whole answer as one body. It has no reasoning and no tool calls, which exist in streams, and where one is joined. */
export function completionBody(
  answering: Answering,
  { finishReason, ...answer }: Omit<ChatAnswer, 'completion'>,
): Record<string, unknown> {
  const { text, refusal } = answer
  const message = {
    role: 'assistant',
    content: text === '' && refusal !== '' ? null : text,
    refusal: refusal === '' ? null : refusal,
  }
  return bodyOf(answering, message, { ...answer, finishReason: finishReason === 'tool_calls' ? 'stop' : finishReason })
}

/** The body of an answer that has this message. */
export function bodyOf(
  { id, createdSeconds, model }: Answering,
  message: Readonly<Record<string, unknown>>,
  { logprobs, finishReason, usage }: Pick<ChatAnswer, 'logprobs' | 'finishReason' | 'usage'>,
): Record<string, unknown> {
  return {
    id,
    object: 'chat.completion',
    created: createdSeconds,
    model: model.id,
    speed: model.speed,
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobs && { content: orNull(logprobs.content), refusal: orNull(logprobs.refusal) },
        finish_reason: finishReason,
      },
    ],
    usage: usageBody(usage),
  }
}
