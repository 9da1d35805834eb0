/** How a mock upstream writes an answer in each of the three wire formats. */
import type { MockAnswer, MockPart, MockRequest } from '../mock-upstream.ts'
import { embeddingsWriter } from './embeddings.ts'
import { countWriter, messagesWriter } from './messages.ts'
import { responsesWriter } from './responses.ts'

export type WireFormat = 'chat' | 'messages' | 'responses' | 'embeddings'

/** The parts that say something. */
export type SayingPart = Extract<
  MockPart,
  { text: unknown } | { reasoning: unknown } | { redacted: unknown } | { tool: unknown }
>

/** One chunk as it goes out, and how many characters of the answer are in it. */
export type Frame = { frame: string; characters: number; reasoning: boolean }

/** Writes one answer. Without streaming, `frames` collects, and `whole` is the answer. */
export type WireWriter = {
  start(): string
  frames(part: SayingPart): Frame[]
  error(error: { type: string; message: string; code?: string | number }): string
  end(): string
  whole(): unknown
}

/** Makes the writer of one answer. */
export type MakeWriter = (request: MockRequest, script: MockAnswer) => WireWriter

/** The pieces of a part's text, one for each chunk. */
export function piecesOf(text: string | readonly string[]): readonly string[] {
  return typeof text === 'string' ? [text] : text
}

/** The format of a path; an unknown one is a mistake of the test. */
export function formatOf(path: string): { name: WireFormat; writer: MakeWriter } {
  if (path.endsWith('/chat/completions')) return { name: 'chat', writer: chatWriter }
  if (path.endsWith('/messages')) return { name: 'messages', writer: messagesWriter }
  if (path.endsWith('/messages/count_tokens')) return { name: 'messages', writer: countWriter }
  if (path.endsWith('/responses')) return { name: 'responses', writer: responsesWriter }
  if (path.endsWith('/embeddings')) return { name: 'embeddings', writer: embeddingsWriter }
  throw new Error(`the mock upstream has no ${path}`)
}

const frameOf = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** OpenAI's chat completions. */
const chatWriter: MakeWriter = (request, script) => {
  const base = { id: 'chatcmpl-mock', created: 1_700_000_000, model: request.model }
  const chunk = (delta: unknown, finish: string | null = null): string =>
    frameOf({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = []
  let content = ''
  let reasoning = ''
  const finish = (): string | null =>
    script.finish === undefined ? (calls.length > 0 ? 'tool_calls' : 'stop') : script.finish
  const usage = (): unknown => ({
    prompt_tokens: request.inputTokens,
    completion_tokens: request.outputTokens,
    total_tokens: request.inputTokens + request.outputTokens,
    prompt_tokens_details: { cached_tokens: script.cacheReadTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: request.reasoningTokens },
  })
  return {
    start: () => chunk({ role: 'assistant', content: '' }),
    frames(part) {
      if ('text' in part) {
        return piecesOf(part.text).map((text) => {
          content += text
          return { frame: chunk({ content: text }), characters: text.length, reasoning: false }
        })
      }
      if ('reasoning' in part) {
        return piecesOf(part.reasoning).map((text) => {
          reasoning += text
          return { frame: chunk({ reasoning_content: text }), characters: text.length, reasoning: true }
        })
      }
      if ('redacted' in part) return []
      const index = calls.length
      const call = {
        id: part.id ?? `call_${index}`,
        type: 'function' as const,
        function: { name: part.tool, arguments: piecesOf(part.arguments).join('') },
      }
      calls.push(call)
      const first = {
        frame: chunk({
          tool_calls: [{ index, id: call.id, type: 'function', function: { name: part.tool, arguments: '' } }],
        }),
        characters: 0,
        reasoning: false,
      }
      return [
        first,
        ...piecesOf(part.arguments).map((text) => ({
          frame: chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
          characters: text.length,
          reasoning: false,
        })),
      ]
    },
    error: (error) => frameOf({ error }),
    end() {
      const wanted = (request.body['stream_options'] as { include_usage?: boolean } | undefined)?.include_usage === true
      const counted =
        wanted && script.usage !== 'none'
          ? frameOf({ ...base, object: 'chat.completion.chunk', choices: [], usage: usage() })
          : ''
      return `${chunk({}, finish())}${counted}data: [DONE]\n\n`
    },
    whole: () => ({
      ...base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: finish(),
          message: {
            role: 'assistant',
            content,
            ...(reasoning && { reasoning_content: reasoning }),
            ...(calls.length > 0 && { tool_calls: calls }),
          },
        },
      ],
      ...(script.usage !== 'none' && { usage: usage() }),
    }),
  }
}
