/** What a mock upstream was asked, in each wire format: its texts, to count them as estimates.ts does. */
import { textTokens } from '#src/drivers/models/estimates.ts'
import type { WireFormat } from './formats.ts'

type Values = Readonly<Record<string, unknown>>
const mediaTokens = 1000

/** Tokens of the request's texts, images, files and arguments; its tools and what is replayed of reasoning do not count. */
export function sentTokens(format: WireFormat, body: Values): number {
  if (format === 'embeddings')
    return inputsOf(body).reduce<number>(
      (sum, one) => sum + (typeof one === 'string' ? textTokens(one) : one.length),
      0,
    )
  const system = format === 'messages' ? contentTokens(body['system']) : 0
  return system + messagesOf(body).reduce((sum, message) => sum + messageTokens(message), 0)
}

/** The last text of the last user message; empty when there is none. */
export function lastUserText(body: Values): string {
  const { content } = messagesOf(body).findLast((message) => message['role'] === 'user') ?? {}
  if (typeof content === 'string') return content
  const texts = (content as Values[] | undefined)?.map((part) => part['text'])
  return texts?.findLast((text) => typeof text === 'string') ?? ''
}

/** The texts or tokens that embeddings were requested of. */
export function inputsOf({ input }: Values): readonly (string | readonly number[])[] {
  return (Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]) as (string | number[])[]
}

function messagesOf(body: Values): Values[] {
  const messages = body['messages'] ?? body['input']
  return Array.isArray(messages) ? (messages as Values[]) : []
}

function messageTokens(message: Values): number {
  const calls = (message['tool_calls'] ?? []) as { function: { arguments: string } }[]
  const own =
    message['type'] === 'function_call'
      ? textTokens(String(message['arguments']))
      : message['type'] === 'function_call_output'
        ? textTokens(String(message['output']))
        : 0
  return (
    own + contentTokens(message['content']) + calls.reduce((sum, call) => sum + textTokens(call.function.arguments), 0)
  )
}

function contentTokens(content: unknown): number {
  if (typeof content === 'string') return textTokens(content)
  if (!Array.isArray(content)) return 0
  return (content as Values[]).reduce((sum, part) => sum + partTokens(part), 0)
}

function partTokens(part: Values): number {
  switch (part['type']) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return textTokens(String(part['text']))
    case 'tool_result':
      return contentTokens(part['content'])
    case 'tool_use':
      return textTokens(JSON.stringify(part['input']))
    case 'thinking':
    case 'redacted_thinking':
      return 0
    default:
      return mediaTokens
  }
}
