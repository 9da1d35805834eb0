/** The events that the loop logs, and what a model's error means for the session. */
import type { Usage } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { costNanoUsd } from '#src/resources/llm/billing.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { UsageAdded } from '#src/resources/agents/sessions/usage.ts'
import { exchangeOf } from '#src/resources/agents/sessions/wire-events.ts'
import { storable } from '#src/resources/agents/storable.ts'
import type { ToolResult } from '#src/resources/agents/tools/results.ts'
import { openSpan, type TurnEvent } from '#src/resources/agents/turns.ts'

/** The kinds of `session.error`. */
export type SessionErrorType =
  | 'unknown_error'
  | 'model_overloaded_error'
  | 'model_rate_limited_error'
  | 'model_request_failed_error'
  | 'billing_error'
  | 'mcp_connection_failed_error'
  | 'mcp_authentication_failed_error'
  | 'environment_failed_error'

/**
 * The event that something failed. `retrying`: it is tried again by itself; `exhausted`: it is not, and the turn ends, or
 * goes on without it.
 */
export function errorEvent(
  type: SessionErrorType,
  message: string,
  retry: 'retrying' | 'exhausted',
  more: Record<string, unknown> = {},
): NewEvent {
  return { type: 'session.error', data: { error: { type, message, ...more, retry_status: { type: retry } } } }
}

/** The result of a tool use, in the event type that matches the use. That of `ask_peer` says which exchange it ends. */
export function resultEvent(
  use: Pick<TurnEvent, 'id' | 'type'> & Partial<Pick<TurnEvent, 'data'>>,
  { text, isError, content = [{ type: 'text', text }] }: ToolResult,
): NewEvent {
  const id = encodeId('sessionEvent', use.id)
  const isMcp = use.type === 'agent.mcp_tool_use'
  const exchangeId = exchangeOf({ data: {}, ...use })
  return {
    type: isMcp ? 'agent.mcp_tool_result' : 'agent.tool_result',
    data: {
      [isMcp ? 'mcp_tool_use_id' : 'tool_use_id']: id,
      content: content.map(storable),
      is_error: isError,
      ...(exchangeId === null ? {} : { peer_exchange_id: encodeId('peerExchange', exchangeId) }),
    },
  }
}

/** The end of a request to the model; usage is null when it failed before using any. */
export function spanEnd(spanId: string, isError: boolean, usage: Usage | null): NewEvent {
  return {
    type: 'span.model_request_end',
    data: {
      model_request_start_id: encodeId('sessionEvent', spanId),
      is_error: isError,
      model_usage: modelUsage(usage),
    },
  }
}

/** The usage of one or more requests, as events show it. */
export type ModelUsage = {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
}

/** Converts the model's usage. */
export function modelUsage(usage: Usage | null): ModelUsage {
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreation5mInputTokens } = usageOfRequest(usage)
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadInputTokens,
    cache_creation_input_tokens: cacheCreation5mInputTokens,
  }
}

/** Ends a request that a lost worker or an interrupt left open. */
export function endOfOpenSpan(log: readonly TurnEvent[]): NewEvent[] {
  const left = openSpan(log)
  return left ? [spanEnd(left.id, true, null)] : []
}

/** What a request adds to its session's usage. */
export function usageAdded({ pricing }: Pick<Model, 'pricing'>, usage: Usage): UsageAdded {
  return { ...usageOfRequest(usage), costNanoUsd: costNanoUsd(pricing, usage) }
}

/** Tokens as Anthropic counts them: cache reads and cache writes are separate. */
function usageOfRequest(usage: Usage | null): {
  inputTokens: number
  outputTokens: number
  cacheReadInputTokens: number
  cacheCreation5mInputTokens: number
} {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {}
  return {
    inputTokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    outputTokens,
    cacheReadInputTokens: cacheReadTokens,
    cacheCreation5mInputTokens: cacheWriteTokens,
  }
}

/** What an error of a model request means for the session: its type, its message, and whether a retry may help. */
export type ModelFault = { type: SessionErrorType; message: string; mayPass: boolean; isTooLong: boolean }

const typesByCode: Readonly<Record<string, SessionErrorType>> = {
  upstream_overloaded: 'model_overloaded_error',
  upstream_rate_limited: 'model_rate_limited_error',
  no_active_plan: 'billing_error',
  insufficient_credits: 'billing_error',
  budget_exceeded: 'billing_error',
}
const passing: readonly string[] = [
  'upstream_overloaded',
  'upstream_rate_limited',
  'upstream_error',
  'upstream_timeout',
  'service_unavailable',
  'rate_limited',
  'key_rate_limited',
  'timeout',
]

/** Classifies an error. Our own faults are not shown to the client. */
export function readModelFault(error: unknown): ModelFault {
  if (!(error instanceof BerthError))
    return {
      type: 'unknown_error',
      message: 'The request to the model failed on our side.',
      mayPass: true,
      isTooLong: false,
    }
  return {
    type: typesByCode[error.code] ?? 'model_request_failed_error',
    message: error.message,
    mayPass: passing.includes(error.code),
    isTooLong: error.code === 'context_length_exceeded',
  }
}
