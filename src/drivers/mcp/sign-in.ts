/**
 * Signing in to tool servers, as the Model Context Protocol has it: OAuth with PKCE, where the server's own metadata
 * names its authorization server (RFC 9728, RFC 8414, OpenID Connect), and tokens are asked for this server only
 * (RFC 8707). Every address comes from strangers: requests go by the caller's guarded fetch.
 */
import { exchangeAuthorization, IssuerMismatchError, startAuthorization } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { readError } from './sign-in/errors.ts'
import { scopeText, type SignInPlace } from './sign-in/places.ts'
import { libraryFetch, type SignInReach } from './sign-in/reach.ts'
import { clientFields, clientHeaders, expiresInShape, tokenText, type ClientIdentity } from '../oauth-tokens.ts'
import type { OutboundFetch } from '../outbound-fetch.ts'

/** Tokens for a tool server. `refreshToken` and `expiresAt` null: the server gave none. */
export type SignInTokens = {
  accessToken: string
  refreshToken: string | null
  expiresAt: string | null
  scope: string | null
}

const granted = z.object({
  access_token: tokenText,
  token_type: z.string().regex(/^bearer$/i),
  refresh_token: tokenText.nullish(),
  expires_in: expiresInShape,
  scope: scopeText.nullish().catch(null),
})

/** Where a person's browser goes, and the secret that proves who began. @throws SignInError. */
export async function beginSignIn(
  { issuer, metadata, resource, scope }: SignInPlace,
  { clientId, redirectUrl, state }: { clientId: string; redirectUrl: string; state: string },
): Promise<{ authorizationUrl: string; codeVerifier: string }> {
  try {
    const { authorizationUrl, codeVerifier } = await startAuthorization(issuer, {
      ...(metadata ? { metadata } : {}),
      clientInformation: { client_id: clientId },
      redirectUrl,
      state,
      ...(scope === null ? {} : { scope }),
      ...(resource === null ? {} : { resource }),
    })
    return { authorizationUrl: authorizationUrl.href, codeVerifier }
  } catch (error) {
    throw readError(error, 'cannot sign people in as Berth needs it')
  }
}

/**
 * Exchanges the code that came back for tokens.
 * @param back.iss the issuer that came back beside it (RFC 9207); null when none did.
 * @throws SignInError: `mixed_up` for another issuer than the one that was asked, before the code is sent anywhere.
 */
export async function finishSignIn(
  reach: SignInReach,
  { issuer, metadata, resource, scope }: SignInPlace,
  client: ClientIdentity,
  back: { code: string; iss: string | null; codeVerifier: string; redirectUrl: string },
): Promise<SignInTokens> {
  if (metadata === null && back.iss !== null && back.iss !== issuer)
    throw readError(new IssuerMismatchError('authorization_response', issuer, back.iss), '')
  const askedMs = nowMs()
  try {
    const tokens = granted.parse(
      await exchangeAuthorization(issuer, {
        ...(metadata ? { metadata } : {}),
        clientInformation: { client_id: client.clientId },
        authorizationCode: back.code,
        ...(back.iss === null ? {} : { iss: back.iss }),
        codeVerifier: back.codeVerifier,
        redirectUri: back.redirectUrl,
        ...(resource === null ? {} : { resource }),
        addClientAuthentication(headers, form) {
          for (const [name, value] of Object.entries(clientHeaders(client))) headers.set(name, value)
          for (const [name, value] of Object.entries(clientFields(client))) form.set(name, value)
        },
        fetchFn: libraryFetch(reach),
      }),
    )
    return {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? null,
      expiresAt: tokens.expires_in ? timestamp(askedMs + tokens.expires_in * 1000) : null,
      scope: tokens.scope ?? scope,
    }
  } catch (error) {
    throw readError(error, 'did not give a token for the code')
  }
}

/** Withdraws a token where it came from (RFC 7009), as far as the server answers within 3 s. */
export async function revokeAt(
  fetch: OutboundFetch,
  endpoint: string,
  client: ClientIdentity,
  { token, hint }: { token: string; hint: 'access_token' | 'refresh_token' },
): Promise<void> {
  try {
    const answer = await fetch(endpoint, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(connectorLimits.disconnectSeconds * 1000),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...clientHeaders(client) },
      body: new URLSearchParams({ token, token_type_hint: hint, ...clientFields(client) }).toString(),
    })
    await answer.body?.cancel()
  } catch {
    // The token ends by itself; nobody has it any more.
  }
}
