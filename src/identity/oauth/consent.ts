/**
 * What the console asks and answers for the person who is signed in there: which program wants what, and whether they let it in.
 * Only a page of ours is heard, with the cookie of a session: no token lets a program in, neither a person's nor a program's.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, isToken } from '#src/platform/ids.ts'
import type { Services } from '#src/platform/services.ts'
import { exact } from '#src/platform/shapes.ts'
import type { BrowserCookie } from '#src/platform/tokens.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import { readUserCode } from '#src/resources/identity/authorizations/devices.ts'
import { authorizationLimits } from '#src/resources/identity/authorizations/limits.ts'
import {
  answerRequest,
  getOpenRequest,
  type AuthorizationRequest,
  type RequestHandle,
} from '#src/resources/identity/authorizations/requests.ts'
import { ownCookieOf } from '../browser-cookies.ts'
import { addressWith } from './authorize.ts'
import { placeOf } from './redirects.ts'

/** Who a cookie stands for. */
export type FindPerson = (cookie: BrowserCookie) => Caller | Promise<Caller>

/** What the page asks about a request, and what it answers. */
export const consentPaths = { look: '/identity/authorization', answer: '/identity/authorization/answer' } as const

const { answersPerMinute, userCodesPerMinute } = authorizationLimits
const bodyBytes = 4096
const handle = { request: z.string().optional(), user_code: z.string().optional() }
const lookShape = exact(handle)
const answerShape = exact({ ...handle, allow: z.boolean(), organization_id: z.string().optional() })

/** Adds the two paths. */
export function serveConsent(app: FastifyInstance, services: Services, findPerson: FindPerson): void {
  const { db, config } = services
  app.post(consentPaths.look, { bodyLimit: bodyBytes }, async (request, reply) => {
    const userId = await admit(request, services, findPerson)
    const body = read(lookShape, request.body)
    const found = await getOpenRequest(db, await readHandle(request, services, userId, body))
    reply.header('cache-control', 'no-store')
    return shown(found)
  })
  app.post(consentPaths.answer, { bodyLimit: bodyBytes }, async (request, reply) => {
    const userId = await admit(request, services, findPerson)
    const body = read(answerShape, request.body)
    const organizationId = body.allow ? readOrganization(body.organization_id) : null
    const which = await readHandle(request, services, userId, body)
    const operation = body.allow ? 'allowProgram' : 'denyProgram'
    const answered = await asNamed({ userId, operation, address: request.clientAddress, requestId: request.id }, () =>
      answerRequest(db, which, { userId, organizationId }),
    )
    reply.header('cache-control', 'no-store')
    return { to: leadsTo(answered, config.publicUrl) }
  })
}

/** The person's stored id. @throws BerthError forbidden for any other page, unauthorized, rate_limited. */
async function admit(request: FastifyRequest, { config, limiter }: Services, findPerson: FindPerson): Promise<string> {
  const cookie = ownCookieOf(request.raw, config)
  if (!cookie) throw new BerthError('unauthorized', 'Only a page of this Berth, with its session, lets a program in.')
  const caller = await findPerson(cookie)
  if (caller.kind === 'nobody') throw caller.refusal
  if (caller.kind !== 'person') throw new Error('a cookie stands for a person')
  await limiter.spend(`oauth-answers:${caller.userId}`, answersPerMinute)
  return caller.userId
}

function read<Shape>(shape: z.ZodType<Shape>, body: unknown): Shape {
  const { data } = shape.safeParse(body)
  if (data === undefined)
    throw new BerthError(
      'invalid_request',
      'Send {"request"} or {"user_code"}, and to answer "allow" and "organization_id".',
    )
  return data
}

function readOrganization(publicId: string | undefined): string {
  const id = publicId === undefined ? undefined : decodeId('organization', publicId)
  if (id === undefined)
    throw new BerthError(
      'invalid_request',
      'Send the organization_id of the organization that the program is to act in.',
    )
  return id
}

/** Codes of devices are short, so that each try counts, for the person and for the address. @throws BerthError. */
async function readHandle(
  request: FastifyRequest,
  { limiter }: Services,
  userId: string,
  body: { request?: string | undefined; user_code?: string | undefined },
): Promise<RequestHandle> {
  if (body.user_code === undefined && body.request !== undefined) {
    if (isToken(body.request)) return { secret: body.request }
    throw new BerthError('not_found', 'This address is not whole. Begin again in the program.')
  }
  await limiter.spend(`oauth-user-code:${userId}`, userCodesPerMinute)
  await limiter.spend(`oauth-user-code:${request.clientNetwork}`, userCodesPerMinute)
  const userCode = readUserCode(body.user_code ?? '')
  if (userCode === undefined)
    throw new BerthError(
      'invalid_request',
      'The code has eight letters, such as WDJB-MJHT. Enter it as the device shows it.',
    )
  return { userCode }
}

function shown({
  userCode,
  clientName,
  clientHost,
  scope,
  redirectUri,
  address,
  createdAt,
}: AuthorizationRequest): object {
  return {
    client_name: clientName,
    client_host: clientHost,
    scope,
    is_device: userCode !== null,
    returns_to: redirectUri === null ? null : placeOf(redirectUri),
    address,
    created_at: createdAt,
  }
}

/** Where the browser goes on: to the program; null for a device, which asks by itself. */
function leadsTo(
  { request, code }: { request: AuthorizationRequest; code: string | null },
  issuer: string,
): string | null {
  const { redirectUri, state } = request
  if (redirectUri === null) return null
  const outcome: Record<string, string> =
    code === null ? { error: 'access_denied', error_description: 'The person has denied this.' } : { code }
  return addressWith(redirectUri, { ...outcome, ...(state === null ? {} : { state }), iss: issuer })
}
