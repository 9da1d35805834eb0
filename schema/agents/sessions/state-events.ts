/** The events about the session itself: status changes, failures, usage, and spans that measure time. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { eventOf, fieldsOf } from './event-kinds.ts'
import { eventIdIn, sessionEvent } from './events.ts'
import { budget, outcomeVerdict, sessionUsage, stopReason } from './parts.ts'
import type { OutcomeEnd } from '#src/resources/agents/sessions/outcomes/rows.ts'
import type { StopReason } from '#src/resources/agents/sessions/rows.ts'
import type { ShownBudget, ShownUsage } from '#src/resources/agents/sessions/usage.ts'
import type { ModelUsage, SessionErrorType } from '#src/resources/agents/turns/step-events.ts'

eventOf('session.status_running', 'The session is running.')
eventOf(
  'session.status_idle',
  'The session is idle.',
  fieldsOf((t) => ({
    stopReason: t.field({
      type: stopReason,
      nullable: true,
      description: 'What the session waits for.',
      resolve: ({ data }) => (data['stop_reason'] ?? null) as StopReason | null, // states.ts made it
    }),
  })),
)
eventOf('session.status_rescheduled', 'A temporary failure; the session retries soon.')
eventOf('session.status_terminated', 'The session ended permanently. Nothing follows.')
eventOf('session.deleted', 'The session was deleted, with its log. Nothing follows.')

const errorType = enumOf('SessionErrorType', 'What failed.', {
  unknown_error: 'A fault in Berth.',
  model_overloaded_error: 'The model is overloaded.',
  model_rate_limited_error: 'The model’s provider is rate limiting requests.',
  model_request_failed_error: 'The request to the model failed.',
  billing_error: 'The organization has no plan, no credits, or no budget left.',
  mcp_connection_failed_error: 'A tool server cannot be reached.',
  mcp_authentication_failed_error: 'A tool server refused the credential, or requires one.',
  environment_failed_error: 'The environment’s VM is not available.',
} satisfies Record<SessionErrorType, string>)
const retryStatus = enumOf('RetryStatus', 'Whether what failed is tried again.', {
  retrying: 'The session tries again by itself.',
  exhausted: 'The session does not try again by itself: the turn ended, or goes on without the tools that failed.',
})
type Fault = {
  type: SessionErrorType
  message: string
  retry_status: { type: 'retrying' | 'exhausted' }
  mcp_server_name?: string
}
const fault = builder.objectRef<Fault>('SessionFault').implement({
  description: 'What failed in a session.',
  fields: (t) => ({
    type: t.field({ type: errorType, description: 'What failed.', resolve: ({ type }) => type }),
    message: t.exposeString('message', { description: 'What went wrong, as a sentence.' }),
    retryStatus: t.field({
      type: retryStatus,
      description: 'Whether it is tried again.',
      resolve: ({ retry_status: { type } }) => type,
    }),
    mcpServerName: t.exposeString('mcp_server_name', {
      nullable: true,
      description: 'The tool server, when one failed.',
    }),
  }),
})
eventOf(
  'session.error',
  'Something failed.',
  fieldsOf((t) => ({
    error: t.field({
      type: fault,
      description: 'What failed.',
      resolve: ({ data }) => data['error'] as Fault, // step-events.ts made it
    }),
  })),
)
const spendable = fieldsOf((t) => ({
  budget: t.field({
    type: budget,
    nullable: true,
    description: 'Its spending limit; null when there is none, or when this change left it as it was.',
    resolve: ({ data }) => (data['budget'] ?? null) as ShownBudget | null, // usage.ts made it
  }),
}))
eventOf(
  'session.updated',
  'The session was changed; null fields stayed as they were.',
  spendable,
  fieldsOf((t) => ({
    title: t.string({
      nullable: true,
      description: 'Its new title.',
      resolve: ({ data }) => (data['title'] ?? null) as string | null, // sessions.ts made it
    }),
    metadata: t.field({
      type: 'TextMap',
      nullable: true,
      description: 'Its complete new metadata.',
      resolve: ({ data }) => (data['metadata'] ?? null) as Record<string, string> | null, // as above
    }),
  })),
)
eventOf(
  'session.usage',
  'What the session has used so far.',
  spendable,
  fieldsOf((t) => ({
    usage: t.field({
      type: sessionUsage,
      description: 'What it used.',
      resolve: ({ data }) => data['usage'] as ShownUsage, // usage.ts made it
    }),
  })),
)

const modelUsageType = builder.objectRef<ModelUsage>('ModelRequestUsage').implement({
  description: 'What requests to a model used.',
  fields: (t) => ({
    inputTokens: t.expose('input_tokens', {
      type: 'BigInt',
      description: 'Input tokens, without those read from a cache.',
    }),
    outputTokens: t.expose('output_tokens', { type: 'BigInt', description: 'Tokens written.' }),
    cacheReadInputTokens: t.expose('cache_read_input_tokens', {
      type: 'BigInt',
      description: 'Input tokens read from a cache.',
    }),
    cacheCreationInputTokens: t.expose('cache_creation_input_tokens', {
      type: 'BigInt',
      description: 'Tokens written to a cache.',
    }),
  }),
})
eventOf('span.model_request_start', 'A request to the model began.')
eventOf(
  'span.model_request_end',
  'A request to the model ended.',
  fieldsOf((t) => ({
    modelRequestStartId: t.id({
      description: 'The id of the event with which it began.',
      resolve: ({ data }) => String(data['model_request_start_id']),
    }),
    modelRequestStart: t.field({
      type: sessionEvent,
      nullable: true,
      description: 'Its beginning.',
      resolve: ({ data }) => eventIdIn(data['model_request_start_id']),
    }),
    isError: t.boolean({ description: 'Whether it failed.', resolve: ({ data }) => data['is_error'] === true }),
    modelUsage: t.field({
      type: modelUsageType,
      description: 'What it used.',
      resolve: ({ data }) => data['model_usage'] as ModelUsage, // step-events.ts made it
    }),
  })),
)

const graded = fieldsOf((t) => ({
  outcomeId: t.id({
    description: 'The id of the graded outcome: `outc_…`.',
    resolve: ({ data }) => String(data['outcome_id']),
  }),
  iteration: t.int({
    description: 'The iteration of work and grading, counted from 0.',
    resolve: ({ data }) => Number(data['iteration']),
  }),
}))
eventOf('span.outcome_evaluation_start', 'A grading began.', graded)
eventOf(
  'span.outcome_evaluation_end',
  'A grading ended.',
  graded,
  fieldsOf((t) => ({
    outcomeEvaluationStartId: t.id({
      description: 'The id of the event with which it began.',
      resolve: ({ data }) => String(data['outcome_evaluation_start_id']),
    }),
    outcomeEvaluationStart: t.field({
      type: sessionEvent,
      nullable: true,
      description: 'Its beginning.',
      resolve: ({ data }) => eventIdIn(data['outcome_evaluation_start_id']),
    }),
    verdict: t.field({
      type: outcomeVerdict,
      description: 'The result.',
      resolve: ({ data }) => data['result'] as OutcomeEnd | 'needs_revision', // evaluations.ts made it
    }),
    explanation: t.string({
      description: 'The grader’s explanation.',
      resolve: ({ data }) => String(data['explanation']),
    }),
    modelUsage: t.field({
      type: modelUsageType,
      description: 'What it used.',
      resolve: ({ data }) => data['usage'] as ModelUsage, // as above
    }),
  })),
)
