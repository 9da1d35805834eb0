/**
 * Signing in to tool servers, as the Model Context Protocol has it: OAuth with PKCE, where the server's own metadata
 * names its authorization server (RFC 9728, RFC 8414, OpenID Connect), and tokens are asked for this server only
 * (RFC 8707). Every address comes from strangers: requests go by the caller's guarded fetch.
 */
import {
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  IssuerMismatchError,
  LATEST_PROTOCOL_VERSION,
  registerClient,
  RegistrationRejectedError,
  selectClientAuthMethod,
  selectResourceURL,
  startAuthorization,
  type AuthorizationServerMetadata,
  type FetchLike,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { causesOf, OutboundError } from './outbound.ts'
import type { OutboundFetch } from './outbound-fetch.ts'
import {
  clientFields,
  clientHeaders,
  expiresInShape,
  tokenText,
  type ClientAuth,
  type ClientIdentity,
} from './oauth-tokens.ts'

/** How a server is reached: `mayOpen` says which addresses may be asked, and opened in a browser. */
export type SignInReach = { fetch: OutboundFetch; mayOpen: (url: URL) => boolean }

/** Where people sign in for a tool server. `metadata` null: an old server that publishes none. */
export type SignInPlace = {
  issuer: string
  metadata: AuthorizationServerMetadata | null
  /** The server's own name for itself, for which tokens are asked; null when it has none. */
  resource: string | null
  /** What to ask for; null leaves that to the authorization server. */
  scope: string | null
}

/** What Berth is at an authorization server. `expiresAt`: when its secret ends; null for never. */
export type SignInClient = ClientIdentity & { expiresAt: string | null }

/** Who Berth says it is. `documentUrl`: where its metadata is published; null when that is not https. */
export type SignInSelf = { redirectUrl: string; documentUrl: string | null; name: string; websiteUrl: string }

/** Tokens for a tool server. `refreshToken` and `expiresAt` null: the server gave none. */
export type SignInTokens = {
  accessToken: string
  refreshToken: string | null
  expiresAt: string | null
  scope: string | null
}

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

const scopeLength = 4_000
const revokeMs = 3_000
const clientKeys = { client_id: z.string().min(1).max(limits.serverUrlLength), client_secret: tokenText.optional() }
const registered = z.looseObject({ ...clientKeys, client_secret_expires_at: z.number().nonnegative().optional() })
const scopeText = z
  .string()
  .max(scopeLength)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e ]*$/)
const granted = z.object({
  access_token: tokenText,
  token_type: z.string().regex(/^bearer$/i),
  refresh_token: tokenText.nullish(),
  expires_in: expiresInShape,
  scope: scopeText.nullish().catch(null),
})

/**
 * Finds out where people sign in for a server.
 * @param scopes what to ask for, instead of what the server names.
 * @throws SignInError.
 */
export async function findSignInPlace(reach: SignInReach, serverUrl: string, scopes: string | null): Promise<SignInPlace> {
  const fetchFn = reach.fetch as FetchLike // the same function by another name
  const challenge = await challengeOf(reach, serverUrl)
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = await discoverOAuthServerInfo(
    serverUrl,
    { fetchFn, ...(challenge.resourceMetadataUrl ? { resourceMetadataUrl: challenge.resourceMetadataUrl } : {}) },
  ).catch((error: unknown) => {
    throw readError(error, 'does not say properly where people sign in')
  })
  const metadata = authorizationServerMetadata ? kept(authorizationServerMetadata) : null
  checkMetadata(reach, authorizationServerUrl, metadata)
  const resource = await selectResourceURL(serverUrl, noOwnChoice, resourceMetadata).catch(() => {
    throw new SignInError('unsuitable', 'The service names another server than itself, for which no token may be asked.')
  })
  const wanted = scopes ?? challenge.scope ?? resourceMetadata?.scopes_supported?.join(' ') ?? null
  return {
    issuer: metadata?.issuer ?? authorizationServerUrl,
    metadata,
    resource: resource && resourceMetadata ? resourceMetadata.resource : null,
    scope: wanted === null || wanted === '' ? null : withRefresh(readScope(wanted), metadata),
  }
}

/** The provider's choice of a resource, which selectResourceURL asks for: ours is the server's. */
const noOwnChoice = {} as Parameters<typeof selectResourceURL>[1]

/** The scopes of both texts. */
export function scopesTogether(...scopes: readonly (string | null)[]): string | null {
  return computeScopeUnion(...scopes.map((scope) => scope ?? undefined)) ?? null
}

/**
 * Registers Berth at an authorization server: by the document that Berth publishes where the server reads such, else by
 * dynamic registration (RFC 7591). A client that an operator registered is used instead of both.
 * @throws SignInError.
 */
export async function findClient(
  reach: SignInReach,
  place: SignInPlace,
  self: SignInSelf,
): Promise<SignInClient> {
  const { metadata, scope, issuer } = place
  if (self.documentUrl !== null && metadata?.client_id_metadata_document_supported === true)
    return { clientId: self.documentUrl, clientSecret: null, clientAuth: 'none', expiresAt: null }
  if (metadata && !metadata.registration_endpoint)
    throw new SignInError(
      'unsuitable',
      'The service takes only clients that are registered by hand: its operator has to set client_id in BERTH_CONNECTORS_FILE.',
    )
  try {
    const answer = registered.parse(
      await registerClient(issuer, {
        ...(metadata ? { metadata } : {}),
        clientMetadata: registrationOf(self),
        ...(scope === null ? {} : { scope }),
        fetchFn: reach.fetch as FetchLike, // as above
      }),
    )
    const ends = answer.client_secret_expires_at ?? 0
    return {
      ...identityOf({ clientId: answer.client_id, clientSecret: answer.client_secret ?? null }, metadata, answer),
      expiresAt: ends > 0 && ends < secondsMax ? timestamp(ends * 1000) : null,
    }
  } catch (error) {
    throw readError(error, 'did not register Berth as its client')
  }
}

const secondsMax = 8_640_000_000_000

/** Berth as a client in the form of RFC 7591, as it registers itself and as its document says. */
export function registrationOf({ redirectUrl, name, websiteUrl }: SignInSelf) {
  return {
    client_name: name,
    client_uri: websiteUrl,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: isLoopbackUrl(redirectUrl) ? ('native' as const) : ('web' as const),
  }
}

/** How a client authenticates here, of the ways that both know. */
export function identityOf(
  { clientId, clientSecret }: Pick<ClientIdentity, 'clientId' | 'clientSecret'>,
  metadata: AuthorizationServerMetadata | null,
  told: Record<string, unknown> = {},
): ClientIdentity {
  const information = {
    ...told,
    client_id: clientId,
    ...(clientSecret === null ? {} : { client_secret: clientSecret }),
  }
  const clientAuth: ClientAuth = selectClientAuthMethod(
    information,
    metadata?.token_endpoint_auth_methods_supported ?? [],
  )
  return { clientId, clientSecret, clientAuth: clientSecret === null ? 'none' : clientAuth }
}

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
        fetchFn: reach.fetch as FetchLike, // as above
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
      signal: AbortSignal.timeout(revokeMs),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...clientHeaders(client) },
      body: new URLSearchParams({ token, token_type_hint: hint, ...clientFields(client) }).toString(),
    })
    await answer.body?.cancel()
  } catch {
    // The token ends by itself; nobody has it any more.
  }
}

/** The endpoint of a place, as it stands in its metadata or where old servers have it. */
export function tokenEndpointOf({ issuer, metadata }: SignInPlace): string {
  return metadata?.token_endpoint ?? new URL('/token', issuer).href
}

/** What a server says to a request without a token: where its metadata is, and which scopes it wants. */
async function challengeOf(
  { fetch }: SignInReach,
  serverUrl: string,
): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  try {
    const answer = await fetch(serverUrl, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: {
          protocolVersion: LATEST_PROTOCOL_VERSION,
          capabilities: {},
          clientInfo: { name: 'berth', version: '1' },
        },
      }),
    })
    await answer.body?.cancel()
    return answer.status === 401 ? extractWWWAuthenticateParams(answer) : {}
  } catch (error) {
    throw readError(error, 'could not be asked')
  }
}

/** The parts of the metadata that Berth uses: the rest is not stored. */
function kept(metadata: AuthorizationServerMetadata): AuthorizationServerMetadata {
  const entries = Object.entries(metadata).filter(([key]) => keptKeys.has(key))
  return Object.fromEntries(entries) as AuthorizationServerMetadata // all that its type requires
}

const keptKeys: ReadonlySet<string> = new Set([
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'response_types_supported',
  'scopes_supported',
  'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported',
  'client_id_metadata_document_supported',
  'authorization_response_iss_parameter_supported',
])

/** Refuses what would send people or their codes where nobody should go, and servers without PKCE. */
function checkMetadata(
  { mayOpen }: SignInReach,
  serverUrl: string,
  metadata: AuthorizationServerMetadata | null,
): void {
  const endpoints = metadata
    ? [
        metadata.authorization_endpoint,
        metadata.token_endpoint,
        metadata.registration_endpoint,
        'revocation_endpoint' in metadata ? metadata['revocation_endpoint'] : undefined,
      ]
    : [serverUrl]
  for (const endpoint of endpoints) {
    if (endpoint === undefined || endpoint === null) continue
    const url = URL.parse(String(endpoint))
    if (!url || url.username || url.password || url.href.length > limits.serverUrlLength || !mayOpen(url))
      throw new SignInError('unsuitable', 'The service names an address for signing in that is not https://.')
  }
  if (metadata && !metadata.code_challenge_methods_supported?.includes('S256'))
    throw new SignInError('unsuitable', 'The service’s authorization server does not say that it supports PKCE with S256.')
}

function readScope(given: string): string {
  const read = scopeText.safeParse(given)
  if (read.success) return read.data
  throw new SignInError('unsuitable', 'The service names scopes that are no scopes.')
}

/** With the scope by which OpenID Connect gives refresh tokens, where the server has it. */
function withRefresh(scope: string, metadata: AuthorizationServerMetadata | null): string {
  return metadata?.scopes_supported?.includes('offline_access') ? (scopesTogether(scope, 'offline_access') ?? scope) : scope
}

function isLoopbackUrl(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])[:/]/.test(url)
}

/** An error in our own words. @param what what the service did, as the end of a sentence. */
function readError(error: unknown, what: string): SignInError {
  if (error instanceof SignInError) return error
  if (error instanceof IssuerMismatchError)
    return new SignInError(
      'mixed_up',
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
  if (error instanceof RegistrationRejectedError) return new SignInError('unsuitable', `The service ${what}.`)
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
