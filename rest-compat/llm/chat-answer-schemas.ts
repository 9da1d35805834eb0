/** The answers of the two chat routes for OpenAPI, written by hand as their handlers are. */
import {
  anyObject,
  flag,
  list,
  nullableText,
  object,
  oneOf,
  text,
  titled,
  wholeNumber,
} from '../openapi/json-schema.ts'
import type { Json } from '../openapi/components.ts'

const tokens: Json = {
  type: ['array', 'null'],
  items: { ...anyObject, description: 'A token as OpenAI tells it: token, logprob, bytes, top_logprobs.' },
}
const tokenLogprobs: Json = {
  ...object({ content: tokens, refusal: tokens }),
  type: ['object', 'null'],
  description: 'Null unless logprobs were asked for.',
}

const usage = titled(
  'ChatUsage',
  object({
    prompt_tokens: { ...wholeNumber, description: 'Those of the cache included.' },
    completion_tokens: wholeNumber,
    total_tokens: wholeNumber,
    cache_creation_input_tokens: wholeNumber,
    cache_read_input_tokens: wholeNumber,
    prompt_tokens_details: object({ cached_tokens: wholeNumber }),
    completion_tokens_details: object({ reasoning_tokens: wholeNumber }),
  }),
)

const whole: Json = { description: 'Only with BERTH_CHAT_JOIN_STREAMS=on, for a request without stream: true.' }
const extra = {
  extra_content: {
    ...anyObject,
    description:
      'What the provider wants back with the call, such as Gemini’s thought signature. Send it back as it is.',
  },
}
const toolCall = object({ id: text, type: oneOf('function'), function: object({ name: text, arguments: text }) }, extra)
const message = object(
  { role: oneOf('assistant'), content: nullableText, refusal: nullableText },
  {
    reasoning_content: { ...text, ...whole },
    reasoning_details: { ...list(anyObject), description: 'The same as in a stream, to be sent back as it is.' },
    tool_calls: { ...list(toolCall), ...whole },
  },
)
const finished = oneOf('stop', 'length', 'tool_calls', 'content_filter')

/** The answer of a chat completion that is not streamed. */
export const chatCompletion = titled(
  'ChatCompletion',
  object({
    id: text,
    object: oneOf('chat.completion'),
    created: { ...wholeNumber, description: 'Unix seconds.' },
    model: text,
    speed: oneOf('standard', 'fast'),
    choices: list(object({ index: wholeNumber, message, logprobs: tokenLogprobs, finish_reason: finished })),
    usage,
  }),
)

const reasoningMeta = object(
  { id: nullableText, index: wholeNumber, model: text },
  { signature: text, encrypted_content: text, redacted: flag },
)
const toolCallPiece = object(
  { index: wholeNumber },
  { id: text, type: oneOf('function'), function: object({}, { name: text, arguments: text }), ...extra },
)
const delta = object(
  {},
  {
    role: oneOf('assistant'),
    content: text,
    refusal: text,
    reasoning_content: text,
    reasoning_meta: reasoningMeta,
    reasoning_details: list(anyObject),
    tool_calls: list(toolCallPiece),
  },
)
const reason: Json = { ...nullableText, enum: ['stop', 'length', 'tool_calls', 'content_filter', null] }
const chunk = titled(
  'ChatCompletionChunk',
  object(
    {
      id: text,
      object: oneOf('chat.completion.chunk'),
      created: wholeNumber,
      model: text,
      choices: list(object({ index: wholeNumber, delta, finish_reason: reason }, { logprobs: tokenLogprobs })),
    },
    { usage: { anyOf: [usage, { type: 'null' }] } },
  ),
)

/** What a streamed chat completion sends: chunks, and an error where it fails on the way; it ends with `data: [DONE]`. */
export const chatCompletionEvent: Json = { anyOf: [chunk, { $ref: '#/components/schemas/Error' }] }

const uiCall = { toolCallId: text, toolName: text }
const finishMetadata = object({ finishReason: text, usage, model: text })
/** The chunks of the UI message stream by their type: the keys that each has always, and those that it has sometimes. */
const uiChunks: Readonly<Record<string, readonly [always: Record<string, Json>, sometimes?: Record<string, Json>]>> = {
  start: [{ messageId: text }],
  'start-step': [{}],
  'reasoning-start': [{ id: text }],
  'reasoning-delta': [{ id: text, delta: text }],
  'reasoning-end': [{ id: text }, { providerMetadata: anyObject }],
  'text-start': [{ id: text }],
  'text-delta': [{ id: text, delta: text }],
  'text-end': [{ id: text }],
  'tool-input-start': [uiCall],
  'tool-input-delta': [{ toolCallId: text, inputTextDelta: text }],
  'tool-input-available': [{ ...uiCall, input: {} }],
  'tool-input-error': [{ ...uiCall, input: text, errorText: text }],
  'finish-step': [{}],
  finish: [{}, { messageMetadata: finishMetadata }],
  error: [{ errorText: text }],
}

/** One chunk of the UI message stream; the stream ends with `data: [DONE]`. */
export const uiMessageChunk = titled('UiMessageChunk', {
  oneOf: Object.entries(uiChunks).map(([type, [always, sometimes]]) =>
    object({ type: oneOf(type), ...always }, sometimes),
  ),
})

/** Headers of every answer of a chat. */
export const chatHeaders: Readonly<Record<string, string>> = {
  'x-request-id': 'The request’s id, also in errors.',
  'x-berth-upstream': 'Who answered. Of a stream that began with a heartbeat this and the next two are a comment.',
  'x-berth-attempts': 'How many times upstreams were asked, this answer included.',
  'x-berth-failed': 'What failed before: upstream and code, separated by commas. Absent when nothing did.',
  'idempotent-replayed': 'true when this is the response kept under the Idempotency-Key.',
}
