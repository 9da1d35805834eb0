/** OpenAI's response object, and the items of its output. */
import { nowMs } from '#src/platform/clock.ts'
import type { CallExtra, FinishReason, Usage } from '#src/drivers/models/model.ts'
import type { BerthError } from '#src/platform/errors.ts'
import type { Repeated } from '#src/resources/llm/responses/requests.ts'
import type { Answering } from './chunks.ts'

/** A part of a message. */
export type OutputPart =
  | { type: 'output_text'; annotations: []; logprobs: unknown[]; text: string }
  | { type: 'refusal'; refusal: string }

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
/** An item of the output. */
export type OutputItem =
  | { type: 'message'; id: string; status: ItemStatus; role: 'assistant'; content: OutputPart[] }
  | {
      type: 'reasoning'
      id: string
      status: ItemStatus
      summary: { type: 'summary_text'; text: string }[]
      encrypted_content: string | null
    }
  | {
      type: 'function_call'
      id: string
      status: ItemStatus
      call_id: string
      name: string
      arguments: string
      extra_content?: CallExtra
    }

/** How a response ended, or that it has not. */
export type ResponseEnd =
  | { status: 'in_progress' }
  | { status: 'completed' | 'incomplete'; reason: string | null; usage: Usage }

/** The end of a response by why the model stopped. A refusal is a complete answer. */
export function endOfResponse(finishReason: FinishReason, usage: Usage, hasRefused: boolean): ResponseEnd {
  if (finishReason === 'length') return { status: 'incomplete', reason: 'max_output_tokens', usage }
  if (finishReason === 'content_filter' && !hasRefused) return { status: 'incomplete', reason: 'content_filter', usage }
  return { status: 'completed', reason: null, usage }
}

/** The id of an answer, as responses have it: the same as its row in the ledger. */
export function responseId({ id }: Pick<Answering, 'id'>): string {
  return `resp_${id.slice(id.indexOf('-') + 1)}`
}

/** The response as it is now. */
export function responseObject(
  completion: Answering,
  repeated: Repeated,
  output: readonly OutputItem[],
  end: ResponseEnd,
): Record<string, unknown> {
  const isOver = end.status !== 'in_progress'
  const reason = isOver ? end.reason : null
  const { fields, text } = repeated
  // One literal: it is written for each request, and copying parts of it took longer than all else.
  return {
    id: responseId(completion),
    object: 'response',
    created_at: completion.createdSeconds,
    completed_at: end.status === 'completed' ? Math.floor(nowMs() / 1000) : null,
    status: end.status,
    background: false,
    error: null,
    incomplete_details: reason === null ? null : { reason },
    model: completion.model.id,
    speed: completion.model.speed,
    output,
    usage: isOver ? usageOf(end.usage) : null,
    previous_response_id: null,
    store: false,
    truncation: 'disabled',
    max_tool_calls: repeated.maxToolCalls,
    instructions: repeated.instructions,
    max_output_tokens: repeated.maxOutputTokens,
    metadata: repeated.metadata,
    parallel_tool_calls: repeated.parallelToolCalls,
    reasoning: repeated.reasoning,
    text: { format: text.format, verbosity: text.verbosity ?? 'medium' },
    tool_choice: repeated.toolChoice,
    tools: repeated.tools.map(toolOf),
    temperature: fields['temperature'] ?? null,
    top_p: fields['top_p'] ?? null,
    top_logprobs: fields['top_logprobs'] ?? 0,
    service_tier: fields['service_tier'] ?? 'auto',
    user: fields['user'] ?? null,
    safety_identifier: fields['safety_identifier'] ?? null,
    prompt_cache_key: fields['prompt_cache_key'] ?? null,
    prompt_cache_retention: fields['prompt_cache_retention'] ?? null,
  }
}

function toolOf(tool: Repeated['tools'][number]): Record<string, unknown> {
  return { type: 'function', ...tool }
}

function usageOf(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** An error as an event of a stream: flat as it is described, and nested as OpenAI sends it. Clients read either. */
export function errorEvent(
  envelope: { error: Record<string, unknown> },
  { message }: Pick<BerthError, 'message'>,
  sequenceNumber: number,
): Record<string, unknown> {
  const { error } = envelope
  return { type: 'error', sequence_number: sequenceNumber, code: error['code'], message, param: null, error }
}
