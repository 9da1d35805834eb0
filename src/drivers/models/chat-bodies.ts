/** A request as chat completions want it. */
import {
  shownBy,
  resultText,
  type Message,
  type ModelRequest,
  type ReasoningBlock,
  type UpstreamTarget,
  type UserPart,
} from './model.ts'

/** The body of the request; what is undefined is not sent. */
export function chatBody(target: UpstreamTarget, request: ModelRequest): object {
  const hasTools = request.tools.length > 0
  return {
    model: target.upstreamModel,
    messages: request.messages.flatMap((message, at) => [
      chatMessage(target, message),
      ...imagesAfter(request.messages, at),
    ]),
    stream: request.stream,
    stream_options: request.stream ? { include_usage: true } : undefined,
    tools: hasTools
      ? request.tools.map(({ name, description, parameters, strict }) => ({
          type: 'function',
          function: { name, description: description ?? undefined, parameters, strict: strict ?? undefined },
        }))
      : undefined,
    tool_choice: hasTools ? toolChoice(request) : undefined,
    parallel_tool_calls: hasTools ? (request.parallelToolCalls ?? undefined) : undefined,
    reasoning_effort: request.reasoningEffort ?? undefined,
    max_tokens: request.maxTokens ?? undefined,
    temperature: request.temperature ?? undefined,
    top_p: request.topP ?? undefined,
    stop: request.stop.length > 0 ? request.stop : undefined,
    response_format: request.responseFormat ?? undefined,
    seed: request.seed ?? undefined,
    user: request.user ?? undefined,
    ...request.passed,
  }
}

function toolChoice({ toolChoice: choice }: ModelRequest): unknown {
  if (choice === null) return undefined
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } }
}

/**
 * The images and files in tool results, for which this format has no field: a message after the last result of the round, because
 * results must directly follow their calls.
 */
function imagesAfter(messages: readonly Message[], at: number): object[] {
  if (messages[at]?.role !== 'tool' || messages[at + 1]?.role === 'tool') return []
  const first = messages.findLastIndex(({ role }, place) => place <= at && role !== 'tool') + 1
  const parts = messages.slice(first, at + 1).flatMap((message): UserPart[] =>
    message.role === 'tool' && shownBy(message).length > 0
      ? [
          {
            type: 'text',
            text: `${message.files ? 'Images and files' : 'Images'} in the result of ${message.toolCallId}:`,
          },
          ...shownBy(message),
        ]
      : [],
  )
  return parts.length === 0 ? [] : [{ role: 'user', content: userContent(parts) }]
}

function chatMessage(target: UpstreamTarget, message: Message): object {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user':
      return { role: 'user', content: userContent(message.parts), name: message.name ?? undefined }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: resultText(message) }
    case 'assistant': {
      const calls = message.toolCalls.map(({ id, name, arguments: text, extra }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
        extra_content: extra,
      }))
      const details =
        target.reasoningReplay === 'none'
          ? []
          : message.reasoning.filter(({ model }) => model === target.model).flatMap(reasoningDetails)
      return {
        role: 'assistant',
        content: message.text === '' && calls.length > 0 ? null : message.text,
        reasoning_details: details.length > 0 ? details : undefined,
        tool_calls: calls.length > 0 ? calls : undefined,
      }
    }
  }
}

/** Text alone is sent as a string, because some servers accept nothing else. */
function userContent(parts: readonly UserPart[]): unknown {
  const [only] = parts
  if (parts.length === 1 && only?.type === 'text') return only.text
  return parts.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text }
      case 'image':
        return { type: 'image_url', image_url: { url: part.url, detail: part.detail ?? undefined } }
      case 'file':
        return {
          type: 'file',
          file: { filename: part.filename ?? undefined, file_data: `data:${part.mediaType};base64,${part.data}` },
        }
      case 'audio':
        return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    }
  })
}

/** A block in OpenRouter's form; its kind of detail follows from its content. */
function reasoningDetails({ id, text, signature, encryptedContent }: ReasoningBlock): object[] {
  const own = { id: id ?? undefined }
  const shown =
    signature !== null
      ? [{ type: 'reasoning.text', text, signature, ...own }]
      : text !== ''
        ? [
            {
              type: encryptedContent === null ? 'reasoning.text' : 'reasoning.summary',
              [encryptedContent === null ? 'text' : 'summary']: text,
              ...own,
            },
          ]
        : []
  return encryptedContent === null ? shown : [...shown, { type: 'reasoning.encrypted', data: encryptedContent, ...own }]
}
