/** A request in the format of OpenAI's responses. */
import {
  shownBy,
  resultText,
  type Message,
  type ModelRequest,
  type ReasoningBlock,
  type UpstreamTarget,
  type UserPart,
} from './model.ts'
import { valuesFor } from './known-parameters.ts'
import { upstreamError } from './upstream-errors.ts'
import { cannotListen } from './wire-formats.ts'

/** The fewest tokens that OpenAI takes as a limit. Programs ask for one token to see whether a model answers: fewer than that are asked for so many. */
const outputTokensMin = 16

type Item = Record<string, unknown>

/**
 * The body of the request; what is undefined is not sent. Nothing is stored at OpenAI: reasoning comes back encrypted.
 * @throws BerthError invalid_parameter for what this format cannot say.
 */
export function responsesBody(target: UpstreamTarget, request: ModelRequest): object {
  // If these were dropped, the answer would not stop where the caller wants.
  if (request.stop.length > 0)
    throw upstreamError(
      target,
      'invalid_parameter',
      `The upstream ${target.slug} does not support stop sequences. Leave out stop, or use another model.`,
    )
  const reasons = target.reasoningReplay === 'encrypted_content'
  const hasTools = request.tools.length > 0
  const { logprobs, verbosity, ...passed } = valuesFor('openai', request.passed) ?? {}
  const include = [
    ...(reasons ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === true ? ['message.output_text.logprobs'] : []),
  ]
  return {
    model: target.upstreamModel,
    input: request.messages.flatMap((message) => itemsOf(target, message)),
    stream: request.stream,
    store: false,
    include: include.length > 0 ? include : undefined,
    reasoning: reasons || request.reasoningEffort !== null ? reasoningSettings(request) : undefined,
    // If omitted, `strict` would be true here, unlike in chat completions.
    tools: hasTools
      ? request.tools.map(({ name, description, parameters, strict }) => ({
          type: 'function',
          name,
          description: description ?? undefined,
          parameters,
          strict: strict ?? false,
        }))
      : undefined,
    tool_choice: hasTools ? toolChoice(request) : undefined,
    parallel_tool_calls: hasTools ? (request.parallelToolCalls ?? undefined) : undefined,
    max_output_tokens: request.maxTokens === null ? undefined : Math.max(outputTokensMin, request.maxTokens),
    temperature: request.temperature ?? undefined,
    top_p: request.topP ?? undefined,
    text: textSettings(request, verbosity),
    user: request.user ?? undefined,
    ...passed,
  }
}

/** A summary is requested with an effort, because without one nothing of the reasoning would be told. */
function reasoningSettings({ reasoningEffort: effort, reasoningSummary: summary }: ModelRequest): Item | undefined {
  if (effort === null) return summary && { summary }
  return { effort, summary: effort === 'none' ? undefined : (summary ?? 'auto') }
}

function toolChoice({ toolChoice: choice }: ModelRequest): unknown {
  if (choice === null) return undefined
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name }
}

/** The settings that chat completions nest one level deeper. */
function textSettings({ responseFormat }: ModelRequest, verbosity: unknown): Item | undefined {
  if (!responseFormat) return verbosity === undefined ? undefined : { verbosity }
  const { type, json_schema: schema } = responseFormat
  const format = type === 'json_schema' ? { type, ...(schema as object) } : { type } // in the form of OpenAI's chat completions
  return { format, ...(verbosity === undefined ? {} : { verbosity }) }
}

function itemsOf(target: UpstreamTarget, message: Message): Item[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.text }]
    case 'user':
      return [{ role: 'user', content: message.parts.map((part) => partOf(target, part)) }]
    case 'tool': {
      const shown = shownBy(message)
      return [
        {
          type: 'function_call_output',
          call_id: message.toolCallId,
          output:
            shown.length > 0
              ? [{ type: 'input_text', text: resultText(message) }, ...shown.map((part) => partOf(target, part))]
              : resultText(message),
        },
      ]
    }
    case 'assistant':
      return [
        ...message.reasoning.filter(({ model }) => model === target.model).flatMap(reasoningItem),
        ...(message.text === '' ? [] : [{ role: 'assistant', content: message.text }]),
        ...message.toolCalls.map(({ id, name, arguments: text }) => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: text,
        })),
      ]
  }
}

/** A block that is not encrypted cannot be replayed, because nothing is stored at OpenAI. */
function reasoningItem({ id, text, encryptedContent }: ReasoningBlock): Item[] {
  if (encryptedContent === null) return []
  return [
    {
      type: 'reasoning',
      ...(id !== null && { id }),
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      encrypted_content: encryptedContent,
    },
  ]
}

function partOf(target: UpstreamTarget, part: UserPart): Item {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' }
    case 'file':
      return {
        type: 'input_file',
        filename: part.filename ?? 'file',
        file_data: `data:${part.mediaType};base64,${part.data}`,
      }
    case 'audio':
      throw cannotListen(target)
  }
}
