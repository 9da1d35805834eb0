/** /graphql over HTTP: GET, POST and, for subscriptions, server-sent events in distinct connections mode. */
import { once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { setAllowance } from '#rest-compat/answers.ts'
import { eventStreamHeaders, reconnectMs } from '#rest-compat/stream.ts'
import { bearerOf, countRefusedCredential, type Authenticator } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowAgain, callerName, noting, type Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { refusedRequest } from '#src/platform/json-body.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { beginStream } from '#src/platform/open-streams.ts'
import type { Services } from '#src/platform/services.ts'
import type { Engine, GraphqlCall } from './graphql.ts'
import { showError } from './graphql-errors.ts'
import { mayShowPage, sendGraphiql } from './graphiql.ts'

const stalledBeatsMax = 3 // a reader that takes nothing for three heartbeats is gone

/** What the endpoint is served with. `stopping` ends open streams. */
export type GraphqlParts = { services: Services; engine: Engine; authenticator: Authenticator; stopping: AbortSignal }

/** Adds /graphql: the page for browsers, the endpoint for everyone else. */
export function serveGraphql(scope: FastifyInstance, parts: GraphqlParts): void {
  scope.setErrorHandler((error, request, reply) => sendFailure(refusedRequest(error, request, reply), request, reply))
  scope.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/graphql',
    bodyLimit: limits.graphqlBodyBytes,
    handler: async (request, reply) => {
      if (mayShowPage(request)) return sendGraphiql(request, reply, parts.services.config)
      return answer(request, reply, parts)
    },
  })
}

async function answer(request: FastifyRequest, reply: FastifyReply, { services, engine, authenticator, stopping }: GraphqlParts): Promise<unknown> {
  const credential = bearerOf(request.headers)
  const caller = await authenticator.authenticate(credential)
  if (caller.kind === 'nobody' && credential !== undefined) {
    await countRefusedCredential(services.limiter, request.ip)
    throw caller.refusal
  }
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const { caller: noted, grants } = noting(caller)
  const call = callOf(services, noted, request, gone.signal)
  const accept = typeof request.headers.accept === 'string' ? { accept: request.headers.accept } : undefined
  const asked = new engine.yoga.fetchAPI.Request(`http://localhost${request.raw.url}`, {
    method: request.method,
    headers: { ...accept, ...(request.method === 'POST' ? { 'content-type': 'application/json' } : {}) },
  })
  const response = await engine.yoga.fetch(asked, call, {}) // with a second context, the first is copied, not wrapped
  const { allowance, headers } = call.answer
  if (allowance) setAllowance(reply, allowance)
  reply.code(response.status).headers(headers ?? {}).header('cache-control', 'no-store')
  response.headers.forEach((value, name) => void reply.header(name, value))
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) return reply.send(await response.text())
  const over = beginOrCancel(caller.kind === 'nobody' ? request.ip : callerName(caller), gone)
  const unwatch = credential === undefined ? () => { /* nobody's permission can end */ } : watchCaller(authenticator, credential, (now) => allowAgain(now, grants), () => gone.abort())
  return sendEvents(reply, response.body, gone, stopping).finally(() => {
    unwatch()
    over()
  })
}

/** Counts the stream; one too many is ended before it is refused. */
function beginOrCancel(whose: string, gone: AbortController): () => void {
  try {
    return beginStream('graphql-sse', whose)
  } catch (error) {
    gone.abort()
    throw error
  }
}

function callOf(services: Services, caller: Caller, request: FastifyRequest, signal: AbortSignal): GraphqlCall {
  return { ...services, caller, requestId: request.id, signal, sent: request.body, address: request.ip, answer: {} }
}

/** Sends a subscription's events as they come, no faster than the reader takes them. */
async function sendEvents(reply: FastifyReply, events: ReadableStream<Uint8Array>, gone: AbortController, stopping: AbortSignal): Promise<void> {
  reply.hijack()
  const { raw } = reply
  const stop = (): void => {
    if (!raw.destroyed) raw.end(`retry: ${reconnectMs}\n\n`) // without "complete", so that the client comes back
    gone.abort()
  }
  let stalledBeats = 0
  const beat = setInterval(() => {
    stalledBeats = raw.writableNeedDrain ? stalledBeats + 1 : 0
    if (stalledBeats > stalledBeatsMax) raw.destroy()
    else if (stalledBeats === 0) raw.write(':\n\n')
  }, limits.streamHeartbeatSeconds * 1000)
  stopping.addEventListener('abort', stop, { once: true })
  raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as Record<string, string>), // set above; all are text
    ...eventStreamHeaders,
  })
  const reader = events.getReader()
  const leave = (): void => void reader.cancel().catch((error: unknown) => log.debug({ err: error }, 'a subscription did not end cleanly'))
  gone.signal.addEventListener('abort', leave, { once: true })
  if (gone.signal.aborted) leave()
  try {
    // Ends with the subscription, the client, or the process: each makes the reader done, or the signal aborted.
    for (;;) {
      const { done, value } = await reader.read()
      if (done || gone.signal.aborted) break
      if (!raw.write(value)) await once(raw, 'drain', { signal: gone.signal })
    }
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    clearInterval(beat)
    stopping.removeEventListener('abort', stop)
    gone.abort()
    if (!raw.writableEnded) raw.end()
  }
}

/** What was refused before GraphQL saw it, in GraphQL's form. */
function sendFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { error, status, headers } = showError(thrown, request.id)
  const allowance = thrown instanceof BerthError ? (thrown.details['allowance'] as GraphqlCall['answer']['allowance']) : undefined // put there by platform/rate-limits.ts
  if (allowance) setAllowance(reply, allowance)
  const type = request.headers.accept?.includes('application/graphql-response+json') ? 'application/graphql-response+json' : 'application/json'
  return reply.code(status).headers(headers).header('cache-control', 'no-store').header('content-type', `${type}; charset=utf-8`).send(JSON.stringify({ errors: [error] }))
}
