/** The parts of every REST answer: headers, errors, and the response stored under an Idempotency-Key. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '#schema/builder.ts'
import { allowAgain, type Caller, type Grant } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { BerthError, retryAfterOf } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import type { KeptResponse, RepeatedResponse } from '#src/platform/idempotency.ts'
import type { Allowance } from '#src/platform/rate-limits.ts'
import { sha256, sha256InSteps } from '#src/platform/secrets.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import type { Services } from '#src/platform/services.ts'
import { envelopeFor } from './anthropic.ts'
import type { Surface } from './routes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body of this route's errors, where it is not the surface's. */
    envelope?: Surface['envelope']
  }
}

/** The caller. @throws BerthError 401 if there is none. */
export async function knownCaller(authenticating: Caller | Promise<Caller>): Promise<Caller> {
  const caller = await authenticating
  if (caller.kind === 'nobody') throw caller.refusal
  return caller
}

/** Sends JSON as text or as bytes; null means no body. */
export function send(reply: FastifyReply, status: number, body: string | Buffer | null): FastifyReply {
  if (body === null) return reply.code(status).send()
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(body)
}

/** A client whose body was refused hears of it, and may not go on sending for long. */
export function lingerAfter(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    if (request.raw.complete) return
    setTimeout(() => {
      if (!request.raw.complete) request.raw.destroy()
    }, fileLimits.lingerSeconds * 1000).unref()
  })
}

/** Sends an error in the route's envelope, or else in the surface's. */
export function sendError(
  surface: Surface,
  error: BerthError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { allowance } = error.details
  const retryAfterSeconds = retryAfterOf(error)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (allowance) setAllowance(reply, allowance as Allowance) // put there by platform/rate-limits.ts
  if (error.status === 401) reply.header('www-authenticate', 'Bearer error="invalid_token"')
  if (surface.errorHeaders) reply.headers(surface.errorHeaders(error))
  const envelope = request.routeOptions.config?.envelope ?? envelopeFor(surface, request)
  return send(reply, error.status, JSON.stringify(envelope(error, request.id)))
}

/** The context of one request: the platform and the caller. */
export function contextOf(
  services: Services,
  caller: Caller,
  { id: requestId, ip: address }: Pick<FastifyRequest, 'id' | 'ip'>,
): Context {
  const { config, database, db, jobs, pubsub, sealer, limiter, idempotency } = services
  return { config, database, db, jobs, pubsub, sealer, limiter, idempotency, caller, requestId, address }
}

/** An idempotency key that this request has claimed: store its response, or release the claim. */
export type Claim = {
  kept: null
  keep: (response: Omit<KeptResponse, 'grants'>) => Promise<void>
  release: () => Promise<void>
}

/** Refuses a new answer to keep where there is no room; those that are kept are still given. @throws BerthError rate_limited. */
async function checkAnswersRoom({ config, db }: Services, caller: Caller, release: () => Promise<void>): Promise<void> {
  const organizationId = 'organizationId' in caller ? caller.organizationId : null
  if (organizationId === null) return
  try {
    await checkStorage({ config, db }, organizationId, 'answers')
  } catch (error) {
    await release()
    throw error
  }
}

/**
 * Claims the key in the header `Idempotency-Key`, or returns the response stored under it.
 * @param grants the permissions that the caller has used by the time the response is stored; empty where every request
 * is authorized by itself.
 * @throws BerthError invalid_request, idempotency_conflict, idempotency_in_progress; 403 when the caller may no longer
 * do what made the response.
 */
export async function claimKey(
  services: Services,
  caller: Caller,
  key: string | string[],
  request: FastifyRequest,
  grants: readonly Grant[] = [],
): Promise<Claim | { kept: RepeatedResponse }> {
  if (typeof key !== 'string' || key.length < 1 || key.length > 255)
    throw new BerthError('invalid_request', 'Idempotency-Key must have 1 to 255 characters.')
  const { idempotency } = services
  const name = callerName(caller)
  const fingerprint = sha256(
    `${request.method} ${request.url}\n${(await sha256InSteps(request.rawBody ?? Buffer.alloc(0))).toString('base64')}`,
  )
  const kept = await idempotency.begin(name, key, fingerprint)
  if (kept) allowAgain(caller, kept.grants)
  else await checkAnswersRoom(services, caller, () => idempotency.release(name, key))
  return kept
    ? { kept }
    : {
        kept: null,
        keep: (response) => idempotency.finish(name, key, { ...response, grants }),
        release: () => idempotency.release(name, key),
      }
}
