/**
 * One step of a language model, whoever serves it: what is asked, what comes back, and how an upstream is called.
 * Requests of every route are read into these shapes, and every upstream's wire format is written from them, so that
 * a rule about messages, reasoning or tools stands once.
 */

import type { PassedValues, SelectiveParameter } from './parameters.ts'

/** How hard a model may think, least first: the values of `reasoning_effort`. */
export const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningLevel = (typeof reasoningLevels)[number]

/** What a provider wants back to go on from its own reasoning. */
export type ReasoningReplay = 'none' | 'signature' | 'encrypted_content'

/** A closed block of reasoning. It is bound to the model (Berth's name of it) that made it, and replayed to no other. */
export type ReasoningBlock = {
  id: string | null
  /** Empty when the provider shows none. */
  text: string
  model: string
  signature: string | null
  encryptedContent: string | null
  /** The provider hid the text; what it wants back stands in `encryptedContent`. */
  redacted: boolean
}

/** An image: its address, or a data URL. */
export type ImagePart = { type: 'image'; url: string; detail: 'auto' | 'low' | 'high' | null }

/** Something that a user's message holds. `url` is an https address or a data URL; `data` is base64. */
export type UserPart =
  | { type: 'text'; text: string }
  | ImagePart
  | { type: 'file'; filename: string | null; mediaType: string; data: string }
  | { type: 'audio'; format: string; data: string }

/** A tool that the model wants called. `arguments` is the model's own text: JSON, if it behaved. */
export type ToolCall = { id: string; name: string; arguments: string }

/** One message of a conversation. */
export type Message =
  | { role: 'system'; text: string }
  | { role: 'user'; parts: readonly UserPart[]; name: string | null }
  | { role: 'assistant'; reasoning: readonly ReasoningBlock[]; text: string; toolCalls: readonly ToolCall[] }
  | { role: 'tool'; toolCallId: string; text: string; isError: boolean; images?: readonly ImagePart[] }

/** A tool that the model may call; `parameters` is a JSON Schema. */
export type Tool = {
  name: string
  description: string | null
  parameters: Readonly<Record<string, unknown>>
  strict: boolean | null
}

/** What is asked of a model. Null leaves a value to the provider. */
export type ModelRequest = {
  messages: readonly Message[]
  tools: readonly Tool[]
  toolChoice: 'none' | 'auto' | 'required' | { name: string } | null
  parallelToolCalls: boolean | null
  reasoningEffort: ReasoningLevel | null
  /** Output tokens at most, reasoning included. */
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  stop: readonly string[]
  /** OpenAI's `response_format`, passed on to those who know it. */
  responseFormat: Readonly<Record<string, unknown>> | null
  seed: number | null
  /** The caller's own name for their user, passed on. */
  user: string | null
  /** Parameters of OpenAI's that are passed on as they are to upstreams that know them. */
  passed?: PassedValues
  /** What an upstream must know to be asked; absent: nothing that not all know. */
  needed?: readonly { name: SelectiveParameter; value: unknown }[]
  /** False asks the upstream for one answer instead of a stream; the events are the same. */
  stream: boolean
}

/** Tokens. `inputTokens` includes those read from and written to the cache; `outputTokens` includes reasoning. */
export type Usage = {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
}

/** Why an answer ended. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * What comes back, in order. Blocks of reasoning and tool calls are numbered from 0, each kind by itself. `end` comes
 * exactly once, last; an answer that stops without it was cut, and its iterator throws.
 */
export type ModelEvent =
  /** `refusal`: the model says that it will not. `logprobs`: of its tokens, in OpenAI's shape, where they were asked for. */
  | { type: 'text'; text: string; refusal?: true; logprobs?: readonly unknown[] }
  | { type: 'reasoning'; index: number; text: string }
  | { type: 'reasoning_end'; index: number; block: ReasoningBlock }
  | { type: 'tool'; index: number; id: string; name: string }
  | { type: 'arguments'; index: number; text: string }
  /** What the provider has told of the usage so far, before the end: kept in case the stream is cut. */
  | { type: 'usage'; usage: Partial<Usage> }
  | { type: 'end'; finishReason: FinishReason; usage: Usage }

/** A model as one upstream serves it. */
export type UpstreamTarget = {
  /** Shown to callers as `service_id`: `anthropic`, `openai`, `local`. */
  slug: string
  /** Without a slash at the end. */
  baseUrl: string
  /** The operator's; null for a server that wants none. Never shown, never logged. */
  apiKey: string | null
  /** What this upstream calls the model. */
  upstreamModel: string
  /** Berth's name of the model, to which reasoning is bound. */
  model: string
  /** What one answer may have at most, when the caller does not say; Anthropic's format needs a number. */
  maxOutputTokens: number
  reasoningReplay: ReasoningReplay
  /** How long it may take until its answer begins, and be silent within it; absent: 120 s each, and 600 s for one that comes whole. */
  firstByteSeconds?: number
  silenceSeconds?: number
}

/** The events of an answer, in the batches in which they arrived: what came together is relayed together. */
export type ModelAnswer = AsyncIterable<readonly ModelEvent[]>

/** The last event of an answer that came to its end. */
export function endOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: 'end' }> {
  const last = events.at(-1)
  if (last?.type !== 'end') throw new Error('an answer ended without its end')
  return last
}

/** An answer that is here to its end, in one batch: whoever knows it need not iterate. */
export class WholeAnswer implements ModelAnswer {
  readonly events: readonly ModelEvent[]

  /** @param events with their `end`. */
  constructor(events: readonly ModelEvent[]) {
    this.events = events
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly ModelEvent[]> {
    yield this.events
  }
}

/**
 * Asks an upstream. Resolves when it has answered with a success; ending the iteration, or the signal, ends the request.
 * @throws BerthError with `details.upstream` naming the slug: upstream_rate_limited, upstream_overloaded, upstream_error,
 * upstream_timeout (all four may be tried elsewhere), context_length_exceeded, invalid_parameter (the request's fault).
 */
export type AskUpstream = (target: UpstreamTarget, request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>

/** The wire formats that are spoken. `demo` is the built-in model, which has no wire. */
export const upstreamKinds = ['openai', 'openai-compatible', 'anthropic', 'demo'] as const
export type UpstreamKind = (typeof upstreamKinds)[number]
