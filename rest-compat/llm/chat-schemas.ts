/** The bodies of the two chat routes for OpenAPI, written by hand as their handlers are. */
import { imageDetails, reasoningLevels } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { anyObject, oneOf as named, text, titled } from '../openapi/json-schema.ts'
import type { JsonSchema } from '../routes.ts'

const flag: JsonSchema = { type: ['boolean', 'null'] }
const nullableObject: JsonSchema = { ...anyObject, type: ['object', 'null'] }
const object = (properties: Record<string, JsonSchema>, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
})
const list = (items: JsonSchema, most?: number): JsonSchema => ({
  type: 'array',
  items,
  ...(most ? { maxItems: most } : {}),
})

const stopText: JsonSchema = { type: 'string', minLength: 1, maxLength: limits.chatStopLength }
const tool = titled(
  'ChatTool',
  object(
    {
      type: named('function'),
      function: object(
        {
          name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
          description: text,
          parameters: { ...anyObject, description: 'A JSON Schema.' },
          strict: flag,
        },
        ['name'],
      ),
    },
    ['type', 'function'],
  ),
)

const selective =
  'Passed on to upstreams that support it; 400 unsupported_parameter for a model without such an upstream.'
const hint = 'Passed on to upstreams that support it; it does not change the answer.'

/** All parameters besides the messages, the same on both routes. */
const parameters: Record<string, JsonSchema> = {
  model: { type: 'string', description: 'An id from GET /v1/models.' },
  stream: flag,
  stream_options: object({ include_usage: flag, include_obfuscation: { type: 'boolean', enum: [false] } }),
  reasoning_effort: {
    type: ['string', 'null'],
    enum: [...reasoningLevels, null],
    description: 'One of the model’s reasoning_levels; levels other than none require stream: true.',
  },
  tools: { ...list(tool, limits.chatToolsMax), description: 'Requires stream: true.' },
  tool_choice: {
    oneOf: [
      named('none', 'auto', 'required'),
      object({ type: named('function'), function: object({ name: text }, ['name']) }, ['type', 'function']),
    ],
  },
  parallel_tool_calls: flag,
  stop: { oneOf: [stopText, list(stopText, limits.chatStopsMax)] },
  temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
  top_p: { type: ['number', 'null'], minimum: 0, maximum: 1 },
  max_tokens: { type: ['integer', 'null'], minimum: 1 },
  max_completion_tokens: { type: ['integer', 'null'], minimum: 1, description: 'As max_tokens.' },
  response_format: object(
    {
      type: named('text', 'json_object', 'json_schema'),
      json_schema: object(
        {
          name: { type: 'string', minLength: 1 },
          schema: anyObject,
          strict: { type: ['boolean', 'null'] },
          description: { type: ['string', 'null'] },
        },
        ['name'],
      ),
    },
    ['type'],
  ),
  user: { type: ['string', 'null'] },
  seed: { type: ['integer', 'null'], description: selective },
  frequency_penalty: { type: ['number', 'null'], minimum: -2, maximum: 2, description: selective },
  presence_penalty: { type: ['number', 'null'], minimum: -2, maximum: 2, description: selective },
  logit_bias: {
    type: ['object', 'null'],
    additionalProperties: { type: 'number', minimum: -100, maximum: 100 },
    maxProperties: limits.chatBiasMax,
    description: selective,
  },
  metadata: { ...nullableObject, additionalProperties: text, description: selective },
  service_tier: {
    type: ['string', 'null'],
    enum: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', null],
    description: selective,
  },
  verbosity: { type: ['string', 'null'], enum: ['low', 'medium', 'high', null], description: selective },
  prediction: { ...nullableObject, description: hint },
  prompt_cache_key: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  prompt_cache_options: { ...nullableObject, description: hint },
  prompt_cache_retention: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  safety_identifier: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  n: { type: ['integer', 'null'], minimum: 1, maximum: 1 },
}

const contentOf = (...parts: JsonSchema[]): JsonSchema => ({
  oneOf: [text, list({ oneOf: parts }, limits.chatPartsMax)],
})
const textPart = object({ type: named('text'), text }, ['type', 'text'])
const imagePart = object(
  { type: named('image_url'), image_url: object({ url: text, detail: named(...imageDetails) }, ['url']) },
  ['type', 'image_url'],
)
const filePart = object({ type: named('file'), file: object({ filename: text, file_data: text }, ['file_data']) }, [
  'type',
  'file',
])
const audioPart = object(
  { type: named('input_audio'), input_audio: object({ data: text, format: named('wav', 'mp3') }, ['data', 'format']) },
  ['type', 'input_audio'],
)
const reasoningPart = object(
  { type: named('reasoning'), id: text, text, model: text, signature: text, encrypted_content: text, redacted: flag },
  ['type', 'model'],
)
const toolCall = object(
  {
    id: text,
    type: named('function'),
    function: object({ name: text, arguments: text }, ['name', 'arguments']),
    extra_content: { ...anyObject, description: 'As the answer had it.' },
  },
  ['id', 'function'],
)
const message = titled('ChatMessage', {
  oneOf: [
    object({ role: named('system', 'developer'), content: contentOf(textPart) }, ['role', 'content']),
    object({ role: named('user'), content: contentOf(textPart, imagePart, filePart, audioPart), name: text }, [
      'role',
      'content',
    ]),
    object(
      {
        role: named('assistant'),
        content: { oneOf: [...(contentOf(textPart, reasoningPart)['oneOf'] as JsonSchema[]), { type: 'null' }] },
        tool_calls: list(toolCall, limits.chatToolsMax),
        refusal: { type: ['string', 'null'] },
        reasoning_content: text,
        reasoning_details: list(anyObject),
      },
      ['role'],
    ),
    object({ role: named('tool'), tool_call_id: text, content: contentOf(textPart) }, [
      'role',
      'tool_call_id',
      'content',
    ]),
  ],
})

const logprobs: Record<string, JsonSchema> = {
  logprobs: { type: ['boolean', 'null'], description: selective },
  top_logprobs: {
    type: ['integer', 'null'],
    minimum: 0,
    maximum: 20,
    description: `With logprobs: true. ${selective}`,
  },
}

/** The body of `POST /v1/chat/completions`. */
export const chatCompletionsBody = titled(
  'CreateChatCompletionInput',
  object({ ...parameters, ...logprobs, messages: { ...list(message, limits.chatMessagesMax), minItems: 1 } }, [
    'model',
    'messages',
  ]),
)

/** A part of a message of the AI SDK: those that people say are described, all others are taken as the SDK has them. */
const uiPart = titled('UiMessagePart', {
  anyOf: [
    object({ type: named('text'), text }, ['type', 'text']),
    object({ type: named('file'), mediaType: text, url: text, filename: text }, ['type', 'mediaType', 'url']),
    { ...object({ type: text }, ['type']), additionalProperties: true },
  ],
})
const uiMessage = titled(
  'UiMessage',
  object(
    {
      id: text,
      role: named('system', 'user', 'assistant'),
      metadata: {},
      parts: list(uiPart, limits.chatPartsMax),
    },
    ['role', 'parts'],
  ),
)

/** The body of `POST /v1/chat`. */
export const chatBody = titled(
  'CreateChatInput',
  object(
    {
      ...parameters,
      stream: { type: ['boolean', 'null'], enum: [true, null] },
      messages: {
        ...list(uiMessage, limits.chatMessagesMax),
        minItems: 1,
        description: 'UIMessage[] of the AI SDK 5, 6 or 7.',
      },
    },
    ['model', 'messages'],
  ),
)
