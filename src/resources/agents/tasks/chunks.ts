/**
 * What a run's stream says of each event of its session, and of each status of its task: the chunks of the AI SDK's UI
 * message stream. Pure functions of the stream's state.
 */
import { encodeId } from '#src/platform/ids.ts'
import { resultTypes, toolUseTypes } from '#src/resources/agents/sessions/event-types.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { mcpToolName } from '#src/resources/agents/tools/mcp-names.ts'
import { taskStreamLimits } from './limits.ts'
import type { Task } from './rows.ts'
import { startOf } from '#src/platform/texts.ts'

/** Every kind of chunk that a run's stream has, with what it says. */
export const chunkTypes = {
  start: 'The reply begins.',
  'start-step': 'A request to the model begins, with the tool calls that follow from it.',
  'text-start': 'Text begins.',
  'text-delta': 'More of the text.',
  'text-end': 'The text is complete, or its request to the model failed and is made again.',
  'tool-input-available': 'The agent calls a tool.',
  'tool-approval-request': 'The call waits for an approval.',
  'tool-output-available': 'The result of a call.',
  'tool-output-error': 'A call failed.',
  'tool-output-denied': 'A call was denied.',
  'finish-step': 'The step is over.',
  'data-group-run': 'The status of the run, whenever it changes.',
  error: 'The run failed.',
  finish: 'The end of a run that completed or failed.',
  abort: 'The end of a run that was stopped.',
} as const

/** A kind of chunk. */
export type ChunkType = keyof typeof chunkTypes

/** A chunk as it is sent. */
export type Chunk = { type: ChunkType } & Readonly<Record<string, unknown>>

/**
 * How far a stream is. `step`: whether a step is open, and has said something. `requestId`: the request to the model
 * that is being answered, as the stored id of the event that began it; `pieces`: of its text.
 */
export type StreamState = {
  lastNumber: number
  step: 'none' | 'begun' | 'used'
  requestId: string | null
  pieces: number
}

/** The state of a stream that has said nothing. */
export const silent: StreamState = { lastNumber: 0, step: 'none', requestId: null, pieces: 0 }

type Said = Pick<SessionEvent, 'id' | 'type' | 'data' | 'answers'>
type Writing = { state: StreamState; chunks: Chunk[] }

/** The id of the text of a request to the model, by the stored id of the event that began it. */
export function textIdOf(requestId: string): string {
  return encodeId('sessionEvent', requestId)
}

/** What a stream says of these events of its session. @param denied the stored ids of the tool uses that were denied. */
export function chunksOfEvents(before: StreamState, events: readonly Said[], denied: ReadonlySet<string>): Writing {
  const writing: Writing = { state: { ...before }, chunks: [] }
  for (const event of events) {
    if (event.type === 'span.model_request_start') beginRequest(writing, event.id)
    else if (event.type === 'span.model_request_end') endText(writing)
    else if (event.type === 'agent.message') sayMessage(writing, event)
    else if (toolUseTypes.includes(event.type)) say(writing, ...chunksOfUse(event))
    else if (resultTypes.includes(event.type)) say(writing, chunkOfResult(event, denied))
  }
  return writing
}

/** What a run's stream says of the status that its task came to. @param metadata what the end tells besides it. */
export function chunksOfMove(
  before: StreamState,
  task: Pick<Task, 'id' | 'status' | 'error'>,
  metadata: Readonly<Record<string, unknown>>,
): Writing {
  const writing: Writing = { state: { ...before }, chunks: [] }
  const { chunks } = writing
  const { status, error } = task
  const run_id = encodeId('groupRun', task.id)
  if (before.lastNumber === 0) chunks.push({ type: 'start', messageId: run_id })
  const isEnd = status === 'completed' || status === 'failed' || status === 'cancelled'
  if (isEnd) {
    endText(writing)
    if (writing.state.step !== 'none') chunks.push({ type: 'finish-step' })
    writing.state.step = 'none'
  }
  chunks.push({ type: 'data-group-run', data: { run_id, status, error }, transient: true })
  if (status === 'failed') chunks.push({ type: 'error', errorText: error?.message ?? 'The run failed.' })
  if (status === 'cancelled') chunks.push({ type: 'abort' })
  else if (isEnd) chunks.push({ type: 'finish', messageMetadata: { run_id, status, ...metadata } })
  return writing
}

/** A request that is made again after one that said nothing goes on with its step. */
function beginRequest(writing: Writing, requestId: string): void {
  const { state, chunks } = writing
  endText(writing)
  if (state.step === 'used') chunks.push({ type: 'finish-step' })
  if (state.step !== 'begun') chunks.push({ type: 'start-step' })
  Object.assign(state, { step: 'begun', requestId, pieces: 0 })
}

function endText({ state, chunks }: Writing): void {
  if (state.requestId !== null && state.pieces > 0) chunks.push({ type: 'text-end', id: textIdOf(state.requestId) })
  Object.assign(state, { requestId: null, pieces: 0 })
}

/** A message whose text was not told in pieces is told as a whole. */
function sayMessage(writing: Writing, event: Said): void {
  if (writing.state.requestId !== null && writing.state.pieces > 0) return endText(writing)
  const id = encodeId('sessionEvent', event.id)
  say(
    writing,
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: textOf(event.data['content']) },
    { type: 'text-end', id },
  )
  writing.state.requestId = null
}

function say({ state, chunks }: Writing, ...added: readonly Chunk[]): void {
  if (state.step === 'none') chunks.push({ type: 'start-step' })
  state.step = 'used'
  chunks.push(...added)
}

function chunksOfUse({ id, type, data }: Said): Chunk[] {
  const toolCallId = encodeId('sessionEvent', id)
  const name = String(data['name'])
  const toolName = type === 'agent.mcp_tool_use' ? mcpToolName(String(data['mcp_server_name']), name) : name
  const call: Chunk = { type: 'tool-input-available', toolCallId, toolName, input: data['input'] ?? {} }
  return data['evaluated_permission'] === 'ask'
    ? [call, { type: 'tool-approval-request', approvalId: encodeId('approval', id), toolCallId }]
    : [call]
}

function chunkOfResult({ answers, data }: Said, denied: ReadonlySet<string>): Chunk {
  const toolCallId = encodeId('sessionEvent', answers ?? '')
  if (denied.has(answers ?? '')) return { type: 'tool-output-denied', toolCallId }
  const text = shortened(textOf(data['content']))
  return data['is_error'] === true
    ? { type: 'tool-output-error', toolCallId, errorText: text }
    : { type: 'tool-output-available', toolCallId, output: text }
}

function shortened(text: string): string {
  const { outputCharacters } = taskStreamLimits
  return text.length <= outputCharacters
    ? text
    : `${startOf(text, outputCharacters)}\n[Cut: the session’s log has the rest.]`
}

/** The text of content blocks; others are named by their type. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content
    .map((block: { type?: unknown; text?: unknown }) =>
      typeof block.text === 'string' ? block.text : `[${String(block.type)}]`,
    )
    .join('\n')
}
