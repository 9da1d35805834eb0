/**
 * The error types in error bodies of the agents service and the gateway: the words that Anthropic's and OpenAI's
 * clients know.
 */

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

/** The error type of a status; `api_error` for a status that is not in the table, because that is our own fault. */
export function errorType(status: number): string {
  return types[status] ?? 'api_error'
}
