/** The token endpoint of an authorization server: a refresh token for a new access token (RFC 6749 §6). */
import { z } from 'zod'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { jsonOf } from './models/json-values.ts'
import { readBeginning, type OutboundFetch } from './outbound-fetch.ts'

/** How a client authenticates at the token endpoint. */
export type ClientAuth = 'none' | 'client_secret_basic' | 'client_secret_post'
/** A client, as an authorization server knows it. */
export type ClientIdentity = { clientId: string; clientAuth: ClientAuth; clientSecret: string | null }
/** A request for a new access token. */
export type RefreshRequest = ClientIdentity & {
  tokenEndpoint: string
  refreshToken: string
  scope: string | null
  resource: string | null
}
/** A server's response, unmasked: its body may repeat secrets that were sent. */
export type HttpAnswer = { statusCode: number; contentType: string; body: string; truncated: boolean }
/**
 * The result. `refused`: the server says that this refresh token is no longer valid; `clientUnknown`: that it does not
 * know who asks. `expiresAt` is RFC 3339 text, null when the server does not say; `refreshToken` is null when the old one
 * stays valid.
 */
export type RefreshAnswer =
  | { status: 'succeeded'; accessToken: string; refreshToken: string | null; expiresAt: string | null }
  | { status: 'failed'; refused: boolean; clientUnknown: boolean; answer: HttpAnswer }
  | { status: 'connect_error' }

const limitMs = 10_000
const answerBytesMax = 128 * 1024
const longestExpirySeconds = 10 * 365 * 24 * 3600

/** The text of a token, which must fit into a header. */
export const tokenText = z
  .string()
  .min(1)
  .max(limits.tokenLength)
  .regex(/^[\x21-\x7e]+$/)
/** How many seconds a token is valid; null for what nobody can mean. */
export const expiresInShape = z.coerce.number().positive().max(longestExpirySeconds).nullish().catch(null)
const granted = z.object({
  access_token: tokenText,
  refresh_token: tokenText.nullish(),
  expires_in: expiresInShape,
})
const refusal = z.object({ error: z.string() })

/** Exchanges a refresh token. */
export async function exchangeRefreshToken(fetch: OutboundFetch, request: RefreshRequest): Promise<RefreshAnswer> {
  const askedMs = nowMs()
  let answer: HttpAnswer
  try {
    const response = await fetch(request.tokenEndpoint, {
      method: 'POST',
      body: formOf(request).toString(),
      redirect: 'manual',
      signal: AbortSignal.timeout(limitMs), // a redirect would carry the secrets elsewhere
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...clientHeaders(request),
      },
    })
    const { text, truncated } = await readBeginning(response, answerBytesMax)
    answer = {
      statusCode: response.status,
      contentType: response.headers.get('content-type') ?? '',
      body: text,
      truncated,
    }
  } catch {
    return { status: 'connect_error' } // the reason is not shown; callers see the status
  }
  const tokens = answer.statusCode === 200 ? granted.safeParse(jsonOf(answer.body)) : null
  if (!tokens?.success) {
    const error = answer.statusCode < 500 ? refusal.safeParse(jsonOf(answer.body)).data?.error : undefined
    const clientUnknown = error === 'invalid_client' || error === 'unauthorized_client'
    return { status: 'failed', refused: error === 'invalid_grant', clientUnknown, answer }
  }
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = tokens.data
  return {
    status: 'succeeded',
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresAt: expiresIn ? timestamp(askedMs + expiresIn * 1000) : null,
  }
}

function formOf(request: RefreshRequest): URLSearchParams {
  const { refreshToken, scope, resource } = request
  return new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    ...clientFields(request),
    ...(scope === null ? {} : { scope }),
    ...(resource === null ? {} : { resource }),
  })
}

/** The fields of a form by which a client authenticates. */
export function clientFields({ clientId, clientAuth, clientSecret }: ClientIdentity): Record<string, string> {
  return {
    ...(clientAuth === 'client_secret_basic' ? {} : { client_id: clientId }),
    ...(clientAuth === 'client_secret_post' ? { client_secret: clientSecret ?? '' } : {}),
  }
}

/**
 * The headers by which a client authenticates. Both halves are form-encoded before they are joined (RFC 6749 §2.3.1).
 */
export function clientHeaders({ clientId, clientAuth, clientSecret }: ClientIdentity): Record<string, string> {
  if (clientAuth !== 'client_secret_basic') return {}
  const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
  return {
    authorization: `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret ?? '')}`).toString('base64')}`,
  }
}
