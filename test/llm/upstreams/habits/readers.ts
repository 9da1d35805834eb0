/** Asks a Berth in each of its formats, and reads what came out in a form that all formats share. */
import { expect } from 'vitest'
import { agentSessions, textOf } from '../../../support/agent-sessions.ts'

/** What an answer said, thought, called and cost; what it does not have is left out. */
export type Outcome = {
  text?: string
  reasoning?: string
  calls?: { name: string; input: unknown }[]
  finish?: string
  usage?: { input: number; output: number }
  /** The code of the error that ended it. */
  error?: string
}

/** How a format asks, and what its answer says. */
export type Asking = { path: string; body: object; read: (answer: string) => Outcome }

/** What the formats say; a wrong guess fails the test. */
type Usage = {
  prompt_tokens: number
  completion_tokens: number
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens?: number
  cache_creation_input_tokens?: number
}
type Call = { index: number; id?: string; function: { name?: string; arguments?: string } }
type Said = { content?: string | null; reasoning_content?: string; tool_calls?: Call[] }
type Choice = { delta: Said; message: Said; finish_reason: string | null }
type Completion = { error?: { code: string }; choices: Choice[]; usage: Usage }
type Block = { type: string; id?: string; text?: string; thinking?: string; name?: string; input?: unknown }
type Message = { error?: { code: string }; content: Block[]; stop_reason: string; usage: Usage }
type Texts = { text?: string }[]
type Item = { type: string; content?: Texts; summary?: Texts; call_id?: string; name?: string; arguments?: string }
type Response = {
  error?: { code: string } | null
  output: Item[]
  status: string
  incomplete_details: { reason: string } | null
  usage: Usage
}
type MessageEvent = {
  type: string
  error: { code: string }
  index: number
  content_block: Block
  delta: Partial<Message> & { text?: string; thinking?: string; partial_json?: string }
  usage: Usage
}
type UiChunk = {
  type: string
  delta: string
  toolName: string
  input: unknown
  messageMetadata: { finishReason: string; usage: Usage }
}

const tools = [
  { name: 'sum', parameters: { type: 'object', properties: { a: { type: 'integer' } } } },
  { name: 'now', parameters: { type: 'object', properties: {} } },
]

/** All formats of the gateway, streamed and not. */
export function askings(model: string, text: string): Record<string, Asking> {
  const messages = [{ role: 'user', content: text }]
  const chat = { model, messages, tools: tools.map((tool) => ({ type: 'function', function: tool })) }
  const native = {
    model,
    messages,
    max_tokens: 1000,
    tools: tools.map(({ name, parameters }) => ({ name, input_schema: parameters })),
  }
  const response = { model, input: text, tools: tools.map((tool) => ({ type: 'function', ...tool })) }
  const ui = { ...chat, messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text }] }] }
  const usage = { stream_options: { include_usage: true } }
  return {
    'chat, streamed': { path: '/v1/chat/completions', body: { ...chat, ...usage, stream: true }, read: readChunks },
    'messages, streamed': { path: '/v1/messages', body: { ...native, stream: true }, read: readMessageEvents },
    'responses, streamed': { path: '/v1/responses', body: { ...response, stream: true }, read: readResponseEvents },
    'UI messages': { path: '/v1/chat', body: ui, read: readUiChunks },
    'chat, joined': { path: '/v1/chat/completions', body: chat, read: readCompletion },
    'chat, whole': { path: '/v1/chat/completions', body: { model, messages }, read: readCompletion },
    'messages, whole': {
      path: '/v1/messages',
      body: native,
      read: (answer) => messageOutcome(JSON.parse(answer) as Message),
    },
    'responses, whole': {
      path: '/v1/responses',
      body: response,
      read: (answer) => responseOutcome(JSON.parse(answer) as Response),
    },
  }
}

/** What a session of an agent with this model says and calls. */
export async function askSession(
  sessions: ReturnType<typeof agentSessions>,
  model: string,
  text: string,
): Promise<Outcome> {
  const custom = tools.map(({ name, parameters }) => ({
    type: 'custom',
    name,
    description: name,
    input_schema: parameters,
  }))
  const agent = await sessions.agent({ name: model, model, tools: custom })
  const log = await sessions.rested(await sessions.begin(agent, text))
  const usage = log.findLast(({ type }) => type === 'span.model_request_end')?.['model_usage'] as Usage
  return outcome({
    text: log
      .filter(({ type }) => type === 'agent.message')
      .map(textOf)
      .join(''),
    calls: log
      .filter(({ type }) => type === 'agent.custom_tool_use')
      .map(({ name, input }) => ({ name: String(name), input })),
    usage: { input: inputOf(usage), output: usage.output_tokens },
  })
}

/** Without what is empty. */
function outcome({ text, reasoning, calls, ...rest }: Outcome): Outcome {
  return {
    ...(text ? { text } : {}),
    ...(reasoning ? { reasoning } : {}),
    ...(calls && calls.length > 0 ? { calls } : {}),
    ...rest,
  }
}

function framesOf<Frame>(stream: string): Frame[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice(6)) as Frame)
}

const inputOf = (usage: Usage): number =>
  usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
const chatUsage = (usage: Usage): { input: number; output: number } => ({
  input: usage.prompt_tokens,
  output: usage.completion_tokens,
})
const callOf = (name = '', text = ''): { name: string; input: unknown } => ({ name, input: JSON.parse(text) })

function expectDifferent(ids: readonly (string | undefined)[]): void {
  expect(new Set(ids).size).toBe(ids.length)
}

function readChunks(stream: string): Outcome {
  const said: Outcome = { text: '', reasoning: '' }
  const calls: { id: string; name: string; text: string }[] = []
  for (const { error, choices = [], usage } of framesOf<Completion>(stream)) {
    if (error) return { error: error.code }
    if (usage) said.usage = chatUsage(usage)
    for (const { delta, finish_reason: finish } of choices) {
      said.text += delta.content ?? ''
      said.reasoning += delta.reasoning_content ?? ''
      if (finish) said.finish = finish
      for (const call of delta.tool_calls ?? []) {
        const open = (calls[call.index] ??= { id: '', name: '', text: '' })
        open.id += call.id ?? ''
        open.name += call.function.name ?? ''
        open.text += call.function.arguments ?? ''
      }
    }
  }
  expectDifferent(calls.map(({ id }) => id))
  return outcome({ ...said, calls: calls.map(({ name, text }) => callOf(name, text)) })
}

function readCompletion(answer: string): Outcome {
  const { error, choices, usage } = JSON.parse(answer) as Completion
  const [choice] = choices ?? []
  if (error || !choice) return { error: String(error?.code) }
  const { message, finish_reason: finish } = choice
  return outcome({
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map((call) => callOf(call.function.name, call.function.arguments)),
    finish: String(finish),
    usage: chatUsage(usage),
  })
}

const stops: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

function messageOutcome({ error, content, stop_reason: stop, usage }: Message): Outcome {
  if (error) return { error: error.code }
  const calls = content.filter(({ type }) => type === 'tool_use')
  expectDifferent(calls.map(({ id }) => id))
  return outcome({
    text: content.map(({ text }) => text ?? '').join(''),
    reasoning: content.map(({ thinking }) => thinking ?? '').join(''),
    calls: calls.map(({ name = '', input }) => ({ name, input })),
    finish: stops[stop] ?? stop,
    usage: { input: inputOf(usage), output: usage.output_tokens },
  })
}

function readMessageEvents(stream: string): Outcome {
  const content: Block[] = []
  const pieces: string[] = []
  let last: MessageEvent | undefined
  for (const event of framesOf<MessageEvent>(stream)) {
    const { type, error, index, content_block: block, delta } = event
    if (type === 'error') return { error: error.code }
    if (type === 'content_block_start') content[index] = block
    if (type === 'message_delta') last = event
    const open = content[index]
    if (type !== 'content_block_delta' || !open) continue
    open.text = (open.text ?? '') + (delta.text ?? '')
    open.thinking = (open.thinking ?? '') + (delta.thinking ?? '')
    pieces[index] = (pieces[index] ?? '') + (delta.partial_json ?? '')
  }
  for (const [index, block] of content.entries())
    if (block.type === 'tool_use') block.input = JSON.parse(pieces[index] || '{}')
  if (!last) throw new Error(`a message without its end: ${stream}`)
  return messageOutcome({ content, stop_reason: last.delta.stop_reason ?? '', usage: last.usage })
}

function responseOutcome({ error, output, status, incomplete_details: details, usage }: Response): Outcome {
  if (error) return { error: error.code }
  const calls = output.filter(({ type }) => type === 'function_call')
  expectDifferent(calls.map(({ call_id: id }) => id))
  const textsOf = (parts: Texts = []): string => parts.map(({ text }) => text ?? '').join('')
  const why = details?.reason === 'content_filter' ? 'content_filter' : 'length'
  return outcome({
    text: output.map(({ content }) => textsOf(content)).join(''),
    reasoning: output.map(({ summary }) => textsOf(summary)).join(''),
    calls: calls.map(({ name, arguments: text }) => callOf(name, text)),
    finish: status === 'incomplete' ? why : calls.length > 0 ? 'tool_calls' : 'stop',
    usage: { input: usage.input_tokens, output: usage.output_tokens },
  })
}

function readResponseEvents(stream: string): Outcome {
  const last = framesOf<{ type: string; code: string; response: Response }>(stream).at(-1)
  if (!last) throw new Error('a stream without an event')
  return last.type === 'error' ? { error: last.code } : responseOutcome(last.response)
}

function readUiChunks(stream: string): Outcome {
  const said: Outcome = { text: '', reasoning: '' }
  const calls: { name: string; input: unknown }[] = []
  for (const { type, delta, toolName, input, messageMetadata } of framesOf<UiChunk>(stream)) {
    if (type === 'error') return { error: 'told' } // this format has no place for a code
    if (type === 'text-delta') said.text += delta
    if (type === 'reasoning-delta') said.reasoning += delta
    if (type === 'tool-input-available') calls.push({ name: toolName, input })
    if (type !== 'finish') continue
    said.finish = messageMetadata.finishReason
    said.usage = chatUsage(messageMetadata.usage)
  }
  return outcome({ ...said, calls })
}
