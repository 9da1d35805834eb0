/**
 * CORS: pages of other origins have no access, unless the operator names their origin (BERTH_CORS_ORIGINS). Such a
 * page needs a token of its own: cookies count only for our own pages, and `Access-Control-Allow-Credentials` is never sent.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addVary } from '#src/platform/compression.ts'

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
/** Response headers that a page may read, besides those that are always readable. */
const exposed = [
  'x-request-id',
  'request-id',
  'retry-after',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'idempotent-replayed',
  'www-authenticate',
  'etag',
  'content-range',
  'content-disposition',
  'accept-ranges',
  'upload-offset',
  'x-sdk-ui-message-stream',
  'x-vercel-ai-ui-message-stream',
].join(', ')
/** The headers that a page may send when its browser names none. */
const usualHeaders = 'authorization, berth-organization, content-type, idempotency-key, last-event-id, x-api-key'
const rememberSeconds = 600

/**
 * Answers preflight requests of the named origins and lets their pages read every answer, including errors. Does
 * nothing when none is named.
 */
export function allowOrigins(app: FastifyInstance, allowed: ReadonlySet<string>): void {
  if (allowed.size === 0) return
  app.addHook('onRequest', async (request, reply) => {
    if (!markOrigin(request, reply, allowed) || !isPreflight(request)) return
    const asked = request.headers['access-control-request-headers']
    addVary(reply, 'access-control-request-headers')
    // Many SDKs send their own headers; an origin that is trusted with tokens may send those too.
    reply
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', asked === undefined || asked === '' ? usualHeaders : asked)
      .header('access-control-max-age', rememberSeconds)
    if (request.headers['access-control-request-private-network'] === 'true')
      reply.header('access-control-allow-private-network', 'true')
    return reply.code(204).send()
  })
}

/**
 * Lets a page of a named origin read the answer.
 * @returns whether the request comes from one.
 */
export function markOrigin(request: FastifyRequest, reply: FastifyReply, allowed: ReadonlySet<string>): boolean {
  if (allowed.size === 0) return false
  addVary(reply, 'origin')
  const { origin } = request.headers
  if (origin === undefined || !allowed.has(origin)) return false
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', exposed)
  return true
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}
