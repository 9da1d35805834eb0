/** What Berth is at the authorization servers of tool servers. */
import { selectClientAuthMethod, type AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { timestamp } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { jsonOf } from '../../models/json-values.ts'
import { readBeginning } from '../../outbound-fetch.ts'
import { tokenText, type ClientAuth, type ClientIdentity } from '../../oauth-tokens.ts'
import { readError, SignInError } from './errors.ts'
import type { SignInPlace } from './places.ts'
import type { SignInReach } from './reach.ts'

/** What Berth is at an authorization server. `expiresAt`: when its secret ends; null for never. */
export type SignInClient = ClientIdentity & { expiresAt: string | null }

/** Who Berth says it is. `documentUrl`: where its metadata is published; null when that is not https. */
export type SignInSelf = { redirectUrl: string; documentUrl: string | null; name: string; websiteUrl: string }

const registrationBytesMax = 64 * 1024
const secondsMax = 8_640_000_000_000
const registered = z.looseObject({
  client_id: z.string().min(1).max(limits.serverUrlLength),
  client_secret: tokenText.nullish(),
  client_secret_expires_at: z.number().nonnegative().nullish(),
})

/**
 * Registers Berth at an authorization server: by the document that Berth publishes where the server reads such, else by
 * dynamic registration (RFC 7591). A client that an operator registered is used instead of both.
 * @throws SignInError.
 */
export async function findClient(reach: SignInReach, place: SignInPlace, self: SignInSelf): Promise<SignInClient> {
  const { metadata, issuer } = place
  if (self.documentUrl !== null && metadata?.client_id_metadata_document_supported === true)
    return { clientId: self.documentUrl, clientSecret: null, clientAuth: 'none', expiresAt: null }
  if (metadata && !metadata.registration_endpoint)
    throw new SignInError(
      'unsuitable',
      'The service takes only clients that are registered by hand: its operator has to set client_id in BERTH_CONNECTORS_FILE.',
    )
  const answer = await register(reach, metadata?.registration_endpoint ?? new URL('/register', issuer).href, {
    ...registrationOf(self),
    ...(place.scope === null ? {} : { scope: place.scope }),
  })
  const ends = answer.client_secret_expires_at ?? 0
  return {
    ...identityOf({ clientId: answer.client_id, clientSecret: answer.client_secret ?? null }, metadata, answer),
    expiresAt: ends > 0 && ends < secondsMax ? timestamp(ends * 1000) : null,
  }
}

async function register(
  { fetch }: SignInReach,
  endpoint: string,
  registration: Record<string, unknown>,
): Promise<z.output<typeof registered>> {
  let answer: { status: number; text: string }
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(registration),
    })
    answer = { status: response.status, text: (await readBeginning(response, registrationBytesMax)).text }
  } catch (error) {
    throw readError(error, 'could not be asked to register Berth as its client')
  }
  const read = answer.status < 300 ? registered.safeParse(jsonOf(answer.text)) : null
  if (read?.success) return read.data
  throw new SignInError(
    answer.status >= 500 || answer.status === 429 ? 'unreachable' : 'unsuitable',
    `The service did not register Berth as its client (status ${answer.status}).`,
  )
}

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
  details: Record<string, unknown> = {},
): ClientIdentity {
  const information = {
    ...details,
    client_id: clientId,
    ...(clientSecret === null ? {} : { client_secret: clientSecret }),
  }
  const clientAuth: ClientAuth = selectClientAuthMethod(
    information,
    metadata?.token_endpoint_auth_methods_supported ?? [],
  )
  return { clientId, clientSecret, clientAuth: clientSecret === null ? 'none' : clientAuth }
}

function isLoopbackUrl(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])[:/]/.test(url)
}
