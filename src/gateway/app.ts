/** The web process as one Fastify app: GraphQL, its page and its sockets, the REST surfaces, identity, health. It does not listen. */
import type { Socket } from 'node:net'
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onResponseHookHandler,
} from 'fastify'
import type { GraphQLSchema } from 'graphql'
import { servedAt } from '#rest-compat/anthropic.ts'
import { envelopeAt, gatewayPathMeant, wholePathMeant } from '#rest-compat/surfaces.ts'
import { createAuthenticator, type Authenticator } from '#schema/context.ts'
import { shownError } from '#schema/public-error.ts'
import { compressAnswers } from '#src/platform/compression.ts'
import { BerthError, retryAfterOf } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { createProxies, networkOf } from '#src/platform/http/proxies.ts'
import { limits } from '#src/platform/limits.ts'
import { acceptJsonBodies, refusedRequest } from '#src/platform/json/body.ts'
import { reportConnections, reportServer, requestSeconds } from '#src/platform/metrics.ts'
import type { Services } from '#src/platform/services.ts'
import { serveConsole } from '#src/console/pages.ts'
import { ensureSigningKey, serveIssuer } from '#src/identity/issuer.ts'
import { serveOAuth } from '#src/identity/oauth.ts'
import { serveOidc } from '#src/identity/oidc.ts'
import { serveSignIn, serveSignOut } from '#src/identity/sign-in.ts'
import { reportState } from '#src/resources/state-metrics.ts'
import { watchConnections } from './connections.ts'
import { allowOrigins, markOrigin } from './cors.ts'
import { createEngine } from './graphql.ts'
import { serveGraphql } from './graphql-http.ts'
import { serveHealth } from './health.ts'
import { beginsAsHttp2, http2Refusal } from './http2-refusal.ts'
import { serveGuide } from '#src/guide/serve.ts'
import { serveIndexPage } from './index-page.ts'
import { serveMcp } from './mcp/route.ts'
import { serveObjects } from './objects.ts'
import { unpackBodies } from './packed-bodies.ts'
import { holdSmallChunks, watchReceiving } from './receiving.ts'
import { asksForSocket, serveSockets } from './sockets.ts'
import { serveSql } from './sql.ts'
import { serveTerminals } from './terminals/sockets.ts'
import { serveTunnels } from './tunnels/sockets.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Fires when the app starts to close, and ends open streams, so that closing does not wait for them. */
    stopping: AbortSignal
  }
  interface FastifyRequest {
    /** The address of who sent it: not Fastify's `ip`, which knows no trusted proxy. */
    readonly clientAddress: string
    /** Whose that is, for what is limited for each: see `networkOf`. */
    readonly clientNetwork: string
  }
}

/** Adds the REST surfaces; rest-compat/surfaces.ts has the real one. */
export type RegisterSurfaces = (
  app: FastifyInstance,
  parts: { services: Services; schema: GraphQLSchema; authenticator: Authenticator },
) => Promise<void>

/** The parts of the app. Tests omit the surfaces, or use a schema of their own. */
export type AppParts = { services: Services; schema: GraphQLSchema; surfaces?: RegisterSurfaces }

const receiveTimeoutMs = 10_000 // for receiving a whole request; a response has no such limit
/** Node has one limit for all requests, so it gets that of an upload; the one above is enforced by cutSlowBodies. */
const receiveFileTimeoutMs = limits.uploadUrlSeconds * 1000
const headersTimeoutMs = 5_000
const connectionsCheckMs = 1_000
const idleSweepMs = 50
const longestParameter = 16 * 1024 // characters, all that Node takes: a long id is answered as any other that is not there

/** Builds the app, ready to listen or to be tested by `inject`. */
export async function buildApp({ services, schema, surfaces }: AppParts): Promise<FastifyInstance> {
  const { config } = services
  const origins = new Set(config.corsOrigins)
  const app = createServer(origins)
  const proxies = createProxies(config.trustedProxies)
  app.decorateRequest('clientAddress', {
    getter() {
      return proxies.clientOf(this.raw)
    },
  })
  app.decorateRequest('clientNetwork', {
    getter() {
      return networkOf(this.clientAddress)
    },
  })
  watchConnections(app, config, proxies)
  const stopping = signalStop(app)
  app.addHook('onRequest', (request, reply, done) => {
    markAnswer(request.id, reply)
    done()
  })
  holdSmallChunks(app)
  allowOrigins(app, origins)
  cutSlowBodies(app)
  app.addHook('onRoute', (route) => {
    route.onResponse = timeRoute(route.url)
  })
  answerErrors(app)
  acceptJsonBodies(app)
  unpackBodies(app)
  compressAnswers(app)
  reportConnections(services.database)
  reportServer(app.server)
  reportState(services)

  const authenticator = createAuthenticator(services)
  const engine = createEngine(schema)
  const graphql = { services, schema, engine, authenticator, proxies, stopping }
  serveIndexPage(app, serveConsole(app, config))
  serveGuide(app, services)
  serveHealth(app, services)
  await app.register(async (scope) => serveGraphql(scope, graphql))
  serveSockets(app, graphql)
  serveTerminals(app, graphql)
  serveTunnels(app, graphql)
  serveMcp(app, { services, operations: engine.operations, authenticator })
  await serveObjects(app, services)
  await serveSql(app, config)
  if (config.builtInIssuer) {
    await ensureSigningKey(services)
    serveIssuer(app, services)
    if (config.localSignIn) serveSignIn(app, services)
  }
  serveSignOut(app, services)
  serveOidc(app, services)
  await serveOAuth(app, services, (cookie) => authenticator.authenticate(cookie))
  await surfaces?.(app, { services, schema, authenticator })
  return app
}

/** Fastify with our limits and ids, and nothing mounted. */
function createServer(origins: ReadonlySet<string>): FastifyInstance {
  return fastify({
    logger: false,
    trustProxy: false,
    rewriteUrl: ({ url = '/' }) => servedAt(url),
    genReqId: () => newId('request'),
    requestIdHeader: false, // a caller cannot choose the id
    requestTimeout: receiveFileTimeoutMs,
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: connectionsCheckMs,
      shouldUpgradeCallback: asksForSocket,
    },
    routerOptions: { maxParamLength: longestParameter },
    clientErrorHandler: answerBadHttp,
    frameworkErrors: (error, request, reply) => {
      const plain = reply as FastifyReply // Fastify has a separate type for a reply without a route
      markAnswer(request.id, plain)
      markOrigin(request, plain, origins)
      sendPlainError(refusedRequest(error, request, plain), request, plain, request.originalUrl)
    },
  })
}

/** Makes the app's signal `stopping`, and lets go of idle connections from then on. */
function signalStop(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController()
  app.decorate('stopping', stopping.signal)
  app.addHook('preClose', (done) => {
    stopping.abort()
    if (!app.server.listening) return done()
    // A connection whose last response went out after closing began would otherwise stay open until its client gives up.
    const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs)
    app.server.once('close', () => clearInterval(sweep))
    sweep.unref()
    done()
  })
  return stopping.signal
}

/** Answers what no route answers: what is thrown outside of one, and paths that nothing has. */
function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const meant = request.is404 ? gatewayPathMeant(request.url) : undefined
    sendPlainError(refusedRequest(error, request, reply), request, reply, meant)
  })
  app.setNotFoundHandler((request, reply) => {
    const meant = gatewayPathMeant(request.url) // in the envelope that such a client reads
    const error = new BerthError(
      'not_found',
      `There is no ${request.method} at this path${pathHint(request.url, meant)}`,
    )
    sendPlainError(error, request, reply, meant)
  })
}

/** What is said of a path that no surface has; `meant`: that of the gateway which was meant. */
function pathHint(url: string, meant: string | undefined): string {
  if (meant !== undefined)
    return `. Did you mean ${meant}? The base URL of OpenAI’s clients ends in /llm/v1, that of Anthropic’s in /llm.`
  const whole = wholePathMeant(url)
  return whole === undefined ? '.' : `. Did you mean ${whole}?`
}

/** Cuts requests whose body takes too long to arrive. */
function cutSlowBodies(app: FastifyInstance): void {
  const receiving = watchReceiving(receiveTimeoutMs, (request) =>
    answerBadHttp(Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), request.socket),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    if (
      (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) &&
      !request.routeOptions.config?.takesFiles
    )
      receiving.begin(request.raw)
    done()
  })
  app.addHook('preValidation', (request, _reply, done) => {
    // the first hook after the body
    receiving.end(request.raw)
    done()
  })
  app.addHook('onClose', (_app, done) => {
    receiving.close()
    done()
  })
}

/** The hook that times a route's answers. A hot path: each route has its own hook, which need not look up the route. */
function timeRoute(route: string): onResponseHookHandler {
  const timers = new Map<string, { observe: (seconds: number) => void }>()
  return (request, reply, done) => {
    const status = String(reply.statusCode)
    const key = request.method + status
    let timer = timers.get(key)
    if (!timer) timers.set(key, (timer = requestSeconds.labels(request.method, route, status)))
    timer.observe(reply.elapsedTime / 1000)
    done()
  }
}

/** Answers connections that send invalid HTTP, or send it too slowly, before there is a request. */
function answerBadHttp(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (error.code === beginsAsHttp2) return void socket.end(http2Refusal)
  const [status, sentence] = badHttp[error.code ?? ''] ?? ['400 Bad Request', 'The request is not well-formed HTTP.']
  const id = newId('request')
  const body = JSON.stringify({ error: 'invalid_request', message: sentence })
  socket.end(
    `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\nrequest-id: ${id}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

const badHttp: Readonly<Record<string, [status: string, sentence: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are longer than 16 KB.'],
}

/** Sets the headers of every answer. */
function markAnswer(requestId: string, reply: FastifyReply): void {
  reply.header('x-request-id', requestId).header('request-id', requestId).header('x-content-type-options', 'nosniff')
}

/** Sends errors outside GraphQL and the REST routes; under the path of a surface, in that surface's envelope. */
function sendPlainError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, url = ''): void {
  const error = shownError(thrown, request.id)
  const { code, status, message } = error
  const retryAfterSeconds = retryAfterOf(error)
  reply.code(status)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  reply.send(envelopeAt(url, request)?.(error, request.id) ?? { error: code, message })
}
