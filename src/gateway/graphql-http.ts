/** /graphql over HTTP: GET, POST and, for subscriptions, server-sent events in distinct connections mode. */
import { once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { printSchema, type GraphQLSchema } from 'graphql'
import { bearerOf, countRefusedCredential, tokenInQuery, type Authenticator } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowAgain, noting, type Caller } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { actingInNamed, organizationHeader } from '#src/platform/access/organizations.ts'
import { keepText, sendKept } from '#src/platform/compression.ts'
import { BerthError } from '#src/platform/errors.ts'
import { eventStreamHeaders, reconnectMs, setAllowance } from '#src/platform/http/headers.ts'
import type { Proxies } from '#src/platform/http/proxies.ts'
import { refusedRequest } from '#src/platform/json/body.ts'
import { holdBodyOf } from '#src/platform/json/held-bodies.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import type { Services } from '#src/platform/services.ts'
import { ownCookieOf } from '#src/identity/browser-cookies.ts'
import type { Engine } from './graphql.ts'
import type { GraphqlCall } from './graphql-operations.ts'
import { showError } from './graphql-errors.ts'
import { answerOnce, answerSingle, leaving, mayChange, singleOf } from './graphql-single.ts'
import { mayShowPage, sendGraphiql } from './graphiql.ts'

const notAcceptable = 406
const stalledBeatsMax = 3 // a reader that accepts nothing for three heartbeats counts as gone

/** Connection headers are left to Node; yoga sets them as if it were the server. */
const ofConnection = new Set(['connection', 'transfer-encoding', 'content-length', 'keep-alive'])

/**
 * The streaming formats: each one's heartbeat, its last text when the process stops, and its headers. Nothing may come
 * between the parts of `multipart/mixed`, which relies on the subscriptions' own heartbeats.
 */
type StreamForm = { mediaType: string; beat: string; goodbye: string; headers: Readonly<Record<string, string>> }
const { 'content-type': _type, ...streamHeaders } = eventStreamHeaders
const streamForms: readonly StreamForm[] = [
  { mediaType: 'text/event-stream', beat: ':\n\n', goodbye: `retry: ${reconnectMs}\n\n`, headers: eventStreamHeaders }, // without "complete", so that the client reconnects
  { mediaType: 'multipart/mixed', beat: '', goodbye: '', headers: streamHeaders },
]

/** The parts that the endpoint needs. `stopping` ends open streams. */
export type GraphqlParts = {
  services: Services
  schema: GraphQLSchema
  engine: Engine
  authenticator: Authenticator
  proxies: Proxies
  stopping: AbortSignal
}

/** Adds /graphql: the page for browsers, the endpoint for everyone else; and beside it the schema as text. */
export function serveGraphql(scope: FastifyInstance, parts: GraphqlParts): void {
  scope.setErrorHandler((error, request, reply) => sendFailure(refusedRequest(error, request, reply), request, reply))
  const printed = keepText('application/graphql; charset=utf-8', `${printSchema(parts.schema)}\n`)
  scope.get('/graphql/schema.graphql', (request, reply) => sendKept(request, reply, printed))
  scope.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/graphql',
    bodyLimit: limits.graphqlBodyBytes,
    config: { refusesUnknownKeys: true },
    handler: async (request, reply) => {
      if (mayShowPage(request)) return sendGraphiql(request, reply, parts.services.config)
      return answer(request, reply, parts)
    },
  })
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { services, engine: { yoga, operations }, authenticator, stopping }: GraphqlParts,
): Promise<unknown> {
  const credential =
    bearerOf(request.headers) ??
    (wantsEvents(request) ? tokenInQuery(request.query) : undefined) ??
    (isJsonPost(request) ? ownCookieOf(request.raw, services.config) : undefined)
  const known = await authenticator.authenticate(credential)
  if (known.kind === 'nobody' && credential !== undefined) {
    await countRefusedCredential(services.limiter, request.clientAddress)
    throw known.refusal
  }
  const caller = actingInNamed(known, request.headers[organizationHeader])
  holdBodyOf(caller, request.rawBody?.length ?? 0, reply.raw)
  const single = singleOf(request)
  const key = request.method === 'POST' && caller.kind !== 'nobody' ? request.headers['idempotency-key'] : undefined
  if (single && key !== undefined && mayChange(single))
    return answerOnce(request, reply, { services, operations }, { known: caller, key }, single)
  if (single) return answerSingle(request, reply, { services, operations }, caller, single)
  if (key !== undefined)
    throw new BerthError(
      'invalid_request',
      'With an Idempotency-Key, send one query or mutation: {"query": "…"}. Send batches and subscriptions without it.',
    )
  const gone = leaving(reply)
  const { caller: noted, grants } = noting(caller)
  const call = callOf(services, noted, request, gone.signal)
  const accept = typeof request.headers.accept === 'string' ? { accept: request.headers.accept } : undefined
  const asked = new yoga.fetchAPI.Request(`http://localhost${request.raw.url}`, {
    method: request.method === 'HEAD' ? 'GET' : request.method,
    headers: { ...accept, ...(request.method === 'POST' ? { 'content-type': 'application/json' } : {}) },
  })
  const response = await yoga.fetch(asked, call, {}) // given a second context, yoga copies the first
  const { allowance, headers } = call.answer
  if (allowance) setAllowance(reply, allowance)
  reply
    .code(response.status)
    .headers(headers ?? {})
    .header('cache-control', 'no-store')
  response.headers.forEach((value, name) => {
    if (!ofConnection.has(name)) reply.header(name, value)
  })
  if (response.status === notAcceptable) return refuseForm(request, reply)
  const type = response.headers.get('content-type') ?? ''
  const form = streamForms.find(({ mediaType }) => type.startsWith(mediaType))
  if (!form || !response.body) return reply.send(await response.text())
  if (request.method === 'HEAD') {
    gone.abort() // this ends the source, from which nothing was read yet
    return reply.headers(form.headers).send()
  }
  const over = beginOrCancel(caller.kind === 'nobody' ? request.clientAddress : callerName(caller), gone)
  const unwatch =
    credential === undefined
      ? () => {
          /* an anonymous caller has no permission that could end */
        }
      : watchCaller(
          authenticator,
          credential,
          (now) => allowAgain(now, grants),
          () => gone.abort(),
        )
  return sendEvents(reply, response.body, form, gone, stopping).finally(() => {
    unwatch()
    over()
  })
}

/** Lists the supported formats, as JSON whatever was accepted. */
function refuseForm(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const sentence =
    'The accept header allows none of the available content types: application/json and application/graphql-response+json for an answer, text/event-stream and multipart/mixed for a subscription.'
  const { error } = showError(new BerthError('invalid_request', sentence), request.id)
  Object.assign(error.extensions, { http: { status: notAcceptable } })
  return reply
    .removeHeader('accept')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [error] }))
}

/** Counts the stream; one above the limit is closed before it is refused. */
function beginOrCancel(whose: string, gone: AbortController): () => void {
  try {
    return beginStream('graphql-sse', whose)
  } catch (error) {
    gone.abort()
    throw error
  }
}

/** What a form of another site cannot send. */
function isJsonPost({ method, headers }: FastifyRequest): boolean {
  return method === 'POST' && /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** Whether a browser's EventSource may have sent this: it cannot set headers, and accepts only events. */
function wantsEvents({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.accept === 'text/event-stream'
}

function callOf(services: Services, caller: Caller, request: FastifyRequest, signal: AbortSignal): GraphqlCall {
  return {
    ...services,
    caller,
    requestId: request.id,
    signal,
    sent: request.body,
    isGet: request.method !== 'POST',
    address: request.clientAddress,
    answer: {},
  }
}

/** Sends a subscription's events as they come, with backpressure from the reader. */
async function sendEvents(
  reply: FastifyReply,
  events: ReadableStream<Uint8Array>,
  form: StreamForm,
  gone: AbortController,
  stopping: AbortSignal,
): Promise<void> {
  reply.hijack()
  const { raw } = reply
  const stop = (): void => {
    if (!raw.destroyed) raw.end(form.goodbye)
    gone.abort()
  }
  let stalledBeats = 0
  const beat = setInterval(() => {
    stalledBeats = raw.writableNeedDrain ? stalledBeats + 1 : 0
    if (stalledBeats > stalledBeatsMax) raw.destroy()
    else if (stalledBeats === 0 && form.beat !== '') raw.write(form.beat)
  }, limits.streamHeartbeatSeconds * 1000)
  stopping.addEventListener('abort', stop, { once: true })
  raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as Record<string, string>), // set above; all are text
    ...form.headers,
  })
  const reader = events.getReader()
  const leave = (): void =>
    void reader.cancel().catch((error: unknown) => log.debug({ err: error }, 'a subscription did not end cleanly'))
  gone.signal.addEventListener('abort', leave, { once: true })
  if (gone.signal.aborted) leave()
  try {
    // Ends with the subscription, the client, or the process: each finishes the reader or aborts the signal.
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

/** Sends an error from before GraphQL handled the request, in GraphQL's form. */
function sendFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { error, status, headers } = showError(thrown, request.id)
  const allowance =
    thrown instanceof BerthError ? (thrown.details['allowance'] as GraphqlCall['answer']['allowance']) : undefined // put there by platform/rate-limits.ts
  if (allowance) setAllowance(reply, allowance)
  const type = request.headers.accept?.includes('application/graphql-response+json')
    ? 'application/graphql-response+json'
    : 'application/json'
  return reply
    .code(status)
    .headers(headers)
    .header('cache-control', 'no-store')
    .header('content-type', `${type}; charset=utf-8`)
    .send(JSON.stringify({ errors: [error] }))
}
