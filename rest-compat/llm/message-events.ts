/** The wire format of `POST /v1/messages`: the events of a stream, the body of an answer that is not streamed, and errors. */
import { requestTokens } from '#src/drivers/models/estimates.ts'
import { jsonOf, objectOf } from '#src/drivers/models/json-values.ts'
import { endOf, WholeAnswer, type ModelEvent, type ModelRequest, type Usage } from '#src/drivers/models/model.ts'
import type { BerthError } from '#src/platform/errors.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import type { FailureText, StreamText, Answering } from './chunks.ts'
import { llmEnvelope } from './envelope.ts'
import { MessageBlocks, type StartedBlock } from './message-blocks.ts'

/** What a writer needs to know of the request. */
type AskedFor = Pick<ModelRequest, 'messages' | 'tools' | 'stop'>
type End = Extract<ModelEvent, { type: 'end' }>

/** The error envelope of Anthropic's clients; `code` and `service_id` are what the gateway's other envelope has too; `details` are for the client. */
export function messagesEnvelope(error: BerthError, requestId: string): Record<string, unknown> {
  const { type, code, message, service_id } = llmEnvelope(error, requestId).error
  const { errorCode } = error.details // put there by resources/llm/messages
  const details = typeof errorCode === 'string' ? { details: { error_code: errorCode } } : {}
  return { type: 'error', error: { type, message, code, service_id, ...details }, request_id: requestId }
}

/** The event that ends a stream with an error. */
export const messageFailure: FailureText = (error, requestId) => eventOf('error', messagesEnvelope(error, requestId))

/**
 * Writes the events of a stream. This is a hot path: of the pieces of blocks, only the text is serialized.
 * @param request what is answered: its stop texts, and its size until the provider tells it.
 */
export function messageEventText(answering: Answering, request: AskedFor): StreamText {
  let text = ''
  let hasStarted = false
  let place = -1
  const delta = (type: string, field: string, value: string, more = ''): void => {
    text += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${place},"delta":{"type":"${type}","${field}":${JSON.stringify(value)}${more}}}\n\n`
  }
  const blocks = new MessageBlocks({
    start(block) {
      place++
      text += eventOf('content_block_start', { type: 'content_block_start', index: place, content_block: begun(block) })
    },
    text: (piece) => delta('text_delta', 'text', piece),
    thinking: (piece) => delta('thinking_delta', 'thinking', piece, ',"estimated_tokens":null'), // the beta’s types have it
    signature: (signature) => delta('signature_delta', 'signature', signature),
    input: (piece) => delta('input_json_delta', 'partial_json', piece),
    stop(extra) {
      const late = extra ? `,"extra_content":${JSON.stringify(extra)}` : '' // clients ignore what they do not know, but for deltas
      text += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${place}${late}}\n\n`
    },
  })
  const start = (events: readonly ModelEvent[]): void => {
    hasStarted = true
    const message = messageOf(answering, [], null, knownUsage(events, request))
    text += eventOf('message_start', { type: 'message_start', message })
  }
  const end = (event: End): void => {
    const stop = stopOf(event, blocks.hasRefused, request.stop)
    text += eventOf('message_delta', {
      type: 'message_delta',
      delta: {
        stop_reason: stop.reason,
        stop_sequence: stop.sequence,
        stop_details: null,
        container: null,
      },
      usage: tokenCounts(event.usage),
      context_management: null,
    })
    text += 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  }
  return {
    batch(events) {
      text = ''
      if (!hasStarted) start(events)
      for (const event of events) {
        blocks.add(event)
        if (event.type === 'end') end(event)
      }
      return text
    },
  }
}

/**
 * The whole answer as one body.
 * @param stops the stop texts that were asked for.
 * @throws BerthError when the upstream cuts it off.
 */
export async function messageBody(completion: Completion, stops: readonly string[]): Promise<Record<string, unknown>> {
  const content: Record<string, unknown>[] = []
  let pieces: string[] = []
  let signed = ''
  let open: StartedBlock = { type: 'text' }
  const blocks = new MessageBlocks({
    start(block) {
      open = block
      pieces = []
      signed = ''
    },
    text: (piece) => void pieces.push(piece),
    thinking: (piece) => void pieces.push(piece),
    signature: (signature) => void (signed = signature),
    input: (piece) => void pieces.push(piece),
    stop: (extra) =>
      void content.push({
        ...complete(open, pieces.join(''), signed),
        ...(extra ? { extra_content: extra } : {}),
      }),
  })
  let last: readonly ModelEvent[] = []
  const take = (batch: readonly ModelEvent[]): void => {
    for (const event of batch) blocks.add(event)
    last = batch
  }
  const { events } = completion
  if (events instanceof WholeAnswer) take(events.events)
  else for await (const batch of events) take(batch)
  const end = endOf(last)
  return messageOf(completion, content, stopOf(end, blocks.hasRefused, stops), end.usage)
}

/** The message as it is now. Its id is that of its row in the ledger. */
function messageOf(
  { id, model }: Answering,
  content: readonly Record<string, unknown>[],
  stop: Stop | null,
  usage: Usage,
): Record<string, unknown> {
  return {
    id: `msg_${id.slice(id.indexOf('-') + 1)}`,
    type: 'message',
    role: 'assistant',
    model: model.id,
    container: null,
    diagnostics: null,
    context_management: null,
    content,
    stop_reason: stop?.reason ?? null,
    stop_sequence: stop?.sequence ?? null,
    stop_details: null,
    usage: {
      ...tokenCounts(usage),
      cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
      service_tier: null,
      inference_geo: null,
      speed: model.speed,
    },
  }
}

/** A block before anything of it has arrived. */
function begun(block: StartedBlock): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '', citations: [] }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'redacted_thinking':
      return { ...block }
    case 'tool_use':
      return { ...block, input: {}, caller: { type: 'direct' } }
  }
}

/** A block that is complete. */
function complete(block: StartedBlock, whole: string, signature: string): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: whole, citations: [] } // none: some clients refuse null
    case 'thinking':
      return { type: 'thinking', thinking: whole, signature }
    case 'redacted_thinking':
      return { ...block }
    case 'tool_use': {
      const input = objectOf(jsonOf(whole || '{}')) ?? { invalid_arguments: whole } // the format has no place for what is not an object
      return { ...block, input, caller: { type: 'direct' } }
    }
  }
}

type Stop = { reason: string; sequence: string | null }

/** Why the answer ended, in Anthropic's words. Some providers name other things than stop texts. */
function stopOf({ finishReason, stopSequence }: End, hasRefused: boolean, stops: readonly string[]): Stop {
  const sequence = stopSequence !== undefined && stops.includes(stopSequence) ? stopSequence : null
  if (hasRefused || finishReason === 'content_filter') return { reason: 'refusal', sequence: null }
  if (finishReason === 'length') return { reason: 'max_tokens', sequence: null }
  if (finishReason === 'tool_calls') return { reason: 'tool_use', sequence: null }
  return sequence === null ? { reason: 'end_turn', sequence } : { reason: 'stop_sequence', sequence }
}

/** The usage that is known when the answer begins: what its provider has reported of the request, or else an estimate. */
function knownUsage(events: readonly ModelEvent[], request: AskedFor): Usage {
  const reported: Partial<Usage> = {}
  for (const event of events) if (event.type === 'usage') Object.assign(reported, event.usage)
  const inputTokens = reported.inputTokens ?? requestTokens(request)
  return { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, ...reported, inputTokens }
}

/** Tokens in Anthropic's words: `input_tokens` are those that the cache had nothing to do with. */
function tokenCounts({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens,
}: Usage): Record<string, unknown> {
  return {
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
    iterations: null, // one request is one iteration here
    fallback_credit: null,
  }
}

function eventOf(name: string, data: Readonly<Record<string, unknown>>): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
