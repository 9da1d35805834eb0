/** Errors for OpenAPI: the envelope of each surface, and the statuses that every operation has. */
import { BerthError, errorStatuses, type ErrorCode } from '#src/platform/errors.ts'
import type { Surface } from '../routes.ts'
import type { Components, Json } from './components.ts'
import { object, oneOf } from './json-schema.ts'

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
/** The status where a request may have an Idempotency-Key, and what it means on a path that has no other conflict. */
const ofKeyed = 409
const keyConflict = 'The Idempotency-Key was used for another request, or its first request is still running'

/**
 * The error answers: those of the route, and those of every operation.
 * @param isKeyed whether it takes an Idempotency-Key
 * @param schema of their bodies, where it is not that of the surface
 */
export function describeErrors(
  statuses: readonly number[],
  isKeyed: boolean,
  schema: unknown = { $ref: '#/components/schemas/Error' },
): Json {
  const content = { 'application/json': { schema } }
  return Object.fromEntries(
    [...new Set([...statuses, ...errorsOfAll, ...(isKeyed ? [ofKeyed] : [])])]
      .sort((one, other) => one - other)
      .map((status) => {
        const isOfKey = status === ofKeyed && !statuses.includes(status)
        return [status, { description: isOfKey ? keyConflict : (meanings[status] ?? 'Error'), content }]
      }),
  )
}

const text = { type: 'string' }
const sentence = { ...text, description: 'What is wrong, and what to do.' }
const requestId = { ...text, description: 'Report it to the operator of the installation.' }

/** What the surface's envelope says at a place, for every error that there is. */
function wordsAt({ envelope }: Pick<Surface, 'envelope'>, read: (body: Json) => unknown): Json {
  const codes = Object.keys(errorStatuses) as ErrorCode[] // the table's own keys
  const words = codes.map((code) => String(read(envelope(new BerthError(code, ''), ''))))
  return { ...text, enum: [...new Set(words)].sort() }
}

/** The body of an error. */
export function errorSchema(surface: Pick<Surface, 'name' | 'envelope'>, components: Components): Json {
  const errorOf = (body: Json): Json => body['error'] as Json // an object on the surfaces that are asked for it
  const codeOf = (body: Json): unknown => (surface.name === 'infra' ? body['error'] : errorOf(body)['code'])
  const code = components.add('ErrorCode', {
    ...wordsAt(surface, codeOf),
    description: 'The error code, for programs.',
  })
  if (surface.name === 'infra') {
    const message = {
      ...text,
      description: 'What is wrong, and what to do. Absent with `provider_token_invalid` and `provider_not_connected`.',
    }
    const current_target = { ...text, description: 'With `domain_already_linked`: the current target.' }
    return {
      ...object({ error: code }, { message, current_target }),
      examples: [{ error: 'not_found', message: 'The VM does not exist, or is not yours.' }],
    }
  }
  const type = components.add('ErrorType', {
    ...wordsAt(surface, (body) => errorOf(body)['type']),
    description: 'The kind of error, in the words of clients that were written for others.',
  })
  if (surface.name === 'llm') {
    const service_id = { ...text, description: 'The upstream that failed, or `gateway`.' }
    const error = { type, code, message: sentence, request_id: requestId, service_id }
    return object({ error: object(error, { param: { type: 'null' } }) })
  }
  return object({ type: oneOf('error'), error: object({ type, message: sentence, code }), request_id: requestId })
}
