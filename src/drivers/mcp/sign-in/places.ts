/** Where people sign in for a tool server: what it and its authorization server say of themselves. */
import {
  computeScopeUnion,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  LATEST_PROTOCOL_VERSION,
  selectResourceURL,
  type AuthorizationServerMetadata,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { limits } from '#src/platform/limits.ts'
import { readError, SignInError } from './errors.ts'
import { libraryFetch, type SignInReach } from './reach.ts'

/** Where people sign in for a tool server. `metadata` null: an old server that publishes none. */
export type SignInPlace = {
  issuer: string
  metadata: AuthorizationServerMetadata | null
  /** The server's own name for itself, for which tokens are asked; null when it has none. */
  resource: string | null
  /** What to ask for; null leaves that to the authorization server. */
  scope: string | null
}

const scopeLength = 4_000
/** Scopes as OAuth writes them. */
export const scopeText = z
  .string()
  .max(scopeLength)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e ]*$/)

/**
 * Finds out where people sign in for a server.
 * @param scopes what to ask for, instead of what the server names.
 * @throws SignInError.
 */
export async function findSignInPlace(
  reach: SignInReach,
  serverUrl: string,
  scopes: string | null,
): Promise<SignInPlace> {
  const fetchFn = libraryFetch(reach)
  const challenge = await challengeOf(reach, serverUrl)
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = await discoverOAuthServerInfo(
    serverUrl,
    { fetchFn, ...(challenge.resourceMetadataUrl ? { resourceMetadataUrl: challenge.resourceMetadataUrl } : {}) },
  ).catch((error: unknown) => {
    throw readError(error, 'does not say properly where people sign in')
  })
  const metadata = authorizationServerMetadata ? kept(authorizationServerMetadata) : null
  if (resourceMetadata?.authorization_servers?.length && !metadata)
    throw new SignInError('unsuitable', 'The service’s authorization server does not say how people sign in there.')
  checkMetadata(reach, authorizationServerUrl, metadata)
  const resource = await selectResourceURL(serverUrl, noOwnChoice, resourceMetadata).catch(() => {
    throw new SignInError(
      'unsuitable',
      'The service names another server than itself, for which no token may be asked.',
    )
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

/** The scopes that a server asks for with `insufficient_scope`; null for another answer, and for what are no scopes. */
export function missingScopeOf(response: Response): string | null {
  const { error, scope = '' } = response.status === 403 ? extractWWWAuthenticateParams(response) : {}
  return error === 'insufficient_scope' && scope.trim() !== '' ? (scopeText.safeParse(scope).data ?? null) : null
}

/** The scopes of both texts. */
export function scopesTogether(...scopes: readonly (string | null)[]): string | null {
  return computeScopeUnion(...scopes.map((scope) => scope ?? undefined)) ?? null
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
    throw new SignInError(
      'unsuitable',
      'The service’s authorization server does not say that it supports PKCE with S256.',
    )
}

function readScope(given: string): string {
  const read = scopeText.safeParse(given)
  if (read.success) return read.data
  throw new SignInError('unsuitable', 'The service names scopes that are no scopes.')
}

/** With the scope by which OpenID Connect gives refresh tokens, where the server has it. */
function withRefresh(scope: string, metadata: AuthorizationServerMetadata | null): string {
  return metadata?.scopes_supported?.includes('offline_access')
    ? (scopesTogether(scope, 'offline_access') ?? scope)
    : scope
}
