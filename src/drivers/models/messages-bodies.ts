/** A request in the format of Anthropic's messages. */
import { jsonOf, objectOf } from './json-values.ts'
import {
  shownBy,
  type Message,
  type ModelRequest,
  type ReasoningBlock,
  type ReasoningLevel,
  type Tool,
  type ToolCall,
  type UpstreamTarget,
  type UserPart,
} from './model.ts'
import { valuesFor } from './known-parameters.ts'
import { upstreamError } from './upstream-errors.ts'
import { cannotListen } from './wire-formats.ts'

type Block = Record<string, unknown>
type Turn = { role: 'user' | 'assistant'; content: Block[] }

/** Tokens that a model may think for, by level. Anthropic accepts no fewer than 1,024. */
export const thinkingTokens: Readonly<Record<Exclude<ReasoningLevel, 'none'>, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 24_576,
  xhigh: 32_768,
  max: 63_000,
}
const thinkingTokensMin = 1_024
/** The tokens left for the answer itself when the thinking budget is reduced to fit. */
const answerTokensMin = 1_024
/** With thinking, Anthropic accepts no smaller value. */
const topPMinThinking = 0.95

/**
 * The body of the request; what is undefined is not sent.
 * @throws BerthError invalid_parameter for what this format does not support.
 */
export function messagesBody(target: UpstreamTarget, request: ModelRequest): object {
  if (request.native?.kind === 'anthropic') return { ...request.native.body, model: target.upstreamModel }
  const thinking = thinkingBudget(target, request)
  const { temperature, topP } = request
  if (thinking !== null) refuseSampling(target, request)
  return {
    model: target.upstreamModel,
    max_tokens: maxTokens(target, request, thinking),
    system: systemBlocks(request),
    messages: turnsOf(target, request.messages),
    stream: request.stream,
    thinking: thinking === null ? undefined : { type: 'enabled', budget_tokens: thinking },
    tools: request.tools.length > 0 ? request.tools.map(toolOf) : undefined,
    tool_choice: request.tools.length > 0 ? toolChoice(request) : undefined,
    stop_sequences: request.stop.length > 0 ? request.stop : undefined,
    // Newer models refuse both together, also where the one has no effect.
    temperature: temperature === null || (temperature === 1 && topP !== null && topP !== 1) ? undefined : temperature,
    top_p: topP === null || (topP === 1 && temperature !== null) ? undefined : topP,
    output_config: outputConfig(request.responseFormat),
    ...passedOn(request),
  }
}

/** The caller's user, by either parameter; and the service tier, whose default has another name here. */
function passedOn({ user, passed }: ModelRequest): Block {
  const { metadata, safety_identifier: identifier, service_tier: tier } = valuesFor('anthropic', passed) ?? {}
  const named = (metadata as { user_id?: unknown } | undefined)?.user_id ?? user ?? identifier // valuesFor returns no other keys
  return {
    ...(named === undefined ? {} : { metadata: { user_id: named } }),
    ...(tier === undefined ? {} : { service_tier: tier === 'default' ? 'standard_only' : tier }),
  }
}

/** @throws BerthError invalid_parameter for what Anthropic does not take while a model thinks. */
function refuseSampling(target: UpstreamTarget, { temperature, topP }: ModelRequest): void {
  const name = (temperature ?? 1) !== 1 ? 'temperature' : (topP ?? 1) < topPMinThinking ? 'top_p' : null
  if (name !== null)
    throw upstreamError(
      target,
      'invalid_parameter',
      `${name} must be ${name === 'top_p' ? `${topPMinThinking} or more` : '1'} while the model thinks at the upstream ${target.slug}. Leave it out, or send reasoning_effort: none.`,
    )
}

/**
 * The thinking budget is reduced to fit the caller's limit.
 * @throws BerthError invalid_parameter if the least does not fit.
 */
function thinkingBudget(target: UpstreamTarget, { reasoningEffort, maxTokens: most }: ModelRequest): number | null {
  if (reasoningEffort === null || reasoningEffort === 'none') return null
  if (most !== null && most <= thinkingTokensMin)
    throw upstreamError(
      target,
      'invalid_parameter',
      `max_tokens must be more than ${thinkingTokensMin} for the model to think at the upstream ${target.slug}. Raise it, or send reasoning_effort: none.`,
    )
  const room = (most ?? target.maxOutputTokens) - answerTokensMin
  return Math.max(thinkingTokensMin, Math.min(thinkingTokens[reasoningEffort], room))
}

function maxTokens(target: UpstreamTarget, { maxTokens: most }: ModelRequest, thinking: number | null): number {
  const outputTokens = most ?? target.maxOutputTokens
  return thinking === null || outputTokens > thinking ? outputTokens : thinking + outputTokens
}

/** This format has no equivalent of `json_object`, so the model is instructed. */
const jsonOnly = 'Answer with one JSON object and nothing else: no code fence, and no words around it.'

/** A conversation with tools is sent again as it grows, so its fixed beginning (tools, system prompt) is cached. */
function systemBlocks({ messages, tools, responseFormat }: ModelRequest): Block[] | undefined {
  const blocks: Block[] = messages.flatMap((message) =>
    message.role === 'system' && message.text !== '' ? [{ type: 'text', text: message.text }] : [],
  )
  if (responseFormat && !outputConfig(responseFormat)) blocks.push({ type: 'text', text: jsonOnly })
  const last = blocks.at(-1)
  if (last && tools.length > 0) last['cache_control'] = { type: 'ephemeral' }
  return last ? blocks : undefined
}

/**
 * Alternating turns: neighbours of the same role are merged, and tool results belong to the user. Anthropic refuses blanks
 * at the end of an answer that the model is to continue, so they are left out.
 * @throws BerthError invalid_messages without any.
 */
function turnsOf(target: UpstreamTarget, messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = contentOf(target, message)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  trimEnd(turns)
  if (turns.length === 0)
    throw upstreamError(
      target,
      'invalid_messages',
      `The upstream ${target.slug} needs a message besides those of the role system. Send one of the user that is not empty.`,
    )
  return turns
}

function trimEnd(turns: Turn[]): void {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return
  for (let block = last.content.at(-1); typeof block?.['text'] === 'string'; block = last.content.at(-1)) {
    block['text'] = block['text'].trimEnd()
    if (block['text'] !== '') return
    last.content.pop()
  }
  if (last.content.length === 0) turns.pop()
}

function contentOf(target: UpstreamTarget, message: Exclude<Message, { role: 'system' }>): Block[] {
  switch (message.role) {
    case 'user':
      return message.parts.flatMap((part) => partOf(target, part))
    case 'tool': {
      const shown = shownBy(message)
      return [
        {
          type: 'tool_result',
          tool_use_id: toolId(message.toolCallId),
          content:
            shown.length > 0
              ? [...textOf(message.text), ...shown.flatMap((part) => partOf(target, part))]
              : message.text,
          ...(message.isError && { is_error: true }),
        },
      ]
    }
    case 'assistant':
      return [
        ...message.reasoning.filter(({ model }) => model === target.model).flatMap(thinkingOf),
        ...textOf(message.text),
        ...message.toolCalls.map((call) => ({
          type: 'tool_use',
          id: toolId(call.id),
          name: call.name,
          input: inputOf(call),
        })),
      ]
  }
}

/** The thinking block as it was signed; one that is neither signed nor redacted cannot be replayed. */
function thinkingOf({ redacted, text, signature, encryptedContent }: ReasoningBlock): Block[] {
  if (redacted && encryptedContent !== null) return [{ type: 'redacted_thinking', data: encryptedContent }]
  return signature === null ? [] : [{ type: 'thinking', thinking: text, signature }]
}

/** Anthropic refuses empty text blocks. */
function textOf(text: string): Block[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function partOf(target: UpstreamTarget, part: UserPart): Block[] {
  switch (part.type) {
    case 'text':
      return textOf(part.text)
    case 'image': {
      const [, mediaType, data] = /^data:([^;,]+);base64,([^]*)$/.exec(part.url) ?? []
      return [
        {
          type: 'image',
          source: data === undefined ? { type: 'url', url: part.url } : { type: 'base64', media_type: mediaType, data },
        },
      ]
    }
    case 'file':
      return [
        {
          type: 'document',
          source: documentSource(target, part),
          ...(part.filename !== null && { title: part.filename }),
        },
      ]
    case 'audio':
      throw cannotListen(target)
  }
}

function documentSource(target: UpstreamTarget, { mediaType, data }: Extract<UserPart, { type: 'file' }>): Block {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data }
  if (mediaType.startsWith('text/'))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') }
  throw upstreamError(
    target,
    'invalid_parameter',
    `The upstream ${target.slug} reads PDF and text files only. Send one of these, or send an image as an image.`,
  )
}

/** Anthropic's ids have letters, digits, `_` and `-`; a conversation with another model may have brought others. */
function toolId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

/**
 * The model's arguments as an object. Text that is not an object is wrapped in one, so that the model sees its mistake.
 */
function inputOf({ arguments: text }: ToolCall): unknown {
  return objectOf(jsonOf(text || '{}')) ?? { invalid_arguments: text }
}

function toolOf({ name, description, parameters, strict }: Tool): Block {
  const input = { type: 'object', ...parameters }
  return { name, ...(description !== null && { description }), input_schema: input, ...(strict && { strict }) }
}

function toolChoice({ toolChoice: choice, parallelToolCalls }: ModelRequest): Block | undefined {
  const alone = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (choice === 'none') return { type: 'none' }
  if (choice === 'required') return { type: 'any', ...alone }
  if (choice !== null && choice !== 'auto') return { type: 'tool', name: choice.name, ...alone }
  return choice === 'auto' || parallelToolCalls === false ? { type: 'auto', ...alone } : undefined
}

/** Only a schema can be requested; for JSON without one see systemBlocks. */
function outputConfig(responseFormat: ModelRequest['responseFormat']): Block | undefined {
  const jsonSchema = responseFormat?.['json_schema'] as { schema?: unknown } | undefined // in OpenAI's form; what is absent stays undefined
  return responseFormat?.['type'] === 'json_schema' && jsonSchema?.schema
    ? { format: { type: 'json_schema', schema: jsonSchema.schema } }
    : undefined
}
