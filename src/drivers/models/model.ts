/**
 * Berth's own form of model requests and answers, and the interface of upstreams. Requests of every route are parsed
 * into these types, and every upstream's wire format is made from them, so that each rule about messages, reasoning or
 * tools exists once.
 */

import type { PassedValues, SelectiveParameter } from './parameters.ts'

/** How hard a model thinks, least first: the values of `reasoning_effort`. */
export const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningLevel = (typeof reasoningLevels)[number]

/** How much of its reasoning a model may be asked to tell. */
export const reasoningSummaries = ['auto', 'concise', 'detailed'] as const

/** What a provider needs back to continue from its own reasoning. */
export type ReasoningReplay = 'none' | 'signature' | 'encrypted_content'

/**
 * A finished block of reasoning. It is bound to the model (by Berth's name) that produced it, and replayed to no other.
 */
export type ReasoningBlock = {
  id: string | null
  /** Empty when the provider shows none. */
  text: string
  model: string
  signature: string | null
  encryptedContent: string | null
  /** The provider hid the text; what it needs back is in `encryptedContent`. */
  redacted: boolean
}

/** How closely a model may be asked to look at an image, for upstreams that can be told. */
export const imageDetails = ['auto', 'low', 'high', 'original'] as const

/** An image: its URL, or a data URL. */
export type ImagePart = { type: 'image'; url: string; detail: (typeof imageDetails)[number] | null }

/** A file, such as a PDF; `data` is base64. */
export type FilePart = { type: 'file'; filename: string | null; mediaType: string; data: string }

/** A part of a user's message. `url` is an https URL or a data URL; `data` is base64. */
export type UserPart =
  | { type: 'text'; text: string }
  | ImagePart
  | FilePart
  | { type: 'audio'; format: string; data: string }

/**
 * What a provider attached to a call and wants back with it: `extra_content` of servers that speak chat completions, such as
 * Gemini's `{"google": {"thought_signature": "…"}}`. It is sent back as it came, to such servers only.
 */
export type CallExtra = Readonly<Record<string, unknown>>

/** A tool call by the model. `arguments` is the text that the model wrote; usually valid JSON. */
export type ToolCall = { id: string; name: string; arguments: string; extra?: CallExtra }

/** The result of a tool call: its text, and what it shows besides. */
export type ToolMessage = {
  role: 'tool'
  toolCallId: string
  text: string
  isError: boolean
  images?: readonly ImagePart[]
  files?: readonly FilePart[]
}

/** What a result shows besides its text. */
export function shownBy({ images = [], files = [] }: ToolMessage): readonly (ImagePart | FilePart)[] {
  return [...images, ...files]
}

/** A result's text for formats that have no field for a failure: it begins with the word, unless it does already. */
export function resultText({ text, isError }: ToolMessage): string {
  if (!isError || /^\s*error\b/i.test(text)) return text
  return text === '' ? 'Error' : `Error: ${text}`
}

/** One message of a conversation. */
export type Message =
  | { role: 'system'; text: string }
  | { role: 'user'; parts: readonly UserPart[]; name: string | null }
  | { role: 'assistant'; reasoning: readonly ReasoningBlock[]; text: string; toolCalls: readonly ToolCall[] }
  | ToolMessage

/** A tool that the model may call; `parameters` is a JSON Schema. */
export type Tool = {
  name: string
  description: string | null
  parameters: Readonly<Record<string, unknown>>
  strict: boolean | null
}

/** What an embedding is made of: a text, or the tokens of one, as numbers that only their model knows. */
export type EmbeddingInput = string | readonly number[]

/** A request in the words of its caller, for upstreams whose format it is already in. */
export type NativeRequest = {
  kind: UpstreamKind
  /** The caller's body, which each upstream sends on with its own name of the model. */
  body: Readonly<Record<string, unknown>>
  /** The first field that no other format can express, so that only upstreams of this kind are asked; null: any will do. */
  only: string | null
}

/** A request to a model. Null leaves a value to the provider. */
export type ModelRequest = {
  messages: readonly Message[]
  tools: readonly Tool[]
  toolChoice: 'none' | 'auto' | 'required' | { name: string } | null
  parallelToolCalls: boolean | null
  reasoningEffort: ReasoningLevel | null
  /** How much of its reasoning the model is to tell, for upstreams that can be told; absent: as they see fit. */
  reasoningSummary?: (typeof reasoningSummaries)[number]
  /** The maximum number of output tokens, including reasoning. */
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  stop: readonly string[]
  /** OpenAI's `response_format`, passed on to upstreams that support it. */
  responseFormat: Readonly<Record<string, unknown>> | null
  seed: number | null
  /** The caller's own name for their user, passed on. */
  user: string | null
  /** OpenAI parameters that are passed on unchanged to upstreams that support them. */
  passed?: PassedValues
  /** What an upstream must support to be used; absent: nothing special. */
  needed?: readonly { name: SelectiveParameter; value: unknown }[]
  /** The same request as its caller wrote it; absent: its format is not an upstream's. */
  native?: NativeRequest
  /** False requests one answer instead of a stream from the upstream; the events are the same. */
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
 * exactly once, last; an answer that stops without it was cut off, and its iterator throws.
 */
export type ModelEvent =
  /**
   * `refusal`: the text is a refusal. `logprobs`: the log probabilities of its tokens, in OpenAI's form, if requested.
   */
  | { type: 'text'; text: string; refusal?: true; logprobs?: readonly unknown[] }
  | { type: 'reasoning'; index: number; text: string }
  | { type: 'reasoning_end'; index: number; block: ReasoningBlock }
  | { type: 'tool'; index: number; id: string; name: string; extra?: CallExtra }
  | { type: 'arguments'; index: number; text: string }
  /** What the provider attaches to a call that is told already. */
  | { type: 'extra'; index: number; extra: CallExtra }
  /** The usage that the provider has reported before the end, in case the stream is cut off. */
  | { type: 'usage'; usage: Partial<Usage> }
  /** `stopSequence`: the stop text that ended it, if the provider names it. */
  | { type: 'end'; finishReason: FinishReason; usage: Usage; stopSequence?: string }

/** A model as one upstream serves it. */
export type UpstreamTarget = {
  /** Shown to callers as `service_id`: `anthropic`, `openai`, `local`. */
  slug: string
  /** Without a slash at the end. */
  baseUrl: string
  /** The operator's API key; null for a server without one. Never shown, never logged. */
  apiKey: string | null
  /** The upstream's name of the model. */
  upstreamModel: string
  /** Berth's name of the model, to which reasoning is bound. */
  model: string
  /** The maximum length of an answer when the caller sets none; Anthropic's format requires a number. */
  maxOutputTokens: number
  reasoningReplay: ReasoningReplay
  /**
   * The time limits for the start of an answer, and for silence within it; absent: 120 s each, and 600 s for an answer
   * that is not streamed.
   */
  firstByteSeconds?: number
  silenceSeconds?: number
}

/** The events of an answer, in the batches in which they arrived: what arrived together is relayed together. */
export type ModelAnswer = AsyncIterable<readonly ModelEvent[]>

/** The last event of a complete answer. */
export function endOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: 'end' }> {
  const last = events.at(-1)
  if (last?.type !== 'end') throw new Error('an answer ended without its end')
  return last
}

/** A complete answer in one batch, which can be used without iterating. */
export class WholeAnswer implements ModelAnswer {
  readonly events: readonly ModelEvent[]

  /** @param events all events, including `end`. */
  constructor(events: readonly ModelEvent[]) {
    this.events = events
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly ModelEvent[]> {
    yield this.events
  }
}

/**
 * Sends a request to an upstream. Resolves when it has answered with a success; ending the iteration, or the signal,
 * ends the request.
 * @throws BerthError with `details.upstream` naming the slug: upstream_rate_limited, upstream_overloaded,
 * upstream_error, upstream_timeout (after these four another upstream may be tried), context_length_exceeded,
 * invalid_parameter (the request's fault).
 */
export type AskUpstream = (target: UpstreamTarget, request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>

/** The supported wire formats. `demo` is the built-in model, which has none. */
export const upstreamKinds = ['openai', 'openai-compatible', 'anthropic', 'demo'] as const
export type UpstreamKind = (typeof upstreamKinds)[number]
