/** Where a program sends a person's browser (RFC 6749 §4.1, with PKCE): what it asks for is kept here, and the console asks the person. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BerthError, retryAfterOf } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import { authorizationLimits, clientLimits } from '#src/resources/identity/authorizations/limits.ts'
import { openRequest, type AskedByBrowser } from '#src/resources/identity/authorizations/requests.ts'
import { signInPage } from '../oidc-page.ts'
import type { Client, FindClient } from './clients.ts'
import { OAuthError, described } from './errors.ts'
import { oauthPaths, personPaths } from './metadata.ts'
import { checkResources, readParameters, type Parameters } from './parameters.ts'
import { isLoopback, isRegistered } from './redirects.ts'
import { readScope } from './scopes.ts'

const { requestsPerMinute } = authorizationLimits
const { idLength, stateLength } = clientLimits
const heading = 'The program cannot be let in'
const challengeForm = /^[\w-]{43}$/

/** Adds GET /oauth/authorize. */
export function serveAuthorize(app: FastifyInstance, services: Services, findClient: FindClient): void {
  const { config, limiter, db } = services
  app.get(oauthPaths.authorize, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    try {
      await limiter.spend(`oauth-authorize:${request.clientNetwork}`, requestsPerMinute)
      const given = readParameters(new URL(request.url, config.publicUrl).searchParams)
      const client = await findClient(readClientId(given), request.clientNetwork)
      const redirectUri = readRedirect(given, client)
      try {
        const { id: clientId, name: clientName, host: clientHost } = client
        const asking = { clientId, clientName, clientHost, address: request.clientNetwork }
        const secret = await openRequest(db, asking, { ...readRequest(given, services), redirectUri })
        return await reply.redirect(`${config.publicUrl}${personPaths.authorize}?request=${secret}`, 303)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        return await refuseProgram(reply, error, redirectUri, given, config.publicUrl)
      }
    } catch (error) {
      return refusePerson(request, reply, error)
    }
  })
}

function readClientId(given: Parameters): string {
  const id = given.need('client_id')
  if (id.length > idLength) throw new OAuthError('invalid_client', 'This client_id is not known here.')
  return id
}

/** @throws OAuthError when the program may not be sent back there, so that nobody is. */
function readRedirect(given: Parameters, { redirectUris }: Client): string {
  const redirectUri = given.need('redirect_uri')
  if (!isRegistered(redirectUris, redirectUri))
    throw new OAuthError('invalid_request', 'redirect_uri is not an address of this program.')
  return redirectUri
}

/** @throws OAuthError for what the program does wrong. */
function readRequest(given: Parameters, { config }: Services): Omit<AskedByBrowser, 'redirectUri'> {
  if (given.need('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  const codeChallenge = given.find('code_challenge')
  if (given.find('code_challenge_method') !== 'S256' || codeChallenge === null || !challengeForm.test(codeChallenge))
    throw new OAuthError('invalid_request', 'Send code_challenge with code_challenge_method=S256 (PKCE, RFC 7636).')
  const state = given.find('state')
  if (state !== null && state.length > stateLength)
    throw new OAuthError('invalid_request', `state has at most ${stateLength} characters.`)
  checkResources(given.all('resource'), config)
  return { scope: readScope(given.find('scope')), state, codeChallenge }
}

/**
 * Tells the program, where it is on the person's own machine and waits; any other host is not sent people by a link that
 * somebody made with a mistake in it.
 */
function refuseProgram(
  reply: FastifyReply,
  error: OAuthError,
  redirectUri: string,
  given: Parameters,
  issuer: string,
): FastifyReply {
  if (!isLoopback(new URL(redirectUri))) throw error
  const state = given.find('state')
  return reply.redirect(
    addressWith(redirectUri, {
      error: error.code,
      error_description: described(error.message),
      ...(state === null || state.length > stateLength ? {} : { state }),
      iss: issuer,
    }),
    303,
  )
}

/** A program's address with these parameters behind what it has already. */
export function addressWith(redirectUri: string, parameters: Readonly<Record<string, string>>): string {
  const added = new URLSearchParams(parameters)
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added.toString()}`
}

/** Says on a page what is wrong; nobody is sent anywhere. */
function refusePerson(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof OAuthError)
    return signInPage(reply.code(400), { heading, sentence: `${error.message} (${error.code})` })
  if (!(error instanceof BerthError)) throw error
  const retryAfterSeconds = retryAfterOf(error)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  return signInPage(reply.code(error.status), { heading, sentence: `${error.message} (${request.id})` })
}
