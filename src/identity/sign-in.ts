/**
 * Sign-in without a password, for the person who started Berth on this machine: GraphiQL requests a token here. There
 * is no other authentication, so it answers only our own page, in a browser of that same system user, connected without
 * a proxy; other users of this host need the code that Berth printed when it started.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { roles } from '#src/platform/access/permissions.ts'
import { timestamp } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { isLocalHost, isSignInCode, offersSignIn } from '#src/platform/tokens/sign-in-code.ts'
import type { Services } from '#src/platform/services.ts'
import type { NewNames } from '#src/resources/identity/joining.ts'
import { userOfPeer } from '#src/drivers/connection-users.ts'
import { issueToken } from './issuer.ts'

/**
 * The path where the page requests a token, and the header that it must send: a page of another origin cannot send it
 * without a preflight.
 */
export const signInPath = '/identity/token'
export const signInHeader = 'x-berth-sign-in'

const tokenTtlSeconds = 8 * 3600 // a working day
const bodyBytes = 4096
const attemptsPerMinute = 60
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

const signInShape = z.object({
  user: z.string(),
  organization: z.string(),
  role: z.enum(roles),
  create: z.boolean().default(false),
  code: z.string().default(''),
})
const toldHow: NewNames = { make: false, how: 'Tick “new names” to create it.' }

/** Adds POST /identity/token. Only for an app whose settings allow local sign-in. */
export function serveSignIn(app: FastifyInstance, services: Services): void {
  app.post(signInPath, { bodyLimit: bodyBytes }, async (request, reply) => {
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
        `Send {"user", "organization", "role"}; role is one of ${roles.join(', ')}.`,
      )
    const { create, code, ...person } = body.data
    if (uid === null || uid !== process.getuid?.()) checkCode(services.config, code)
    const { token, expiresAtSeconds } = await issueToken(services, {
      ...person,
      ttlSeconds: tokenTtlSeconds,
      newNames: create ? { make: true } : toldHow,
    })
    reply.code(201).header('cache-control', 'no-store')
    return { token, expires_at: timestamp(expiresAtSeconds * 1000) }
  })
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
