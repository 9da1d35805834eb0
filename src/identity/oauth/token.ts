/** Where programs fetch tokens and give them back: the token endpoint (RFC 6749 §3.2), revocation (RFC 7009), and devices (RFC 8628). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ProgramScope } from '#src/platform/access/permissions.ts'
import type { Services } from '#src/platform/services.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import { endAuthorization } from '#src/resources/identity/authorizations.ts'
import { exchangeDevice, openDevice, type DeviceExchange } from '#src/resources/identity/authorizations/devices.ts'
import { authorizationLimits } from '#src/resources/identity/authorizations/limits.ts'
import { exchangeCode } from '#src/resources/identity/authorizations/requests.ts'
import { findAuthorizationOf, refreshTokens, type IssuedTokens } from '#src/resources/identity/authorizations/tokens.ts'
import type { FindClient } from './clients.ts'
import { OAuthError } from './errors.ts'
import { grantTypes, oauthPaths, personPaths } from './metadata.ts'
import { checkResources, readParameters, type Parameters } from './parameters.ts'
import { readScope, writeScope } from './scopes.ts'

const { accessTokenSeconds, requestSeconds, requestsPerMinute, tokenRequestsPerMinute, pollSeconds } =
  authorizationLimits
const bodyBytes = 16 * 1024
const verifierForm = /^[\w.~-]{43,128}$/

/** Adds the three paths, which take forms. */
export function serveTokens(scope: FastifyInstance, services: Services, findClient: FindClient): void {
  const { db, limiter, config } = services
  scope.post(oauthPaths.token, { bodyLimit: bodyBytes }, async (request, reply) => {
    await limiter.spend(`oauth-token:${request.clientNetwork}`, tokenRequestsPerMinute)
    const form = formOf(request)
    const clientId = form.need('client_id')
    checkResources(form.all('resource'), config)
    const exchange = await exchangeOf(services, form, clientId)
    if (exchange.status === 'reused') await endReused(services, request, exchange)
    if (exchange.status !== 'exchanged') throw refusalOf(exchange.status)
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
    return tokensShown(exchange.tokens)
  })

  scope.post(oauthPaths.revoke, { bodyLimit: bodyBytes }, async (request, reply) => {
    await limiter.spend(`oauth-token:${request.clientNetwork}`, tokenRequestsPerMinute)
    const form = formOf(request)
    const found = await findAuthorizationOf(db, { secret: form.need('token'), clientId: form.need('client_id') })
    if (found) await asProgramOf(request, found.userId, 'revokeToken', () => endAuthorization(db, found.id))
    return reply.code(200).header('cache-control', 'no-store').send() // also for a token that nobody knows (RFC 7009 §2.2)
  })

  scope.post(oauthPaths.device, { bodyLimit: bodyBytes }, async (request, reply) => {
    await limiter.spend(`oauth-device:${request.clientNetwork}`, requestsPerMinute)
    const form = formOf(request)
    const {
      id: clientId,
      name: clientName,
      host: clientHost,
    } = await findClient(form.need('client_id'), request.clientNetwork)
    checkResources(form.all('resource'), config)
    const asking = { clientId, clientName, clientHost, address: request.clientNetwork }
    const { deviceCode, userCode } = await openDevice(db, asking, { scope: readScope(form.find('scope')) })
    const page = config.publicUrl + personPaths.activate
    reply.header('cache-control', 'no-store')
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: requestSeconds,
      interval: pollSeconds,
    }
  })
}

/** Makes a scope read forms, and JSON where a route of it takes that. */
export function acceptForms(scope: FastifyInstance): void {
  scope.addContentTypeParser<Buffer>(
    /^application\/x-www-form-urlencoded(?:\s*;|$)/i,
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, new URLSearchParams(body.toString('utf8'))),
  )
}

function formOf({ body }: FastifyRequest): Parameters {
  if (!(body instanceof URLSearchParams))
    throw new OAuthError(
      'invalid_request',
      'Send a form, with the header content-type: application/x-www-form-urlencoded.',
    )
  return readParameters(body)
}

async function exchangeOf({ db }: Services, form: Parameters, clientId: string): Promise<DeviceExchange> {
  const grantType = form.need('grant_type')
  switch (grantType) {
    case grantTypes.code: {
      const verifier = form.need('code_verifier')
      if (!verifierForm.test(verifier))
        throw new OAuthError('invalid_request', 'code_verifier has 43 to 128 letters, digits and -._~ (RFC 7636).')
      return exchangeCode(db, { code: form.need('code'), clientId, redirectUri: form.find('redirect_uri'), verifier })
    }
    case grantTypes.refresh:
      return refreshTokens(db, { secret: form.need('refresh_token'), clientId, scope: wantedScope(form) })
    case grantTypes.device:
      return exchangeDevice(db, { deviceCode: form.need('device_code'), clientId })
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        `grant_type must be one of ${Object.values(grantTypes).join(', ')}.`,
      )
  }
}

/** Which scope a program asks for anew; null for the one that it has. Less than that it does not get: it is one authorization. */
function wantedScope(form: Parameters): ProgramScope | null {
  const text = form.find('scope')
  return text === null ? null : readScope(text)
}

function tokensShown({ accessToken, refreshToken, scope }: IssuedTokens): object {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: accessTokenSeconds,
    refresh_token: refreshToken,
    scope: writeScope(scope),
  }
}

/** A secret that came twice is in two hands: what came of it ends for both. */
async function endReused(
  { db }: Services,
  request: FastifyRequest,
  { authorizationId, userId }: { authorizationId: string; userId: string },
): Promise<void> {
  await asProgramOf(request, userId, 'refuseReusedToken', () => endAuthorization(db, authorizationId))
}

/** Does the work as the person for whom a program acts. */
function asProgramOf(
  request: FastifyRequest,
  userId: string,
  operation: string,
  work: () => Promise<void>,
): Promise<void> {
  return asNamed({ userId, operation, address: request.clientAddress, requestId: request.id }, work)
}

const refusals = {
  larger: ['invalid_scope', 'The person has let this program in for less. Sign in again to ask for more.'],
  unknown: ['invalid_grant', 'This code or token is not valid here, has expired, or was used. Sign in again.'],
  reused: ['invalid_grant', 'This code or token was used before, so what came of it has ended. Sign in again.'],
  pending: ['authorization_pending', 'Nobody has answered yet. Ask again after the interval.'],
  early: ['slow_down', 'You ask too soon. Wait 5 s longer between two requests from now on.'],
  denied: ['access_denied', 'The person has denied this.'],
  expired: ['expired_token', 'Nobody has answered within ten minutes. Begin again.'],
} as const satisfies Record<string, readonly [OAuthError['code'], string]>

function refusalOf(status: keyof typeof refusals): OAuthError {
  const [code, sentence] = refusals[status]
  return new OAuthError(code, sentence)
}
