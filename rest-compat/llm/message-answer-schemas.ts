/** The answers of `POST /v1/messages` and its count for OpenAPI, written by hand as their handlers are. */
import { anyObject, list, nullableText, object, oneOf, text, titled, wholeNumber } from '../openapi/json-schema.ts'
import type { Json } from '../openapi/components.ts'
import { chatHeaders } from './chat-answer-schemas.ts'

const nothing: Json = { type: 'null' }

const counts = {
  input_tokens: { ...wholeNumber, description: 'Without those that were read from the cache or written to it.' },
  cache_creation_input_tokens: wholeNumber,
  cache_read_input_tokens: wholeNumber,
  output_tokens: wholeNumber,
  output_tokens_details: object({ thinking_tokens: wholeNumber }),
  server_tool_use: nothing,
  iterations: nothing,
  fallback_credit: nothing,
}
const usage = titled(
  'MessageUsage',
  object({
    ...counts,
    cache_creation: object({ ephemeral_5m_input_tokens: wholeNumber, ephemeral_1h_input_tokens: wholeNumber }),
    service_tier: nothing,
    inference_geo: nothing,
    speed: oneOf('standard', 'fast'),
  }),
)

const block = titled('MessageBlock', {
  oneOf: [
    object({ type: oneOf('text'), text, citations: { ...list(anyObject), description: 'Always empty.' } }),
    object({
      type: oneOf('thinking'),
      thinking: text,
      signature: { ...text, description: 'Send the block back unchanged; empty where the model does not need it.' },
    }),
    object({ type: oneOf('redacted_thinking'), data: text }),
    object(
      {
        type: oneOf('tool_use'),
        id: text,
        name: text,
        input: { ...anyObject, description: '{"invalid_arguments": "…"} where the model wrote no JSON object.' },
        caller: object({ type: oneOf('direct') }),
      },
      {
        extra_content: { ...anyObject, description: 'What a provider other than Anthropic wants back with the call.' },
      },
    ),
  ],
})
const stop = {
  stop_reason: {
    ...nullableText,
    enum: ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal', null],
  },
  stop_sequence: { ...nullableText, description: 'Null also where the upstream does not say which one it was.' },
  stop_details: nothing,
}

/** The answer of `POST /v1/messages` that is not streamed. */
export const wholeMessage = titled(
  'Message',
  object({
    id: text,
    type: oneOf('message'),
    role: oneOf('assistant'),
    model: text,
    content: list(block),
    ...stop,
    container: nothing,
    diagnostics: nothing,
    context_management: nothing,
    usage,
  }),
)

const failed: Json = object({
  type: oneOf('error'),
  error: object(
    {
      type: { $ref: '#/components/schemas/ErrorType' },
      code: { $ref: '#/components/schemas/ErrorCode' },
      message: { ...text, description: 'What is wrong, and what to do.' },
      service_id: { ...text, description: 'The upstream that failed, or `gateway`.' },
    },
    { details: object({ error_code: { ...text, description: 'What Anthropic’s client acts on.' } }) },
  ),
  request_id: { ...text, description: 'Report it to the operator of the installation.' },
})

/** The body of an error. */
export const messageError = titled('MessageError', failed)

const delta: Json = {
  oneOf: [
    object({ type: oneOf('text_delta'), text }),
    object({ type: oneOf('thinking_delta'), thinking: text, estimated_tokens: nothing }),
    object({ type: oneOf('signature_delta'), signature: text }),
    object({ type: oneOf('input_json_delta'), partial_json: text }),
  ],
}

/** One event of the stream; its type is the event’s name too. */
export const messageEvent = titled('MessageEvent', {
  oneOf: [
    object({ type: oneOf('message_start'), message: wholeMessage }),
    object({ type: oneOf('content_block_start'), index: wholeNumber, content_block: block }),
    object({ type: oneOf('content_block_delta'), index: wholeNumber, delta }),
    object(
      { type: oneOf('content_block_stop'), index: wholeNumber },
      {
        extra_content: {
          ...anyObject,
          description: 'What a provider other than Anthropic attached to the call after it began.',
        },
      },
    ),
    object({
      type: oneOf('message_delta'),
      delta: object({ ...stop, container: nothing }),
      usage: object(counts),
      context_management: nothing,
    }),
    object({ type: oneOf('message_stop') }),
    messageError,
  ],
})

/** The answer of `POST /v1/messages/count_tokens`. */
export const tokenCount = titled(
  'MessageTokenCount',
  object({ input_tokens: wholeNumber, context_management: nothing }),
)

/** Headers of every answer of both. */
export const messageHeaders: Readonly<Record<string, string>> = {
  ...chatHeaders,
  'request-id': 'The same as x-request-id.',
}
