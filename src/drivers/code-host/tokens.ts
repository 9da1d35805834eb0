/** Tokens of people at the code host: got for a code, renewed by a refresh token, and withdrawn. */
import { z } from 'zod'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { askCodeHost } from './requests.ts'
import type { CodeHostApp } from './places.ts'

/** The tokens of one person. `expiresAt` is RFC 3339 text; it and `refreshToken` are null for tokens that do not end. */
export type CodeHostTokens = {
  accessToken: string
  refreshToken: string | null
  expiresAt: string | null
  scopes: string[]
}

const tokenText = z
  .string()
  .min(1)
  .max(codeHostLimits.tokenLength)
  .regex(/^[\x21-\x7e]+$/)
const longestSeconds = 10 * 365 * 24 * 3600
const granted = z.object({
  access_token: tokenText,
  refresh_token: tokenText.nullish(),
  expires_in: z.coerce.number().positive().max(longestSeconds).nullish().catch(null),
  scope: z.string().max(8_192).nullish().catch(null),
})
const refusal = z.object({ error: z.string().max(200) })

/** Exchanges the code of an authorization. @throws BerthError invalid_code; upstream_error, timeout. */
export async function exchangeCode(app: CodeHostApp, code: string): Promise<CodeHostTokens> {
  const outcome = await grant(app, { code })
  if ('refused' in outcome)
    throw new BerthError(
      'invalid_code',
      'The code host does not accept this code: it is wrong, was used before, or is older than ten minutes. Authorize once more.',
    )
  return outcome
}

/** New tokens for a refresh token; null when the code host will not accept it again. @throws BerthError upstream_error, timeout. */
export async function refreshTokens(app: CodeHostApp, refreshToken: string): Promise<CodeHostTokens | null> {
  const outcome = await grant(app, { grant_type: 'refresh_token', refresh_token: refreshToken })
  return 'refused' in outcome ? null : outcome
}

/** Withdraws a token at the code host, as far as that answers. @returns whether it did. */
export async function revokeToken(app: CodeHostApp, accessToken: string): Promise<boolean> {
  const { clientId, clientSecret, api } = app
  try {
    const { status } = await askCodeHost({
      method: 'DELETE',
      url: `${api}/applications/${encodeURIComponent(clientId)}/token`,
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      body: { access_token: accessToken },
      limitMs: codeHostLimits.revokeMs,
    })
    return status === 204 || status === 404 || status === 422 // the latter two: there is no such token any more
  } catch (error) {
    if (error instanceof BerthError) return false
    throw error
  }
}

/** GitHub answers refusals with 200, so its body decides. */
async function grant(app: CodeHostApp, body: Record<string, string>): Promise<CodeHostTokens | { refused: true }> {
  const askedMs = nowMs()
  const answer = await askCodeHost({
    method: 'POST',
    url: `${app.url}/login/oauth/access_token`,
    authorization: null,
    body: { client_id: app.clientId, client_secret: app.clientSecret, ...body },
  })
  const error = refusal.safeParse(answer.body).data?.error
  if (error !== undefined && refusals.has(error)) return { refused: true }
  if (error !== undefined && misconfigured.has(error))
    throw new BerthError(
      'upstream_error',
      'The code host does not know this installation’s app, or its secret. Tell your operator: BERTH_CODEHOST_CLIENT_ID and BERTH_CODEHOST_CLIENT_SECRET.',
    )
  if (answer.retryAfterSeconds !== null)
    throw new BerthError('rate_limited', 'The code host takes no more requests for now. Try again later.', {
      retryAfterSeconds: answer.retryAfterSeconds,
    })
  const tokens = answer.status === 200 ? granted.safeParse(answer.body).data : undefined
  if (!tokens)
    throw new BerthError('upstream_error', 'The code host answered with something other than a token. Try again later.')
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, scope } = tokens
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresAt: expiresIn ? timestamp(askedMs + expiresIn * 1000) : null,
    scopes: (scope ?? '').split(/[\s,]+/, codeHostLimits.scopesMax).filter((one) => one !== ''),
  }
}

const refusals: ReadonlySet<string> = new Set(['bad_verification_code', 'bad_refresh_token', 'invalid_grant'])
const misconfigured: ReadonlySet<string> = new Set([
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'application_suspended',
  'unverified_user_email',
  'invalid_client',
])
