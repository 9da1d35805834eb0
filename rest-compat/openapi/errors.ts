/** Errors for OpenAPI: the envelope of each surface, and the statuses that every operation has. */
import type { Surface } from '../routes.ts'
import type { Json } from './components.ts'

const meanings: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Missing or invalid credentials',
  402: 'No active plan or credits',
  403: 'Not permitted',
  404: 'Absent, or not yours',
  409: 'Conflict',
  413: 'Body too large',
  429: 'Too many requests',
  500: 'Internal failure',
  502: 'Upstream or VM unreachable',
  503: 'Capacity or a dependency is unavailable',
  504: 'Timed out',
}
/** Answered by every operation, listed or not: anybody can be refused, and anybody can ask too often. */
const errorsOfAll = [400, 401, 403, 413, 429, 500]
/** Answered where a request may have an Idempotency-Key: it was used for another, or that is still at work. */
export const errorsOfKeyed = [409]

/** The answers that are errors: those of the route, and those of all. */
export function describeErrors(statuses: readonly number[]): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return Object.fromEntries(
    [...new Set([...statuses, ...errorsOfAll])]
      .sort((one, other) => one - other)
      .map((status) => [status, { description: meanings[status] ?? 'Error', content }]),
  )
}

const text = { type: 'string' }
const sentence = { ...text, description: 'What is wrong, and what to do.' }
const code = {
  ...text,
  description: 'The reason, for machines: one of the closed set that GraphQL’s `ErrorCode` lists.',
}
const requestId = { ...text, description: 'Tell it to whoever runs the installation.' }

/** The body of an error. */
export function errorSchema({ name }: Pick<Surface, 'name'>): Json {
  if (name === 'infra')
    return {
      type: 'object',
      properties: {
        error: code,
        message: sentence,
        current_target: { ...text, description: 'With `domain_already_linked`: where it leads.' },
      },
      required: ['error', 'message'],
      examples: [{ error: 'not_found', message: 'There is no such VM, or it is not yours.' }],
    }
  if (name === 'llm') {
    const properties = { type: text, code, message: sentence, request_id: requestId, service_id: text }
    return {
      type: 'object',
      properties: {
        error: {
          type: 'object',
          properties: { ...properties, param: { type: 'null' } },
          required: Object.keys(properties),
        },
      },
      required: ['error'],
    }
  }
  const error = {
    type: 'object',
    properties: { type: text, message: sentence, code },
    required: ['type', 'message', 'code'],
  }
  return {
    type: 'object',
    properties: { type: { ...text, enum: ['error'] }, error, request_id: requestId },
    required: ['type', 'error', 'request_id'],
  }
}
