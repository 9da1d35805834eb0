/** How the graph shows what the data of events hold. */
import type { TypeParam } from '@pothos/core'
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { blocksOf, contentBlock } from './content-blocks.ts'
import { confirmationResult } from './inputs.ts'
import { budget, outcomeVerdict, sessionUsage, stopReason } from './parts.ts'
import type { EventValue } from '#src/resources/agents/sessions/event-types.ts'
import type { ModelUsage, SessionErrorType } from '#src/resources/agents/turns/step-events.ts'

const permission = enumOf('EvaluatedPermission', 'Whether a tool runs immediately or waits for approval.', {
  allow: 'The tool runs immediately.',
  ask: 'The tool waits for the user’s approval.',
})
const rubric = builder.objectRef<{ content: string }>('TextRubric').implement({
  description: 'A rubric in words.',
  fields: (t) => ({ content: t.exposeString('content', { description: 'The words.' }) }),
})

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
const modelUsage = builder.objectRef<ModelUsage>('ModelRequestUsage').implement({
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

/**
 * A type of the graph, and how its value is read from what is stored, where it is not the same. `nullable`: the graph
 * promises no value, though every event has one.
 */
type ShownValue = {
  type: TypeParam<(typeof builder)['$inferSchemaTypes']>
  read?: (stored: unknown) => unknown
  nullable?: true
}
const content: ShownValue = { type: [contentBlock], read: blocksOf }

/** How each is shown; null where REST alone shows it. */
export const eventValues: Readonly<Record<EventValue, ShownValue | null>> = {
  agent: null,
  blocks: content,
  budget: { type: budget },
  confirmation: { type: confirmationResult, read: (stored) => (stored === 'allow' ? 'allow' : 'deny') },
  event: { type: 'ID', read: String },
  fault: { type: fault },
  flag: { type: 'Boolean', read: (stored) => stored === true },
  id: { type: 'ID', read: String },
  json: { type: 'JSON' },
  modelUsage: { type: modelUsage },
  nothing: null,
  number: { type: 'Int', read: Number },
  peerExchange: null, // ../peers.ts adds the exchange itself
  permission: { type: permission, read: (stored) => (stored === 'ask' ? 'ask' : 'allow') },
  rubric: { type: rubric },
  stopReason: { type: stopReason, nullable: true },
  text: { type: 'String', read: String },
  textBlocks: content,
  textMap: { type: 'TextMap' },
  usage: { type: sessionUsage },
  verdict: { type: outcomeVerdict },
}
