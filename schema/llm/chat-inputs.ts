/** The inputs of chats in GraphQL, typed. They are turned into the body of `POST /llm/v1/chat/completions`. */
import type { InputFieldBuilder, InputShapeFromFields } from '@pothos/core'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { refuseFalse } from '#src/platform/shapes/inputs.ts'
import { reasoningLevel } from './models.ts'

const imageDetail = enumOf('ChatImageDetail', 'How closely a model looks at an image.', {
  auto: 'The provider decides.',
  low: 'A glance.',
  high: 'In full.',
  original: 'At its own size.',
})
const audioFormat = enumOf('ChatAudioFormat', 'The encoding of audio.', { wav: 'WAV.', mp3: 'MP3.' })
const toolChoiceMode = enumOf('ChatToolChoiceMode', 'Whether a model calls tools.', {
  none: 'It calls no tools.',
  auto: 'It decides itself.',
  required: 'It must call at least one tool.',
})

const imageInput = builder.inputType('ChatImageInput', {
  description: 'An image.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'An https URL, or a data URL of an image.' }),
    detail: t.field({ type: imageDetail, description: 'How closely to look at it.' }),
  }),
})
const fileInput = builder.inputType('ChatFileInput', {
  description: 'A file.',
  fields: (t) => ({
    data: t.string({ required: true, description: 'A data URL, or base64 of a PDF.' }),
    name: t.string({ description: 'Its name.' }),
  }),
})
const audioInput = builder.inputType('ChatAudioInput', {
  description: 'Sound.',
  fields: (t) => ({
    data: t.field({ type: 'Bytes', required: true, description: 'The bytes.' }),
    format: t.field({ type: audioFormat, required: true, description: 'The encoding of the bytes.' }),
  }),
})
const partInput = builder.inputType('ChatPartInput', {
  description: 'A part of a user’s message.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: 'Text.' }),
    image: t.field({ type: imageInput, description: 'An image.' }),
    file: t.field({ type: fileInput, description: 'A file.' }),
    audio: t.field({ type: audioInput, description: 'Sound.' }),
  }),
})

const userMessageInput = builder.inputType('ChatUserMessageInput', {
  description: 'A user’s message.',
  fields: (t) => ({
    content: t.field({
      type: [partInput],
      required: true,
      description: 'Its parts. A single part needs no list: `content: {text: "Hello"}`.',
    }),
    name: t.string({ description: 'The user’s name, when there are several users.' }),
  }),
})
const reasoningInput = builder.inputType('ChatReasoningInput', {
  description: 'A block of reasoning, sent back as it came in `ChatReasoning`.',
  fields: (t) => ({
    id: t.string({ description: 'The provider’s id of the block.' }),
    text: t.string({ description: 'The text that was shown.' }),
    model: t.string({ required: true, description: 'The model that it is bound to.' }),
    signature: t.string({ description: 'Anthropic’s signature, which it wants back.' }),
    encryptedContent: t.string({ description: 'OpenAI’s encrypted content, which it wants back.' }),
    redacted: t.boolean({ description: 'Whether its provider hid the text.' }),
  }),
})
const toolCallInput = builder.inputType('ChatToolCallInput', {
  description: 'A call of a tool that the model made.',
  fields: (t) => ({
    id: t.string({ required: true, description: 'Its id.' }),
    name: t.string({ required: true, description: 'The tool.' }),
    arguments: t.string({ required: true, description: 'The arguments as the model wrote them; usually valid JSON.' }),
  }),
})
const assistantMessageInput = builder.inputType('ChatAssistantMessageInput', {
  description: 'An earlier answer of the model.',
  fields: (t) => ({
    reasoning: t.field({ type: [reasoningInput], description: 'Its reasoning, for the same model to continue from.' }),
    text: t.string({ description: 'The text of the answer.' }),
    toolCalls: t.field({ type: [toolCallInput], description: 'The tool calls it made.' }),
  }),
})
const toolMessageInput = builder.inputType('ChatToolMessageInput', {
  description: 'The result of a tool call.',
  fields: (t) => ({
    toolCallId: t.string({ required: true, description: 'The id of the tool call.' }),
    text: t.string({ required: true, description: 'The result.' }),
  }),
})
const messageInput = builder.inputType('ChatMessageInput', {
  description: 'A message of a conversation: exactly one of these.',
  isOneOf: true,
  fields: (t) => ({
    system: t.string({ description: 'Instructions.' }),
    user: t.field({ type: userMessageInput, description: 'A user’s message.' }),
    assistant: t.field({ type: assistantMessageInput, description: 'An earlier answer of the model.' }),
    tool: t.field({ type: toolMessageInput, description: 'The result of a tool call.' }),
  }),
})

const jsonSchemaInput = builder.inputType('ChatJsonSchemaInput', {
  description: 'The JSON Schema that an answer must match.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    description: t.string({ description: 'A description of its purpose.' }),
    schema: t.field({ type: 'JSON', description: 'The JSON Schema.' }),
    strict: t.boolean({ description: 'Whether the answer must match it exactly.' }),
  }),
})
const responseFormatInput = builder.inputType('ChatResponseFormatInput', {
  description: 'The format of an answer.',
  isOneOf: true,
  fields: (t) => ({
    text: t.boolean({ description: 'Plain text, which is the default; send true.' }),
    jsonObject: t.boolean({ description: 'Any JSON object; send true.' }),
    jsonSchema: t.field({ type: jsonSchemaInput, description: 'JSON that matches a schema.' }),
  }),
})

const toolInput = builder.inputType('ChatToolInput', {
  description: 'A tool that the model may call.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 64 letters, digits, `_` or `-`.' }),
    description: t.string({ description: 'What it does, as the model reads it.' }),
    parameters: t.field({ type: 'JSON', description: 'A JSON Schema of its arguments.' }),
    strict: t.boolean({ description: 'Whether arguments must match it exactly.' }),
  }),
})
const toolChoiceInput = builder.inputType('ChatToolChoiceInput', {
  description: 'Which tools the model may or must call.',
  isOneOf: true,
  fields: (t) => ({
    mode: t.field({ type: toolChoiceMode, description: 'Whether it may or must call tools.' }),
    name: t.string({ description: 'The tool that it must call.' }),
  }),
})

type InputFields = InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>

/** The fields of whole and of streamed chats. */
export const commonFields = (t: InputFields) => ({
  model: t.string({ required: true, description: 'The model’s id, as in `models`.' }),
  messages: t.field({ type: [messageInput], required: true, description: 'The conversation, oldest first.' }),
  maxTokens: t.int({ description: 'The maximum number of output tokens.' }),
  temperature: t.float({ description: '0 to 2.' }),
  topP: t.float({ description: '0 to 1.' }),
  stop: t.stringList({ description: 'Up to 4 texts at which generation stops.' }),
  responseFormat: t.field({ type: responseFormatInput, description: 'The format of the answer; text by default.' }),
})

/** The additional fields of streamed chats. */
export const streamedFields = (t: InputFields) => ({
  ...commonFields(t),
  reasoningEffort: t.field({ type: reasoningLevel, description: 'One of the model’s `reasoningLevels`.' }),
  tools: t.field({ type: [toolInput], description: 'The tools that the model may call.' }),
  toolChoice: t.field({ type: toolChoiceInput, description: 'Which of them it calls; by default the model decides.' }),
  parallelToolCalls: t.boolean({ description: 'Whether several tools may be called at once.' }),
})

type Given = InputShapeFromFields<ReturnType<typeof commonFields>> &
  Partial<InputShapeFromFields<ReturnType<typeof streamedFields>>>
type Message = Given['messages'][number]

/** The REST body with the same meaning. */
export function chatBody(given: Given, stream: boolean): Record<string, unknown> {
  const { model, messages, maxTokens, temperature, topP, stop, responseFormat } = given
  const { reasoningEffort, tools, toolChoice, parallelToolCalls } = given
  return {
    model,
    messages: messages.map(bodyMessage),
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    stop,
    response_format: responseFormat && bodyFormat(responseFormat),
    reasoning_effort: reasoningEffort,
    tools: tools?.map((tool) => ({ type: 'function', function: tool })),
    tool_choice: toolChoice && (toolChoice.mode ?? { type: 'function', function: { name: toolChoice.name } }),
    parallel_tool_calls: parallelToolCalls,
    stream,
  }
}

function bodyMessage({ system, user, assistant, tool }: Message): Record<string, unknown> {
  if (user) return { role: 'user', name: user.name, content: user.content.map(bodyPart) }
  if (tool) return { role: 'tool', tool_call_id: tool.toolCallId, content: tool.text }
  if (!assistant) return { role: 'system', content: system }
  const reasoning = (assistant.reasoning ?? []).map(({ encryptedContent, ...block }) => ({
    type: 'reasoning',
    ...block,
    encrypted_content: encryptedContent,
  }))
  const textParts = typeof assistant.text === 'string' ? [{ type: 'text', text: assistant.text }] : []
  const content = [...reasoning, ...textParts]
  return {
    role: 'assistant',
    content: content.length > 0 ? content : null,
    tool_calls: assistant.toolCalls?.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
  }
}

type Part = NonNullable<Message['user']>['content'][number]

function bodyPart({ text, image, file, audio }: Part): Record<string, unknown> {
  if (image) return { type: 'image_url', image_url: image }
  if (file) return { type: 'file', file: { file_data: file.data, filename: file.name } }
  if (audio) return { type: 'input_audio', input_audio: audio }
  return { type: 'text', text }
}

function bodyFormat({ text, jsonObject, jsonSchema }: NonNullable<Given['responseFormat']>): Record<string, unknown> {
  refuseFalse('text', text)
  refuseFalse('jsonObject', jsonObject)
  if (jsonSchema) return { type: 'json_schema', json_schema: jsonSchema }
  return { type: jsonObject ? 'json_object' : 'text' }
}
