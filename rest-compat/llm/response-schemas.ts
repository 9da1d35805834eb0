/** The body and the answers of `POST /v1/responses` for OpenAPI, written by hand as its handler is. */
import { imageDetails, reasoningLevels, reasoningSummaries } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
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
import type { JsonSchema } from '../routes.ts'

const nullable = (...words: readonly string[]): JsonSchema => ({ type: ['string', 'null'], enum: [...words, null] })
const nullableFlag: JsonSchema = { type: ['boolean', 'null'] }
const nullableInteger: JsonSchema = { type: ['integer', 'null'] }
const status = oneOf('in_progress', 'completed', 'incomplete')
const closed = (schema: JsonSchema): JsonSchema => ({ ...schema, additionalProperties: false })
const hint: JsonSchema = { type: ['string', 'null'], maxLength: limits.chatHintLength }

const content = (...parts: JsonSchema[]): JsonSchema => ({
  anyOf: [text, { ...list({ oneOf: parts }), maxItems: limits.chatPartsMax }],
})
const inputText = object({ type: oneOf('input_text'), text })
const inputImage = object(
  { type: oneOf('input_image'), image_url: text },
  { detail: { type: ['string', 'null'], enum: [...imageDetails, null] } },
)
const inputFile = object({ type: oneOf('input_file'), file_data: text }, { filename: nullableText })
const inputAudio = object({
  type: oneOf('input_audio'),
  input_audio: object({ data: text, format: oneOf('wav', 'mp3') }),
})
const assistantText = object(
  { type: oneOf('output_text'), text },
  { annotations: list(anyObject), logprobs: list(anyObject) },
)
const refusalPart = object({ type: oneOf('refusal'), refusal: text })
const own = { id: nullableText, status: nullableText }
const message = {
  role: oneOf('user', 'system', 'developer', 'assistant'),
  content: content(inputText, inputImage, inputFile, inputAudio, assistantText, refusalPart),
}
const summary = list(object({ type: oneOf('summary_text'), text }))

const inputItem = titled('ResponseInputItem', {
  anyOf: [
    closed(object(message, { type: oneOf('message'), phase: nullableText, ...own })),
    closed(
      object(
        { type: oneOf('function_call'), call_id: text, name: text, arguments: text },
        { ...own, extra_content: anyObject },
      ),
    ),
    closed(object({ type: oneOf('function_call_output'), call_id: text, output: content(inputText, inputImage) }, own)),
    closed(
      object(
        { type: oneOf('reasoning'), summary },
        { ...own, encrypted_content: nullableText, content: list(object({ type: oneOf('reasoning_text'), text })) },
      ),
    ),
  ],
})

const toolRequired = { type: oneOf('function'), name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' } }
const toolDetails = {
  description: nullableText,
  parameters: { type: ['object', 'null'], additionalProperties: true },
  strict: nullableFlag,
}
const functionTool = object(toolRequired, toolDetails)
const offeredTool = object(toolRequired, {
  ...toolDetails,
  allowed_callers: { type: ['array', 'null'], items: oneOf('direct'), minItems: 1, maxItems: 1 },
})
const format = object(
  { type: oneOf('text', 'json_object', 'json_schema') },
  { name: text, schema: anyObject, strict: nullableFlag, description: text },
)
const chosen = object({ type: oneOf('function'), name: text })
const toolChoice: JsonSchema = {
  anyOf: [
    oneOf('none', 'auto', 'required'),
    chosen,
    object({ type: oneOf('allowed_tools'), mode: oneOf('auto', 'required'), tools: list(chosen) }),
  ],
}
const metadata: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'string', maxLength: limits.metadataValueLength },
  description: `At most ${limits.metadataPairs} pairs, which the answer repeats.`,
}
const effort = nullable(...reasoningLevels)
const tier = nullable('auto', 'default', 'flex', 'scale', 'priority', 'fast')

/** The body. */
export const responseBody = titled(
  'CreateResponseInput',
  closed(
    object(
      {
        model: { ...text, description: 'The id of a model of kind chat from GET /v1/models.' },
        input: { anyOf: [text, { ...list(inputItem), minItems: 1, maxItems: limits.chatMessagesMax }] },
      },
      {
        instructions: nullableText,
        stream: nullableFlag,
        stream_options: closed(object({}, { include_obfuscation: { type: 'boolean', enum: [false] } })),
        store: { type: ['boolean', 'null'], enum: [false, null], description: 'Nothing is stored.' },
        background: { type: ['boolean', 'null'], enum: [false, null] },
        truncation: nullable('disabled'),
        include: list(oneOf('reasoning.encrypted_content', 'message.output_text.logprobs')),
        max_output_tokens: { ...nullableInteger, minimum: 1 },
        max_tool_calls: { ...nullableInteger, minimum: 0, description: 'Of built-in tools, of which there are none.' },
        metadata: { anyOf: [metadata, { type: 'null' }] },
        reasoning: closed(
          object(
            {},
            {
              effort: { ...effort, description: 'One of the model’s reasoning_levels.' },
              summary: nullable(...reasoningSummaries),
              generate_summary: nullable(...reasoningSummaries),
              context: nullable('auto'),
              mode: nullable('standard'),
            },
          ),
        ),
        text: closed(object({}, { format, verbosity: nullable('low', 'medium', 'high') })),
        tools: { ...list(offeredTool), maxItems: limits.chatToolsMax },
        tool_choice: toolChoice,
        parallel_tool_calls: nullableFlag,
        temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
        top_p: { type: ['number', 'null'], minimum: 0, maximum: 1 },
        top_logprobs: { ...nullableInteger, minimum: 0, maximum: 20 },
        user: nullableText,
        service_tier: tier,
        prompt_cache_key: hint,
        prompt_cache_options: { type: ['object', 'null'], additionalProperties: true },
        prompt_cache_retention: hint,
        safety_identifier: hint,
      },
    ),
  ),
)

const outputText = object({ type: oneOf('output_text'), text, annotations: list(anyObject), logprobs: list(anyObject) })
const part = titled('ResponsePart', { anyOf: [outputText, refusalPart] })
const outputItem = titled('ResponseOutputItem', {
  anyOf: [
    object({ type: oneOf('message'), id: text, status, role: oneOf('assistant'), content: list(part) }),
    object({
      type: oneOf('reasoning'),
      id: text,
      status,
      summary,
      encrypted_content: { ...nullableText, description: 'Send the item back with it, to the same model.' },
    }),
    object(
      { type: oneOf('function_call'), id: text, status, call_id: text, name: text, arguments: text },
      {
        extra_content: {
          ...anyObject,
          description: 'What the provider wants back with the call, such as Gemini’s thought signature.',
        },
      },
    ),
  ],
})

const usage = titled(
  'ResponseUsage',
  object({
    input_tokens: { ...wholeNumber, description: 'Those of the cache included.' },
    input_tokens_details: object({ cached_tokens: wholeNumber, cache_write_tokens: wholeNumber }),
    output_tokens: { ...wholeNumber, description: 'Those of reasoning included.' },
    output_tokens_details: object({ reasoning_tokens: wholeNumber }),
    total_tokens: wholeNumber,
  }),
)

/** The response. */
export const wholeResponse = titled(
  'Response',
  object({
    id: text,
    object: oneOf('response'),
    created_at: { ...wholeNumber, description: 'Unix seconds.' },
    completed_at: nullableInteger,
    status,
    background: { type: 'boolean', enum: [false] },
    error: { type: 'null' },
    incomplete_details: {
      anyOf: [object({ reason: oneOf('max_output_tokens', 'content_filter') }), { type: 'null' }],
    },
    model: text,
    speed: oneOf('standard', 'fast'),
    output: list(outputItem),
    usage: { anyOf: [usage, { type: 'null' }] },
    previous_response_id: { type: 'null' },
    store: { type: 'boolean', enum: [false] },
    truncation: oneOf('disabled'),
    max_tool_calls: nullableInteger,
    instructions: nullableText,
    max_output_tokens: nullableInteger,
    metadata,
    parallel_tool_calls: flag,
    reasoning: object({ effort, summary: nullableText }),
    text: object({ format, verbosity: text }),
    tool_choice: toolChoice,
    tools: list(functionTool),
    temperature: { type: ['number', 'null'] },
    top_p: { type: ['number', 'null'] },
    top_logprobs: wholeNumber,
    service_tier: text,
    user: nullableText,
    safety_identifier: nullableText,
    prompt_cache_key: nullableText,
    prompt_cache_retention: nullableText,
  }),
)

const response = { response: wholeResponse }
const inItem = { item_id: text, output_index: wholeNumber }
const inPart = { ...inItem, content_index: wholeNumber }
const inSummary = { ...inItem, summary_index: wholeNumber }
const summaryPart = object({ type: oneOf('summary_text'), text })
/** The events of a stream by their type, with what each has besides its type and its number. */
const events: Readonly<Record<string, Record<string, JsonSchema>>> = {
  'response.created': response,
  'response.in_progress': response,
  'response.output_item.added': { output_index: wholeNumber, item: outputItem },
  'response.output_item.done': { output_index: wholeNumber, item: outputItem },
  'response.content_part.added': { ...inPart, part },
  'response.content_part.done': { ...inPart, part },
  'response.output_text.delta': { ...inPart, delta: text, logprobs: list(anyObject) },
  'response.output_text.done': { ...inPart, text, logprobs: list(anyObject) },
  'response.refusal.delta': { ...inPart, delta: text },
  'response.refusal.done': { ...inPart, refusal: text },
  'response.reasoning_summary_part.added': { ...inSummary, part: summaryPart },
  'response.reasoning_summary_part.done': { ...inSummary, part: summaryPart },
  'response.reasoning_summary_text.delta': { ...inSummary, delta: text },
  'response.reasoning_summary_text.done': { ...inSummary, text },
  'response.function_call_arguments.delta': { ...inItem, delta: text },
  'response.function_call_arguments.done': { ...inItem, name: text, arguments: text },
  'response.completed': response,
  'response.incomplete': response,
  error: { code: text, message: text, param: { type: 'null' }, error: anyObject },
}

/** One event of the stream. The last one is `response.completed`, `response.incomplete` or `error`. */
export const responseEvent = titled('ResponseEvent', {
  oneOf: Object.entries(events).map(([type, fields]) =>
    object({ type: oneOf(type), sequence_number: wholeNumber, ...fields }),
  ),
})
