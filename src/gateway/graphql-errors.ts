/** Errors in GraphQL responses, for HTTP and web sockets alike. */
import { GraphQLError, type ExecutionResult } from 'graphql'
import { graphqlError, isFinding } from '#schema/public-error.ts'

/** Statuses with a code of their own for a request that GraphQL itself refused; all others are invalid requests. */
const codeOfStatus: Readonly<Record<number, string>> = { 413: 'REQUEST_TOO_LARGE' }
const refusedStatus = 400
/** The code that Apollo's clients look for; refusals with other codes are our own. */
export const persistedQueryNotSupported = 'PERSISTED_QUERY_NOT_SUPPORTED'

type HttpExtension = { status?: number; headers?: Record<string, string>; spec?: boolean }

/** One error as callers see it, and its effect on the HTTP answer. */
export type ShownError = {
  error: GraphQLError
  status: number
  bySpecification: boolean
  headers: Record<string, string>
}

const alreadyShown = new WeakMap<GraphQLError, ShownError>()

/** Converts a thrown value to what callers see; a converted one stays as it is. */
export function showError(thrown: unknown, requestId: string): ShownError {
  const known = thrown instanceof GraphQLError ? alreadyShown.get(thrown) : undefined
  if (known) return known
  const error = graphqlError(thrown, requestId)
  const own = isFinding(thrown)
  const http = (error.extensions['http'] ?? {}) as HttpExtension // set by us or by the GraphQL server
  const status = http.status ?? refusedStatus
  const { http: _http, originalError: _originalError, unexpected: _unexpected, ...extensions } = error.extensions
  const shown = new GraphQLError(error.message, {
    nodes: error.nodes,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions: {
      ...extensions,
      ...(own && extensions['code'] !== persistedQueryNotSupported
        ? { code: codeOfStatus[status] ?? 'INVALID_REQUEST' }
        : {}),
      http: { status },
    },
  })
  const { retryAfterSeconds } = extensions
  const outcome = {
    error: shown,
    status,
    // An invalid document: the specification requires 200 for it if the caller accepts application/json.
    bySpecification: own && error.locations !== undefined && (http.spec ?? http.status === undefined),
    headers: {
      ...http.headers,
      ...(typeof retryAfterSeconds === 'number' ? { 'retry-after': String(retryAfterSeconds) } : {}),
      ...(status === 401 ? { 'www-authenticate': 'Bearer error="invalid_token"' } : {}),
    },
  }
  alreadyShown.set(shown, outcome)
  return outcome
}

/** A result with its errors as callers see them. */
export function showResult<Result extends ExecutionResult>(result: Result, requestId: string): Result {
  if (!result.errors?.length) return result
  return { ...result, errors: result.errors.map((error) => showError(error, requestId).error) }
}
