/**
 * Every error that a caller can see: one class and one closed table. Any other thrown value is a bug: it is logged in
 * full and shown as `internal_error`.
 */

/**
 * code -> HTTP status. The code is `error` in infra's bodies, and `error.code` in those of the agents service and the
 * gateway.
 */
export const errorStatuses = {
  invalid_request: 400,
  invalid_env_key: 400,
  invalid_env_value: 400,
  invalid_spec: 400,
  invalid_domain: 400,
  invalid_target: 400,
  invalid_template: 400,
  dns_not_verified: 400,
  backup_not_usable: 400,
  restore_in_progress: 400,
  invalid_cron: 400,
  invalid_timezone: 400,
  client_access_unavailable: 400,
  provider_not_connected: 400,
  invalid_code: 400,
  unsupported_model: 400,
  invalid_messages: 400,
  invalid_parameter: 400,
  unsupported_parameter: 400,
  stream_required: 400,
  tools_require_streaming: 400,
  reasoning_requires_streaming: 400,
  reasoning_effort_unsupported: 400,
  reasoning_id_missing: 400,
  reasoning_model_mismatch: 400,
  context_length_exceeded: 400,
  unknown_model: 400,
  unknown_tool: 400,
  url_only_attachment: 400,
  mcp_server_url_immutable: 400,
  secret_name_immutable: 400,
  member_not_computer_session: 400,
  unauthorized: 401,
  authentication_invalid: 401,
  provider_token_invalid: 401,
  key_missing: 401,
  key_invalid: 401,
  key_expired: 401,
  key_revoked: 401,
  no_active_plan: 402,
  insufficient_credits: 402,
  budget_exceeded: 402,
  forbidden: 403,
  org_mismatch: 403,
  not_permitted_for_role: 403,
  missing_scope: 403,
  sign_in_code_required: 403,
  not_found: 404,
  route_not_found: 404,
  database_name_taken: 409,
  organization_name_taken: 409,
  database_not_ready: 409,
  backup_in_progress: 409,
  client_access_in_transition: 409,
  domain_already_linked: 409,
  invalid_transition: 409,
  last_owner: 409,
  idempotency_conflict: 409,
  idempotency_in_progress: 409,
  log_over: 409,
  replay_retention_exceeded: 409,
  agent_version_mismatch: 409,
  resource_archived: 409,
  work_active: 409,
  environment_name_taken: 409,
  vault_archived: 409,
  credential_key_taken: 409,
  memory_revision_stale: 409,
  session_running: 409,
  session_archived: 409,
  requires_action_pending: 409,
  already_answered: 409,
  run_not_started: 409,
  request_too_large: 413,
  unsupported_encoding: 415,
  rate_limited: 429,
  build_quota_exceeded: 429,
  key_rate_limited: 429,
  upstream_rate_limited: 429,
  internal_error: 500,
  internal: 500,
  vm_unreachable: 502,
  upstream_error: 502,
  capacity_unavailable: 503,
  service_unavailable: 503,
  upstream_overloaded: 503,
  credential_authority_unavailable: 503,
  timeout: 504,
  upstream_timeout: 504,
} as const

/** One of the closed set of error codes. */
export type ErrorCode = keyof typeof errorStatuses

/** Whether a text is the code of an error. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorStatuses, text)
}

/** An error that a caller may see: its code, and a sentence that says what to do. Never put a secret in either. */
export class BerthError extends Error {
  readonly code: ErrorCode
  readonly status: number
  /** Further documented body fields, such as `current_target`; and `retryAfterSeconds`, which becomes a header. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, sentence: string, details: Record<string, unknown> = {}) {
    super(sentence)
    this.name = 'BerthError'
    this.code = code
    this.status = errorStatuses[code]
    this.details = details
  }
}

/** When nothing better is known, how long who was refused for now is to wait. */
const usualRetrySeconds = 2

/** After how many seconds to try again; undefined for an error that is not of this moment alone. */
export function retryAfterOf({ status, details: { retryAfterSeconds } }: BerthError): number | undefined {
  if (typeof retryAfterSeconds === 'number') return retryAfterSeconds
  return status === 429 || status === 503 ? usualRetrySeconds : undefined
}

/** The 404 for what does not exist, is malformed or belongs to another tenant, which is the same byte for byte. */
export function notFound(noun: string): BerthError {
  return new BerthError('not_found', `There is no such ${noun}, or it is not yours.`, { noun })
}

/** What callers see of a thrown value: a BerthError as it is, anything else as a plain internal error. */
export function publicError(thrown: unknown): BerthError {
  if (thrown instanceof BerthError) return thrown
  return new BerthError(
    'internal_error',
    'Something went wrong on our side. Try again; if it persists, send the request id to your operator.',
  )
}
