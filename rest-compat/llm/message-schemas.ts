/** The bodies of `POST /v1/messages` and its count for OpenAPI, written by hand as their handlers are. */
import { limits } from '#src/platform/limits.ts'
import { messagesLimits } from '#src/platform/limits/messages.ts'
import { anyObject, flag, list, nullableText, object, oneOf, text, titled } from '../openapi/json-schema.ts'
import type { JsonSchema } from '../routes.ts'

const anthropicOnly = '400 unsupported_parameter for a model without an upstream of Anthropic’s format.'

const most = (items: JsonSchema, maxItems: number): JsonSchema => ({ ...list(items), maxItems })
const orNull = (schema: JsonSchema): JsonSchema => ({ oneOf: [schema, { type: 'null' }] })
const nullableFlag: JsonSchema = { type: ['boolean', 'null'] }

const cacheControl = titled('CacheControl', {
  ...object({ type: oneOf('ephemeral') }, { ttl: oneOf('5m') }),
  description: 'A hint, which makes the next answer cheaper where the upstream keeps a cache.',
})
const cached = { cache_control: orNull(cacheControl) }
const citations = orNull(object({}, { enabled: { type: 'boolean', enum: [false] } }))

const textBlock = titled(
  'MessageText',
  object({ type: oneOf('text'), text }, { ...cached, citations: { type: ['array', 'null'], items: anyObject } }),
)
const base64 = (...mediaTypes: string[]): JsonSchema =>
  object({ type: oneOf('base64'), media_type: oneOf(...mediaTypes), data: text })
const atUrl = object({ type: oneOf('url'), url: { ...text, maxLength: limits.chatUrlLength } })
const imageBlock = titled(
  'MessageImage',
  object(
    {
      type: oneOf('image'),
      source: { oneOf: [base64('image/jpeg', 'image/png', 'image/gif', 'image/webp'), atUrl] },
    },
    { ...cached, transformations: { ...anyObject, type: ['object', 'null'], description: anthropicOnly } },
  ),
)
const inner = { oneOf: [text, most({ oneOf: [textBlock, imageBlock] }, limits.chatPartsMax)] }
const documentBlock = titled(
  'MessageDocument',
  object(
    {
      type: oneOf('document'),
      source: {
        oneOf: [
          base64('application/pdf'),
          object({ type: oneOf('text'), media_type: oneOf('text/plain'), data: text }),
          object({ type: oneOf('content'), content: inner }),
          { ...atUrl, description: anthropicOnly },
        ],
      },
    },
    { ...cached, citations, title: nullableText, context: nullableText },
  ),
)
const searchBlock = titled(
  'MessageSearchResult',
  object(
    { type: oneOf('search_result'), source: text, title: text, content: most(textBlock, limits.chatPartsMax) },
    { ...cached, citations },
  ),
)
const contentBlocks = [textBlock, imageBlock, documentBlock, searchBlock]
const resultBlock = titled(
  'MessageToolResult',
  object(
    { type: oneOf('tool_result'), tool_use_id: text },
    {
      ...cached,
      content: { oneOf: [text, most({ oneOf: contentBlocks }, limits.chatPartsMax), { type: 'null' }] },
      is_error: nullableFlag,
      toolset_name: { type: 'null' },
    },
  ),
)
const thinkingBlock = titled('MessageThinking', object({ type: oneOf('thinking'), thinking: text, signature: text }))
const redactedBlock = titled('MessageRedactedThinking', object({ type: oneOf('redacted_thinking'), data: text }))
const callBlock = titled(
  'MessageToolUse',
  object(
    { type: oneOf('tool_use'), id: text, name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' }, input: anyObject },
    {
      ...cached,
      extra_content: orNull(anyObject),
      caller: orNull(object({ type: oneOf('direct') })),
      toolset_name: { type: 'null' },
    },
  ),
)
const contentOf = (...blocks: JsonSchema[]): JsonSchema => ({
  oneOf: [text, most({ oneOf: blocks }, limits.chatPartsMax)],
})
const message = titled('MessageInput', {
  oneOf: [
    object({ role: oneOf('user'), content: contentOf(...contentBlocks, resultBlock) }),
    object({
      role: oneOf('assistant'),
      content: contentOf(textBlock, thinkingBlock, redactedBlock, callBlock),
    }),
    object({ role: oneOf('system'), content: contentOf(textBlock) }),
  ],
})

const toolSettings: Record<string, JsonSchema> = {
  ...cached,
  strict: nullableFlag,
  defer_loading: { type: ['boolean', 'null'], enum: [false, null] },
  eager_input_streaming: nullableFlag,
  allowed_callers: { type: ['array', 'null'], items: oneOf('direct'), minItems: 1, maxItems: 1 },
  input_examples: { type: ['array', 'null'], items: anyObject, description: anthropicOnly },
}
const tool = titled('MessageTool', {
  oneOf: [
    object(
      { name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' }, input_schema: anyObject },
      { ...toolSettings, type: { type: ['string', 'null'], enum: ['custom', null] }, description: nullableText },
    ),
    {
      ...object(
        { type: { type: 'string', pattern: '^(bash|text_editor|memory)_[0-9]{8}$' }, name: text },
        { ...toolSettings, max_characters: { type: ['integer', 'null'], minimum: 1 } },
      ),
      description: `A tool that Anthropic defines and you run. ${anthropicOnly}`,
    },
  ],
})

const shared: Record<string, JsonSchema> = {
  cache_control: orNull(cacheControl),
  system: contentOf(textBlock),
  tools: most(tool, limits.chatToolsMax),
  tool_choice: object({ type: oneOf('auto', 'any', 'tool', 'none') }, { name: text, disable_parallel_tool_use: flag }),
  thinking: {
    ...object(
      { type: oneOf('enabled', 'adaptive', 'between_tools', 'disabled') },
      {
        budget_tokens: { type: 'integer', minimum: messagesLimits.thinkingTokensMin },
        display: { type: ['string', 'null'], enum: ['summarized', 'omitted', null] },
      },
    ),
    description: `A budget becomes the nearest of the model’s reasoning_levels below it where its upstream has another format. between_tools and omitted: ${anthropicOnly}`,
  },
  output_config: object(
    {},
    {
      effort: { type: ['string', 'null'], enum: ['low', 'medium', 'high', 'xhigh', 'max', null] },
      format: orNull(object({ type: oneOf('json_schema'), schema: anyObject })),
    },
  ),
}
const always = {
  model: { type: 'string', description: 'An id from GET /v1/models.' },
  messages: { ...most(message, limits.chatMessagesMax), minItems: 1 },
}

/** The body of `POST /v1/messages`. */
export const messagesBody = titled(
  'CreateMessageInput',
  object(
    {
      ...always,
      max_tokens: { type: 'integer', minimum: 1, description: 'More than the model’s own maximum is that maximum.' },
    },
    {
      ...shared,
      stream: nullableFlag,
      metadata: object({}, { user_id: nullableText }),
      stop_sequences: most(
        { type: 'string', minLength: 1, maxLength: limits.chatStopLength },
        messagesLimits.stopSequencesMax,
      ),
      temperature: { type: ['number', 'null'], minimum: 0, maximum: 1 },
      top_p: { type: ['number', 'null'], minimum: 0, maximum: 1 },
      top_k: { type: ['integer', 'null'], minimum: 0, description: anthropicOnly },
      service_tier: { type: ['string', 'null'], enum: ['auto', 'standard_only', null] },
    },
  ),
)

/** The body of `POST /v1/messages/count_tokens`. */
export const countTokensBody = titled('CountMessageTokensInput', object(always, shared))
