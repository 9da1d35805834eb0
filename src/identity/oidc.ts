/**
 * Sign-in in the browser with an identity provider (OpenID Connect): the authorization code flow with PKCE, state and nonce, all on
 * the server. The page never sees a token. What belongs to one attempt waits sealed in a cookie of its own for ten minutes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'
import { z } from 'zod'
import { nowMs } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { signInProvidersOf, type SignInProvider } from '#src/platform/settings/issuers.ts'
import { exact } from '#src/platform/shapes.ts'
import { readPrivately } from '#src/platform/secrets.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import { beginBrowserSession } from '#src/resources/identity/browser-sessions.ts'
import { findOrMakePerson, subjectLength, type Identity } from '#src/resources/identity/identities.ts'
import { cookieBeginning, setCookie, valueIn } from './browser-cookies.ts'
import { signInPage } from './oidc-page.ts'

/** Below it a provider's name begins a sign-in; `callback` ends it. */
export const oidcPath = '/identity/oidc'
const attemptCookie = 'berth-oidc'
const attemptSeconds = 600
const attemptsPerMinute = 60
const providerSeconds = 10
const metadataMs = 3_600_000
const longestCookie = 4_000

const attemptShape = exact({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  to: z.string(),
  untilMs: z.number(),
})
type Attempt = z.infer<typeof attemptShape>

/** Adds the paths, when there is a provider. */
export function serveOidc(app: FastifyInstance, services: Services): void {
  const { config, limiter } = services
  const providers = signInProvidersOf(config.issuers)
  if (providers.length === 0) return
  const discover = createDiscovery()
  const callback = new URL(`${oidcPath}/callback`, config.publicUrl).href

  app.get<{ Params: { provider: string }; Querystring: { to?: unknown } }>(
    `${oidcPath}/:provider`,
    async (request, reply) => {
      await limiter.spend(`sign-in:${request.clientAddress}`, attemptsPerMinute)
      const provider = providerOf(providers, request.params.provider)
      const metadata = await discover(provider)
      const attempt: Attempt = {
        provider: provider.name,
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
        to: ownPath(request.query.to, config),
        untilMs: nowMs() + attemptSeconds * 1000,
      }
      const url = await addressOf(metadata, attempt, callback)
      return reply
        .header('cache-control', 'no-store')
        .header('set-cookie', attemptCookieOf(config, seal(services, attempt), attemptSeconds))
        .redirect(url.href, 303)
    },
  )

  app.get(`${oidcPath}/callback`, async (request, reply) => {
    await limiter.spend(`sign-in:${request.clientAddress}`, attemptsPerMinute)
    reply.header('cache-control', 'no-store')
    const attempt = readAttempt(services, request)
    if (!attempt)
      return sendRefusal(reply, 'This sign-in is not known here, or is older than ten minutes. Begin it again.')
    let secret: string
    try {
      secret = await finish(attempt, request)
    } catch (error) {
      log.warn({ err: error, provider: attempt.provider }, 'a sign-in was refused')
      return sendRefusal(reply, whyRefused(error, attempt.provider))
    }
    reply.header('set-cookie', [cookieBeginning(config, secret), attemptCookieOf(config, '', 0)])
    return signInPage(reply, { to: attempt.to })
  })

  /** Exchanges the code, and begins a session of whom the provider names. @returns the secret of its cookie. */
  async function finish(attempt: Attempt, request: FastifyRequest): Promise<string> {
    const provider = providerOf(providers, attempt.provider)
    const url = new URL(request.url, config.publicUrl)
    const tokens = await oidc.authorizationCodeGrant(await discover(provider), url, {
      pkceCodeVerifier: attempt.verifier,
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      idTokenExpected: true,
    })
    const userId = await findOrMakePerson(services.db, identityIn(tokens.claims()))
    const userAgent = request.headers['user-agent'] ?? ''
    const session = await asNamed(
      { userId, operation: 'signIn', address: request.clientAddress, requestId: request.id },
      () => beginBrowserSession(services.db, { userId, userAgent, address: request.clientAddress }),
    )
    return session.secret
  }
}

/** Where an attempt goes on, at the provider. */
async function addressOf(metadata: oidc.Configuration, attempt: Attempt, callback: string): Promise<URL> {
  return oidc.buildAuthorizationUrl(metadata, {
    redirect_uri: callback,
    scope: 'openid profile email',
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
    code_challenge_method: 'S256',
  })
}

function providerOf(providers: readonly SignInProvider[], name: string): SignInProvider {
  const provider = providers.find((one) => one.name === name)
  if (!provider)
    throw new BerthError('not_found', `There is no identity provider ${name}. The console lists those that there are.`)
  return provider
}

/** Asks a provider what it is, once an hour. @throws BerthError upstream_error. */
function createDiscovery(): (provider: SignInProvider) => Promise<oidc.Configuration> {
  const known = new Map<string, { at: number; metadata: Promise<oidc.Configuration> }>()
  return async ({ name, issuer, clientId, clientSecretFile }) => {
    const before = known.get(name)
    if (before && performance.now() - before.at < metadataMs) return await before.metadata
    const url = new URL(issuer)
    const secret = clientSecretFile === null ? undefined : readPrivately(clientSecretFile).trim()
    const metadata = oidc.discovery(url, clientId, secret, secret === undefined ? oidc.None() : undefined, {
      timeout: providerSeconds,
      // oxlint-disable-next-line typescript/no-deprecated -- marked so that it stands out; the operator has named such an address
      ...(url.protocol === 'http:' ? { execute: [oidc.allowInsecureRequests] } : {}),
    })
    known.set(name, { at: performance.now(), metadata })
    try {
      return await metadata
    } catch (error) {
      known.delete(name)
      log.warn({ err: error, provider: name }, 'an identity provider could not be asked what it is')
      throw new BerthError('upstream_error', `The identity provider ${name} does not answer. Try again in a moment.`)
    }
  }
}

function identityIn(claims: oidc.IDToken | undefined): Identity {
  if (!claims || claims.sub.length > subjectLength)
    throw new BerthError('forbidden', 'The identity provider does not say who you are.')
  const texts = [claims['preferred_username'], claims['name'], claims['email']]
  return {
    issuer: claims.iss,
    subject: claims.sub,
    names: texts.filter((one) => typeof one === 'string'),
    email: claims['email_verified'] === true && typeof claims['email'] === 'string' ? claims['email'] : null,
  }
}

/** A path of ours; `/` for everything else, so that no link to sign-in leads to another host. */
function ownPath(to: unknown, { publicUrl }: Config): string {
  if (typeof to !== 'string' || !to.startsWith('/')) return '/'
  const url = URL.parse(to, publicUrl)
  const isOwn = url?.origin === new URL(publicUrl).origin && !url.pathname.startsWith('//') // which would be another host
  return isOwn ? `${url.pathname}${url.search}${url.hash}` : '/'
}

const place = 'oidc attempt'

function seal({ sealer }: Services, attempt: Attempt): string {
  return sealer.seal(JSON.stringify(attempt), place).toString('base64url')
}

/** The attempt of the request's cookie; undefined where there is none of ours, more than one, or one of long ago. */
function readAttempt({ sealer, config }: Services, { headers }: FastifyRequest): Attempt | undefined {
  const value = valueIn(headers.cookie ?? '', attemptCookie, config)
  if (value === undefined || value.length > longestCookie) return undefined
  try {
    const attempt = attemptShape.parse(JSON.parse(sealer.open(Buffer.from(value, 'base64url'), place)))
    return attempt.untilMs > nowMs() ? attempt : undefined
  } catch {
    return undefined // it is not ours, or of another key
  }
}

/** Lax, because the provider's redirect brings the browser back from another site. */
function attemptCookieOf(config: Config, value: string, seconds: number): string {
  return setCookie(config, attemptCookie, value, seconds, 'Lax')
}

function sendRefusal(reply: FastifyReply, sentence: string): FastifyReply {
  return signInPage(reply.code(403), { sentence })
}

function whyRefused(error: unknown, provider: string): string {
  if (error instanceof BerthError) return error.message
  if (error instanceof oidc.AuthorizationResponseError)
    return `${provider} did not sign you in (${error.error}). Begin again, or ask its administrator.`
  return `${provider}’s answer could not be verified. Begin again; if it stays so, Berth’s log says why.`
}
