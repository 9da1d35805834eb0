/**
 * Sign-in without a password, for the person who started Berth on this machine: GraphiQL requests a token here, and a page may
 * begin a session, whose cookie the browser keeps. There is no other authentication, so it answers only our own page, in a
 * browser of that same system user, connected without a proxy; other users of this host need the code that Berth printed when
 * it started.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { roles, type Role } from '#src/platform/access/permissions.ts'
import { timestamp } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { isLocalHost, isSignInCode, offersSignIn } from '#src/platform/tokens/sign-in-code.ts'
import type { Services } from '#src/platform/services.ts'
import { exact } from '#src/platform/shapes.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import { beginBrowserSession, endBrowserSessionOf, findUserOfSecret } from '#src/resources/identity/browser-sessions.ts'
import { joinOrganization, type Joining, type NewNames } from '#src/resources/identity/joining.ts'
import type { Identity } from '#src/resources/identity/memberships.ts'
import { userOfPeer } from '#src/drivers/connection-users.ts'
import { cookieBeginning, cookieEnding, cookieIn, isFromOurPage } from './browser-cookies.ts'
import { checkNames, issueToken } from './issuer.ts'

/**
 * The path where the page requests a token, and the header that it must send: a page of another origin cannot send it
 * without a preflight.
 */
export const signInPath = '/identity/token'
export const signInHeader = 'x-berth-sign-in'
/** The path where a session in this browser begins, by POST, and ends, by DELETE. */
export const sessionPath = '/identity/session'

const tokenTtlSeconds = 8 * 3600 // a working day
const bodyBytes = 4096
const attemptsPerMinute = 60
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

const signInShape = exact({
  user: z.string(),
  organization: z.string(),
  role: z.enum(roles).optional(),
  create: z.boolean().default(false),
  code: z.string().default(''),
})
const createHint: NewNames = { make: false, how: 'Tick “new names” to create it.' }

/** Adds POST /identity/token and /identity/session. Only for an app whose settings allow local sign-in. */
export function serveSignIn(app: FastifyInstance, services: Services): void {
  app.post(signInPath, { bodyLimit: bodyBytes }, async (request, reply) => {
    const { role, ...person } = await admit(request, services)
    if (!role)
      throw new BerthError('invalid_request', `Send the role that the token is to have: one of ${roles.join(', ')}.`)
    const { token, expiresAtSeconds } = await asNamed({ operation: 'issueToken', ...originOf(request) }, () =>
      issueToken(services, { ...person, role, ttlSeconds: tokenTtlSeconds }),
    )
    reply.code(201).header('cache-control', 'no-store')
    return { token, expires_at: timestamp(expiresAtSeconds * 1000) }
  })
  app.post(sessionPath, { bodyLimit: bodyBytes }, async (request, reply) => {
    const person = await admit(request, services)
    checkNames(person)
    const { identity, secret, expiresAt } = await signIn(request, services, { ...person, role: null })
    reply.code(201).header('cache-control', 'no-store').header('set-cookie', cookieBeginning(services.config, secret))
    return { user_id: identity.userId, organization_id: identity.organizationId, expires_at: expiresAt }
  })
}

/** Begins a session. That somebody joins is the operator's doing: the machine says who may. */
async function signIn(
  request: FastifyRequest,
  { db }: Services,
  joining: Joining,
): Promise<{ identity: Identity; secret: string; expiresAt: string }> {
  const operation = { operation: 'signIn', ...originOf(request) }
  const identity = await asNamed(operation, () => joinOrganization(db, joining))
  const userId = storedIdOf(identity.userId)
  const userAgent = request.headers['user-agent'] ?? ''
  const begun = await asNamed({ ...operation, userId }, () =>
    beginBrowserSession(db, { userId, userAgent, address: request.clientAddress }),
  )
  return { identity, ...begun }
}

function originOf({ clientAddress: address, id: requestId }: FastifyRequest): { address: string; requestId: string } {
  return { address, requestId }
}

function storedIdOf(userId: string): string {
  const id = decodeId('user', userId)
  if (id === undefined) throw new Error('a person has joined who has no id')
  return id
}

/** Adds DELETE /identity/session, which ends the session of the cookie that comes with it; 204 without one, too. */
export function serveSignOut(app: FastifyInstance, { db, config, limiter }: Services): void {
  app.delete(sessionPath, async (request, reply) => {
    if (!isFromOurPage(request.headers, config))
      throw new BerthError('forbidden', 'Only a page at this address signs out of its session.')
    await limiter.spend(`sign-out:${request.clientAddress}`, attemptsPerMinute) // each is looked for in the database, whoever sends it
    const cookie = cookieIn(request.headers.cookie ?? '', config)
    if (cookie) {
      const userId = await findUserOfSecret(db, cookie.cookie)
      const signOut = { userId, operation: 'signOut', ...originOf(request) }
      if (userId !== null) await asNamed(signOut, () => endBrowserSessionOf(db, cookie.cookie))
    }
    return reply.code(204).header('cache-control', 'no-store').header('set-cookie', cookieEnding(config)).send()
  })
}

/** Who signs in, when they may. @throws BerthError forbidden, sign_in_code_required, rate_limited, invalid_request. */
async function admit(
  request: FastifyRequest,
  services: Services,
): Promise<{ user: string; organization: string; role: Role | null; newNames: NewNames }> {
  const refusal = whyNotLocal(request, services.config) ?? whyNotOurPage(request)
  if (refusal)
    throw new BerthError(
      'forbidden',
      `${refusal} Get a token by command: npm run -s token -- --user alice --org acme --role owner`,
    )
  const uid = await userOfPeer(request.raw.socket)
  await services.limiter.spend(`sign-in:${uid ?? 'unknown'}`, attemptsPerMinute) // each user of this machine has their own limit, so that none can lock out the others
  const body = signInShape.safeParse(request.body)
  if (!body.success)
    throw new BerthError(
      'invalid_request',
      `Send {"user", "organization"}, and for a token "role": one of ${roles.join(', ')}.`,
    )
  const { create, code, role = null, ...person } = body.data
  if (uid === null || uid !== process.getuid?.()) checkCode(services.config, code)
  return { ...person, role, newNames: create ? { make: true } : createHint }
}

/** @throws BerthError sign_in_code_required. */
function checkCode({ dataDir }: Config, code: string): void {
  if (code === '')
    throw new BerthError(
      'sign_in_code_required',
      'Only the user of this machine who started Berth may sign in here without a code. Everybody else needs the code that Berth printed when it started.',
    )
  if (!isSignInCode(dataDir, code))
    throw new BerthError(
      'sign_in_code_required',
      'This is not the code that Berth printed when it started. Each start makes a new one.',
    )
}

/** Whether local sign-in would work for a page that is loaded with this request. */
export function mayServeSignIn(request: FastifyRequest, config: Config): boolean {
  return offersSignIn(config) && whyNotLocal(request, config) === null
}

/** The first reason why this request did not come straight from this machine, or null. */
function whyNotLocal(request: FastifyRequest, config: Config): string | null {
  const { raw, headers } = request
  if (!isLocalAddress(raw.socket.remoteAddress ?? '')) return 'Local sign-in is for this machine only.'
  if (!isLocalHost(headers.host ?? ''))
    return 'Local sign-in works at localhost only, not under another name of this machine.'
  // A reverse proxy on this host connects from loopback on behalf of anybody. These headers give it away; the surest
  // sign is BERTH_PUBLIC_URL, which an operator sets for it.
  if (proxyHeaders.some((name) => name in headers) || raw.httpVersion === '1.0')
    return 'Local sign-in does not work through a proxy.'
  if (config.vmHostPorts.includes(config.port))
    return 'Local sign-in is off while VMs may reach this port (BERTH_VM_HOST_PORTS).'
  if (!isLocalHost(new URL(config.publicUrl).host)) return 'Local sign-in is off when Berth has a public address.'
  return null
}

/** The first reason why this request was not sent by our own page, or null. */
function whyNotOurPage({ headers }: FastifyRequest): string | null {
  if (headers[signInHeader] !== '1') return `Send the header ${signInHeader}: 1.`
  if (headers.origin !== `http://${headers.host}`) return 'Local sign-in works only from the page at this address.'
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return 'Local sign-in works only from the page at this address.'
  return null
}

function isLocalAddress(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}
