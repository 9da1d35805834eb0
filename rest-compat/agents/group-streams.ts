/** The reply of a group's run as a stream of the AI SDK's chunks, which resumes. */
import { orNull, type Json, type ShapeParts } from '../openapi/components.ts'
import { anyObject, nullableText, object, oneOf, text, union, wholeNumber } from '../openapi/json-schema.ts'
import type { Routes } from '../routes.ts'

/** The headers by which the AI SDK knows its UI message stream. */
export const uiStreamHeaders = {
  'x-sdk-ui-message-stream': 'v1',
  'x-vercel-ai-ui-message-stream': 'v1',
} as const

/** The stream of a run. */
export const groupStreamRoutes: Routes = {
  'GET /v1/groups/{id}/runs/{run_id}/stream': {
    status: 200,
    errors: [400, 404, 409],
    cursor: 'after',
    tokenInQuery: true,
    sameForAll: true,
    ends: true,
    frames: 'ui',
    headers: uiStreamHeaders,
    summary: 'The run’s reply while it is written, as a UI message stream: from its first chunk, or from after a chunk',
    operation: `subscription followGroupRun ($id: ID!, $run_id: ID!, $after: String) {
      body: groupRunChunkEvents(groupId: $id, groupRunId: $run_id, after: $after) { ... on GroupRunChunk { id: cursor chunk: wire } } }`,
  },
}

/** A chunk of a run's reply. */
export function runChunkShape({ add, describe }: ShapeParts): Json {
  const aboutCall = { toolCallId: text }
  const status = oneOf('queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled')
  const usage = object({
    input_tokens: wholeNumber,
    output_tokens: wholeNumber,
    cache_read_input_tokens: wholeNumber,
    cache_creation_input_tokens: wholeNumber,
  })
  const metadata = object({ run_id: text, status, finishReason: oneOf('stop', 'error'), model: nullableText, usage })
  const fields: Record<string, Record<string, Json>> = {
    start: { messageId: text },
    'start-step': {},
    'text-start': { id: text },
    'text-delta': { id: text, delta: text },
    'text-end': { id: text },
    'tool-input-available': { ...aboutCall, toolName: text, input: anyObject },
    'tool-approval-request': { ...aboutCall, approvalId: text },
    'tool-output-available': { ...aboutCall, output: text },
    'tool-output-error': { ...aboutCall, errorText: text },
    'tool-output-denied': aboutCall,
    'finish-step': {},
    'data-group-run': {
      data: object({ run_id: text, status, error: orNull(object({ type: text, message: text })) }),
      transient: { type: 'boolean', const: true },
    },
    error: { errorText: text },
    finish: { messageMetadata: metadata },
    abort: {},
  }
  const kinds = Object.entries(fields).map(([type, has]): [string, Json] => [
    type,
    add(`GroupRun${pascal(type)}Chunk`, object({ type: oneOf(type), ...has })),
  ])
  return add('GroupRunChunk', { description: describe('GroupRunChunk'), ...union('type', Object.fromEntries(kinds)) })
}

function pascal(type: string): string {
  return type.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
