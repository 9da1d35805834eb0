/** The two chat routes for OpenAPI: what their bodies and answers are, written by hand as their handlers are. */
import { reasoningLevels } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import type { JsonSchema } from '../routes.ts'

const text: JsonSchema = { type: 'string' }
const flag: JsonSchema = { type: ['boolean', 'null'] }
const wholeNumber: JsonSchema = { type: 'integer' }
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
const named = (...names: string[]): JsonSchema => ({ type: 'string', enum: names })

const stopText: JsonSchema = { type: 'string', minLength: 1, maxLength: limits.chatStopLength }
const tool = object(
  {
    type: named('function'),
    function: object(
      {
        name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
        description: text,
        parameters: { type: 'object', description: 'A JSON Schema.' },
        strict: flag,
      },
      ['name'],
    ),
  },
  ['type', 'function'],
)

const selective = 'Passed on to upstreams that know it; 400 unsupported_parameter for a model that has none.'
const hint = 'Passed on to upstreams that know it; it changes nothing of an answer.'

/** Everything beside the messages, the same on both routes. */
const parameters: Record<string, JsonSchema> = {
  model: { type: 'string', description: 'Of GET /v1/models.' },
  stream: flag,
  stream_options: object({ include_usage: flag }),
  reasoning_effort: {
    type: ['string', 'null'],
    enum: [...reasoningLevels, null],
    description: 'One of the model’s reasoning_levels; other than none only with stream: true.',
  },
  tools: { ...list(tool, limits.chatToolsMax), description: 'Only with stream: true.' },
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
  response_format: object({ type: named('text', 'json_object', 'json_schema'), json_schema: { type: 'object' } }, [
    'type',
  ]),
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
  metadata: { type: ['object', 'null'], description: selective },
  service_tier: {
    type: ['string', 'null'],
    enum: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', null],
    description: selective,
  },
  verbosity: { type: ['string', 'null'], enum: ['low', 'medium', 'high', null], description: selective },
  prediction: { type: ['object', 'null'], description: hint },
  prompt_cache_key: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  prompt_cache_options: { type: ['object', 'null'], description: hint },
  prompt_cache_retention: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  safety_identifier: { type: ['string', 'null'], maxLength: limits.chatHintLength, description: hint },
  n: { type: ['integer', 'null'], minimum: 1, maximum: 1 },
}

const contentOf = (...parts: JsonSchema[]): JsonSchema => ({
  oneOf: [text, list({ oneOf: parts }, limits.chatPartsMax)],
})
const textPart = object({ type: named('text'), text }, ['type', 'text'])
const imagePart = object(
  { type: named('image_url'), image_url: object({ url: text, detail: named('auto', 'low', 'high') }, ['url']) },
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
  { id: text, type: named('function'), function: object({ name: text, arguments: text }, ['name', 'arguments']) },
  ['id', 'function'],
)
const message: JsonSchema = {
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
        reasoning_details: list({ type: 'object' }),
      },
      ['role'],
    ),
    object({ role: named('tool'), tool_call_id: text, content: contentOf(textPart) }, [
      'role',
      'tool_call_id',
      'content',
    ]),
  ],
}

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
export const chatCompletionsBody = object(
  { ...parameters, ...logprobs, messages: { ...list(message, limits.chatMessagesMax), minItems: 1 } },
  ['model', 'messages'],
)

/** The body of `POST /v1/chat`. */
export const chatBody = object(
  {
    ...parameters,
    stream: { type: ['boolean', 'null'], enum: [true, null] },
    messages: {
      ...list(
        object(
          {
            id: text,
            role: named('system', 'user', 'assistant'),
            metadata: {},
            parts: list(object({ type: text }, ['type']), limits.chatPartsMax),
          },
          ['role', 'parts'],
        ),
        limits.chatMessagesMax,
      ),
      minItems: 1,
      description: 'UIMessage[] of the AI SDK 5, 6 or 7.',
    },
  },
  ['model', 'messages'],
)

const nullableText: JsonSchema = { type: ['string', 'null'] }
const tokens: JsonSchema = {
  type: ['array', 'null'],
  items: { type: 'object', description: 'A token as OpenAI tells it: token, logprob, bytes, top_logprobs.' },
}
const tokenLogprobs: JsonSchema = {
  ...object({ content: tokens, refusal: tokens }, ['content', 'refusal']),
  type: ['object', 'null'],
  description: 'Null unless logprobs were asked for.',
}

const usage = object(
  {
    prompt_tokens: { ...wholeNumber, description: 'Those of the cache included.' },
    completion_tokens: wholeNumber,
    total_tokens: wholeNumber,
    cache_creation_input_tokens: wholeNumber,
    cache_read_input_tokens: wholeNumber,
    prompt_tokens_details: object({ cached_tokens: wholeNumber }, ['cached_tokens']),
    completion_tokens_details: object({ reasoning_tokens: wholeNumber }, ['reasoning_tokens']),
  },
  ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'],
)

/** The answer of a chat completion that is not streamed. */
export const chatCompletion = object(
  {
    id: text,
    object: named('chat.completion'),
    created: { ...wholeNumber, description: 'Unix seconds.' },
    model: text,
    speed: named('standard', 'fast'),
    choices: list(
      object(
        {
          index: wholeNumber,
          message: object({ role: named('assistant'), content: nullableText, refusal: nullableText }, [
            'role',
            'content',
            'refusal',
          ]),
          logprobs: tokenLogprobs,
          finish_reason: named('stop', 'length', 'content_filter'),
        },
        ['index', 'finish_reason', 'logprobs', 'message'],
      ),
    ),
    usage,
  },
  ['id', 'object', 'created', 'model', 'speed', 'choices', 'usage'],
)

const reasoningMeta = object(
  {
    id: { type: ['string', 'null'] },
    index: wholeNumber,
    model: text,
    signature: text,
    encrypted_content: text,
    redacted: flag,
  },
  ['id', 'index', 'model'],
)

/** One chunk of a streamed chat completion; the stream ends with `data: [DONE]`. */
export const chatCompletionChunk = object(
  {
    id: text,
    object: named('chat.completion.chunk'),
    created: wholeNumber,
    model: text,
    choices: list(
      object(
        {
          index: wholeNumber,
          delta: object({
            role: named('assistant'),
            content: text,
            refusal: text,
            reasoning_content: text,
            reasoning_meta: reasoningMeta,
            reasoning_details: list({ type: 'object' }),
            tool_calls: list(
              object(
                {
                  index: wholeNumber,
                  id: text,
                  type: named('function'),
                  function: object({ name: text, arguments: text }),
                },
                ['index'],
              ),
            ),
          }),
          finish_reason: { type: ['string', 'null'], enum: ['stop', 'length', 'tool_calls', 'content_filter', null] },
          logprobs: tokenLogprobs,
        },
        ['index', 'delta', 'finish_reason'],
      ),
    ),
    usage: { ...usage, type: ['object', 'null'] },
  },
  ['id', 'object', 'created', 'model', 'choices'],
)

/** One chunk of the UI message stream; the stream ends with `data: [DONE]`. */
export const uiMessageChunk = object(
  {
    type: named(
      'start',
      'start-step',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-available',
      'tool-input-error',
      'finish-step',
      'finish',
      'error',
    ),
    messageId: text,
    id: text,
    delta: text,
    providerMetadata: { type: 'object' },
    toolCallId: text,
    toolName: text,
    inputTextDelta: text,
    input: {},
    errorText: text,
    messageMetadata: object({ finishReason: text, usage, model: text }),
  },
  ['type'],
)

/** Headers of every answer of a chat. */
export const chatHeaders: Readonly<Record<string, string>> = {
  'x-request-id': 'The request’s id, also in errors.',
  'x-berth-upstream': 'Who answered. Of a stream that began with a heartbeat this and the next two are a comment.',
  'x-berth-attempts': 'How many times upstreams were asked, this answer included.',
  'x-berth-failed': 'What failed before: upstream and code, separated by commas. Absent when nothing did.',
  'idempotent-replayed': 'true when this is the response kept under the Idempotency-Key.',
}
