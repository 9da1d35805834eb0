/** Refusals in the words of OAuth: `{"error", "error_description"}` (RFC 6749 §5.2, RFC 7591 §3.2.2, RFC 8628 §3.5). */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { BerthError, publicError, retryAfterOf } from '#src/platform/errors.ts'
import { refusedRequest } from '#src/platform/json/body.ts'
import { log } from '#src/platform/log.ts'
import { databaseAway, isDatabaseAway } from '#src/platform/postgres.ts'

/** The codes that a program may see. */
export type OAuthCode =
  | 'access_denied'
  | 'authorization_pending'
  | 'expired_token'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'server_error'
  | 'slow_down'
  | 'temporarily_unavailable'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type'

/** A refusal that a program reads: a code of OAuth, and a sentence that says what to do. */
export class OAuthError extends Error {
  readonly code: OAuthCode

  constructor(code: OAuthCode, sentence: string) {
    super(sentence)
    this.name = 'OAuthError'
    this.code = code
  }
}

/** Answers every error of a scope's routes in that shape. */
export function answerOAuthErrors(scope: FastifyInstance): void {
  scope.setErrorHandler((thrown, request, reply) => {
    const error = refusedRequest(thrown, request, reply)
    if (error instanceof OAuthError) return send(reply, statusOf(error.code), error.code, error.message)
    const shown = isDatabaseAway(error) ? databaseAway() : publicError(error)
    if (shown.code === 'internal_error')
      log.error({ err: error, requestId: request.id }, 'a program could not be answered')
    const retryAfterSeconds = retryAfterOf(shown)
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    return send(reply, shown.status, codeOf(shown), shown.message)
  })
}

function statusOf(code: OAuthCode): number {
  return code === 'invalid_client' ? 401 : 400
}

function codeOf({ status }: BerthError): OAuthCode {
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  return status >= 500 ? 'server_error' : 'invalid_request'
}

function send(reply: FastifyReply, status: number, error: OAuthCode, sentence: string): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .send({ error, error_description: described(sentence) })
}

/** As RFC 6749 has descriptions: printable ASCII, without `"` and `\`. */
export function described(sentence: string): string {
  return sentence
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'")
}
