/** Why a sign-in to a tool server cannot be, in our own words. */
import { IssuerMismatchError } from '@modelcontextprotocol/client'
import { causesOf, OutboundError } from '../../outbound.ts'

/**
 * A sign-in that cannot be. The message is ours: what servers say may contain anything. `unreachable`: it may work
 * later. `mixed_up`: the answer came from another authorization server. `refused`: the code is not good.
 */
export class SignInError extends Error {
  readonly kind: 'unreachable' | 'unsuitable' | 'mixed_up' | 'refused' | 'client_unknown'
  constructor(kind: SignInError['kind'], message: string) {
    super(message)
    this.name = 'SignInError'
    this.kind = kind
  }
}

/** An error in our own words. @param what what the service did, as the end of a sentence. */
export function readError(error: unknown, what: string): SignInError {
  if (error instanceof SignInError) return error
  if (error instanceof IssuerMismatchError)
    return new SignInError(
      error.kind === 'metadata' ? 'unsuitable' : 'mixed_up',
      error.kind === 'metadata'
        ? 'The service’s authorization server says that it is another one.'
        : error.received === undefined
          ? 'The authorization server sends iss beside the code, and it was not passed on. Send it as well.'
          : 'The answer came from another authorization server than the one that was asked.',
    )
  const outbound = causesOf(error).find((cause) => cause instanceof OutboundError)
  if (outbound) return new SignInError('unreachable', outbound.message)
  const code = codeOf(error)
  if (code === 'invalid_client' || code === 'unauthorized_client')
    return new SignInError('client_unknown', 'The service’s authorization server does not know Berth as its client.')
  if (code !== null && code !== 'server_error' && code !== 'temporarily_unavailable')
    return new SignInError('refused', `The service ${what} (${code}).`)
  return new SignInError('unreachable', `The service ${what}.`)
}

/** An error code of OAuth, if it is one of those that are known: a server's own words are not shown. */
function codeOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return oauthCodes.has(code) ? code : null
}

const oauthCodes: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
])
