/** Errors for OpenAPI: the envelope of each surface, and the statuses that every operation has. */
import type { Surface } from '../routes.ts'
import type { Json } from './components.ts'

const meanings: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Missing or invalid credentials',
  402: 'No active plan or credits',
  403: 'Not permitted',
  404: 'Not found, or not yours',
  409: 'Conflict',
  413: 'Body too large',
  429: 'Too many requests',
  500: 'Internal failure',
  502: 'Upstream or VM unreachable',
  503: 'Capacity or a dependency is unavailable',
  504: 'Timed out',
}
/** Every operation may answer these, listed or not: anyone can be refused, and anyone can be rate limited. */
const errorsOfAll = [400, 401, 403, 413, 429, 500]
/**
 * Where a request may have an Idempotency-Key: the key was used for another request, or the first one is still running.
 */
export const errorsOfKeyed = [409]

/** The error answers: those of the route, and those of every operation. */
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
  description: 'The error code: one of the values of GraphQL’s `ErrorCode`.',
}
const requestId = { ...text, description: 'Report it to the operator of the installation.' }

/** The body of an error. */
export function errorSchema({ name }: Pick<Surface, 'name'>): Json {
  if (name === 'infra')
    return {
      type: 'object',
      properties: {
        error: code,
        message: sentence,
        current_target: { ...text, description: 'With `domain_already_linked`: the current target.' },
      },
      required: ['error', 'message'],
      examples: [{ error: 'not_found', message: 'The VM does not exist, or is not yours.' }],
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
