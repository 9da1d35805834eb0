/** The events by which a session says how it is: its states, its faults, its use, and what took how long. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { eventOf, fieldsOf } from './event-kinds.ts'
import { eventIdIn, sessionEvent } from './events.ts'
import { budget, outcomeVerdict, sessionUsage, stopReason } from './parts.ts'
import type { OutcomeEnd } from '#src/resources/agents/outcomes/rows.ts'
import type { StopReason } from '#src/resources/agents/sessions/rows.ts'
import type { ShownBudget, ShownUsage } from '#src/resources/agents/sessions/usage.ts'
import type { ModelUsage, SessionErrorType } from '#src/resources/agents/turns/step-events.ts'

eventOf('session.status_running', 'The session works.')
eventOf(
  'session.status_idle',
  'The session waits.',
  fieldsOf((t) => ({
    stopReason: t.field({
      type: stopReason,
      nullable: true,
      description: 'For what.',
      resolve: ({ data }) => (data['stop_reason'] ?? null) as StopReason | null, // states.ts made it
    }),
  })),
)
eventOf('session.status_rescheduled', 'Something failed that may pass; it is tried again soon.')
eventOf('session.status_terminated', 'The session ended for ever. Nothing follows.')
eventOf('session.deleted', 'The session was deleted, with its log. Nothing follows.')

const errorType = enumOf('SessionErrorType', 'What failed.', {
  unknown_error: 'Something on Berth’s side.',
  model_overloaded_error: 'The model has too much to do.',
  model_rate_limited_error: 'The model was asked too often.',
  model_request_failed_error: 'The model did not answer the request.',
  billing_error: 'No plan, no credits, or the budget of the organization is used up.',
  mcp_connection_failed_error: 'A tool server cannot be reached.',
  mcp_authentication_failed_error: 'A tool server refuses the credential, or wants one.',
  environment_failed_error: 'The environment has no VM to work in.',
} satisfies Record<SessionErrorType, string>)
const retryStatus = enumOf('RetryStatus', 'Whether a session goes on after a fault.', {
  retrying: 'By itself.',
  exhausted: 'No; the turn ended.',
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
    message: t.exposeString('message', { description: 'What went wrong, in a sentence.' }),
    retryStatus: t.field({
      type: retryStatus,
      description: 'Whether the session goes on.',
      resolve: ({ retry_status: { type } }) => type,
    }),
    mcpServerName: t.exposeString('mcp_server_name', {
      nullable: true,
      description: 'The tool server, when it was one.',
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
    description: 'What it may spend; null without a limit, or where a change leaves it as it was.',
    resolve: ({ data }) => (data['budget'] ?? null) as ShownBudget | null, // usage.ts made it
  }),
}))
eventOf(
  'session.updated',
  'The session was changed: what is null stayed as it was.',
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
      description: 'Its new metadata, whole.',
      resolve: ({ data }) => (data['metadata'] ?? null) as Record<string, string> | null, // as above
    }),
  })),
)
eventOf(
  'session.usage',
  'What the session used so far.',
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
    inputTokens: t.expose('input_tokens', { type: 'BigInt', description: 'Tokens read, without those of a cache.' }),
    outputTokens: t.expose('output_tokens', { type: 'BigInt', description: 'Tokens written.' }),
    cacheReadInputTokens: t.expose('cache_read_input_tokens', {
      type: 'BigInt',
      description: 'Tokens that came from a cache.',
    }),
    cacheCreationInputTokens: t.expose('cache_creation_input_tokens', {
      type: 'BigInt',
      description: 'Tokens that went into a cache.',
    }),
  }),
})
eventOf('span.model_request_start', 'A request to the model began.')
eventOf(
  'span.model_request_end',
  'A request to the model ended.',
  fieldsOf((t) => ({
    modelRequestStartId: t.id({
      description: 'The event of its beginning.',
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
  outcomeId: t.id({ description: 'What is graded: `outc_…`.', resolve: ({ data }) => String(data['outcome_id']) }),
  iteration: t.int({
    description: 'In which cycle of work and grading, from 0.',
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
      description: 'The event of its beginning.',
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
      description: 'What it came to.',
      resolve: ({ data }) => data['result'] as OutcomeEnd | 'needs_revision', // evaluations.ts made it
    }),
    explanation: t.string({ description: 'What the grader said.', resolve: ({ data }) => String(data['explanation']) }),
    modelUsage: t.field({
      type: modelUsageType,
      description: 'What it used.',
      resolve: ({ data }) => data['usage'] as ModelUsage, // as above
    }),
  })),
)
