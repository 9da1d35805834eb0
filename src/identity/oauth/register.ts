/** Registration of programs by themselves (RFC 7591): public clients, which have no secret. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { checkText } from '#src/platform/json/body.ts'
import type { Services } from '#src/platform/services.ts'
import { registerClient } from '#src/resources/identity/authorizations/clients.ts'
import { clientLimits } from '#src/resources/identity/authorizations/limits.ts'
import { OAuthError } from './errors.ts'
import { grantTypes, oauthPaths } from './metadata.ts'
import { mayRedirectTo } from './redirects.ts'

const { nameLength, redirectUrisMax, redirectUriLength, registrationsPerMinute } = clientLimits
const bodyBytes = 16 * 1024
const unnamed = 'a program without a name'
/** What else a program says of itself is not kept: it is told what holds. */
const shape = z.object({ redirect_uris: z.array(z.string()).optional(), client_name: z.string().optional() })

/** Adds POST /oauth/register. */
export function serveRegistration(scope: FastifyInstance, { db, limiter }: Services): void {
  scope.post(oauthPaths.register, { bodyLimit: bodyBytes }, async (request, reply) => {
    await limiter.spend(`oauth-register:${request.clientNetwork}`, registrationsPerMinute)
    const { name, redirectUris } = readClient(request.body)
    const client = await registerClient(db, { name, redirectUris, address: request.clientNetwork })
    reply.code(201).header('cache-control', 'no-store')
    return {
      client_id: client.clientId,
      client_id_issued_at: Math.floor(Date.parse(client.createdAt) / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      grant_types: Object.values(grantTypes),
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  })
}

/** @throws OAuthError invalid_client_metadata, invalid_redirect_uri. */
function readClient(body: unknown): { name: string; redirectUris: string[] } {
  const { data } = shape.safeParse(body)
  if (!data)
    throw new OAuthError('invalid_client_metadata', 'Send JSON: {"redirect_uris": ["https://..."], "client_name"}.')
  const { redirect_uris: redirectUris = [], client_name: given = '' } = data
  const name = given.trim() === '' ? unnamed : given.trim()
  checkText(name)
  if (name.length > nameLength)
    throw new OAuthError('invalid_client_metadata', `client_name has at most ${nameLength} characters.`)
  const isRight = redirectUris.length > 0 && redirectUris.length <= redirectUrisMax && redirectUris.every(mayRedirectTo)
  if (!isRight)
    throw new OAuthError(
      'invalid_redirect_uri',
      `redirect_uris must be 1 to ${redirectUrisMax} addresses of at most ${redirectUriLength} characters, without a fragment or a password: https, http on loopback, or an installed program's own scheme with a dot in it.`,
    )
  return { name, redirectUris }
}
