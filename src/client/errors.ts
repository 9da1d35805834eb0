/** What this client throws. */

/** The parts of an error. */
export type ErrorParts = {
  message: string
  code: string
  status?: number
  requestId?: string | undefined
  retryAfter?: number | undefined
  field?: string | undefined
}

/**
 * Why a call failed. `message` is the server's sentence, which says what to do. `code` is one of `ErrorCode` of the graph
 * (`NOT_FOUND`), or of this client: `CONNECTION_FAILED`, `REQUEST_TIMED_OUT`, `INVALID_ANSWER`. `status` is the HTTP status
 * that belongs to it, 0 when there was no answer; `retryAfter` is in seconds; `field` names the place in the input.
 */
export class BerthError extends Error {
  readonly code: string
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfter: number | undefined
  readonly field: string | undefined

  constructor({ message, code, status = 0, requestId, retryAfter, field }: ErrorParts, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BerthError'
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfter = retryAfter
    this.field = field
  }
}

/** An entry of `errors` as the graph answers it. */
export type GraphError = {
  message?: unknown
  extensions?: { code?: unknown; http?: { status?: unknown }; requestId?: unknown; field?: unknown }
}

/** What the graph says of a failure. `more`: what its headers said. */
export function errorOfGraph(
  { message, extensions: { code, http, requestId, field } = {} }: GraphError,
  more: { status?: number; requestId?: string | undefined; retryAfter?: number | undefined } = {},
): BerthError {
  return new BerthError({
    message: text(message) ?? 'Berth refused this without a reason.',
    code: text(code) ?? 'INTERNAL_ERROR',
    status: typeof http?.status === 'number' ? http.status : (more.status ?? 0),
    requestId: text(requestId) ?? more.requestId,
    retryAfter: more.retryAfter,
    field: text(field),
  })
}

/** What a REST path says of a failure, in any of its envelopes. */
export function errorOfRest(
  body: unknown,
  more: { status: number; requestId?: string | undefined; retryAfter?: number | undefined },
): BerthError {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer['error']) ? outer['error'] : outer
  const code =
    text(inner['code']) ?? text(outer['error']) ?? (more.status >= 500 ? 'internal_error' : 'invalid_request')
  const message = text(inner['message']) ?? `Berth answered with the HTTP status ${more.status}.`
  return new BerthError({ ...more, code: code.toUpperCase(), message })
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
