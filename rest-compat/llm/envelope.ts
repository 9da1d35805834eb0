/** The gateway's error envelope: its own closed set of codes, and the service that failed. */
import type { BerthError, ErrorCode } from '#src/platform/errors.ts'
import { errorType } from '../error-types.ts'

/** The error codes that have another name here. */
const codesHere: Partial<Record<ErrorCode, string>> = {
  invalid_request: 'invalid_parameter',
  forbidden: 'missing_scope',
  not_permitted_for_role: 'missing_scope',
  not_found: 'route_not_found',
  rate_limited: 'key_rate_limited',
  internal_error: 'internal',
  service_unavailable: 'credential_authority_unavailable',
  capacity_unavailable: 'credential_authority_unavailable',
  timeout: 'upstream_timeout',
}

function codeOf({ code, details }: BerthError): string {
  if (code === 'unauthorized') return typeof details['keyCode'] === 'string' ? details['keyCode'] : 'key_invalid' // put there by platform/access.ts and resources/llm/api-key-checker.ts
  return codesHere[code] ?? code
}

/** The body of an error. `param` is for OpenAI's clients, which read it. */
export function llmEnvelope(error: BerthError, requestId: string): { error: Record<string, unknown> } {
  const code = codeOf(error)
  const type = code === 'upstream_overloaded' ? 'overloaded_error' : errorType(error.status)
  const upstream = error.details['upstream'] // put there by drivers/models
  return {
    error: {
      type,
      code,
      message: error.message,
      param: null,
      request_id: requestId,
      service_id: typeof upstream === 'string' ? upstream : 'gateway',
    },
  }
}

/** One attempt at an upstream, as resources/llm/attempts.ts records it. */
export type ReportedAttempt = { upstream: string; status: string }

/** Headers that say which upstream answered, how many were tried, and what failed. */
export function attemptHeaders(
  upstream: string | undefined,
  attempts: readonly ReportedAttempt[],
): Record<string, string> {
  const headers: Record<string, string> = {}
  if (upstream !== undefined) headers['x-berth-upstream'] = upstream
  if (attempts.length > 0) headers['x-berth-attempts'] = String(attempts.length)
  if (attempts.length > 1 || attempts[0]?.status !== 'ok') {
    const failed = attempts.filter(({ status }) => status !== 'ok').map((one) => `${one.upstream} ${one.status}`)
    if (failed.length > 0) headers['x-berth-failed'] = failed.join(', ')
  }
  return headers
}

/**
 * Headers of an error. OpenAI's clients retry 409, 429 and 5xx by themselves, so they are told when a retry cannot
 * help.
 */
export function llmErrorHeaders({ code, status, details }: BerthError): Record<string, string> {
  const { upstream, attempts } = details
  const headers = attemptHeaders(
    typeof upstream === 'string' ? upstream : undefined,
    Array.isArray(attempts) ? (attempts as readonly ReportedAttempt[]) : [],
  ) // put there by resources/llm/attempts.ts
  if (status === 402 || code === 'idempotency_conflict') headers['x-should-retry'] = 'false'
  return headers
}
