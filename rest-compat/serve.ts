/** Turns a table of routes into Fastify routes: authentication, limits, idempotency, the document, the answer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '#schema/builder.ts'
import { bearerOf } from '#schema/context.ts'
import { shownError } from '#schema/public-error.ts'
import { missingToken, noting, userTokenRequired, type Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { refusedRequest } from '#src/platform/json/body.ts'
import { bodyLength, holdBodyOf } from '#src/platform/json/held-bodies.ts'
import { bodyText } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import { rateLimited } from '#src/platform/metrics.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import type { Services } from '#src/platform/services.ts'
import { claimKey, contextOf, knownCaller, send, sendError } from './answers.ts'
import { listBody, listError } from './lists.ts'
import { pathRefusals } from './path-hints.ts'
import type { Handler, HandWrittenParts, Route, Surface, SurfaceParts } from './routes.ts'
import { bodyOf, type Operation, type Runner, type Variables } from './run.ts'
import { streamHandler } from './serve-streams.ts'
import { variableReader } from './variables.ts'

/** Adds a surface's routes to the scope, which carries the surface's prefix, and its error envelope. */
export function serveRoutes(scope: FastifyInstance, surface: Surface, runner: Runner, parts: SurfaceParts): void {
  scope.setErrorHandler((error, request, reply) => {
    // A 401 is never turned into a 429: it tells a client to renew its token, and the interface lists no other status.
    const shown = shownError(refusedRequest(error, request, reply), request.id)
    if (shown.code === 'rate_limited') rateLimited.inc({ surface: surface.name })
    return sendError(surface, shown, request, reply)
  })
  const refusalAt = pathRefusals(surface, runner.schema, (source) => runner.prepare(source))
  scope.setNotFoundHandler((request, reply) =>
    sendError(surface, new BerthError('not_found', refusalAt(request.method, request.url)), request, reply),
  )
  // The router takes an empty part of a path for a parameter.
  scope.addHook('onRequest', async (request) => {
    if (Object.values(request.params ?? {}).includes(''))
      throw new BerthError('not_found', refusalAt(request.method, request.url))
  })
  for (const [key, route] of Object.entries(surface.routes)) {
    const [method = '', path = ''] = key.split(' ')
    const operation = runner.prepare(route.operation)
    const isStream = operation.definition.operation === 'subscription'
    const admit = isStream || route.open ? [] : [admission(route, method, parts)]
    const hooks = [...(route.headers ? [headersSetter(route.headers)] : []), ...admit]
    const handler = isStream
      ? streamHandler(scope, surface, method, path, route, operation, runner, parts)
      : answerHandler(surface, method, path, route, operation, runner, parts)
    for (const one of [path, ...(route.alias ? [route.alias] : [])]) {
      const full = surface.mount + one
      scope.route({
        method,
        url: full.slice(surface.prefix.length).replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit: route.bodyBytes ?? surface.bodyBytes,
        config: { refusesUnknownKeys: !surface.takesUnknownKeys },
        onRequest: hooks,
        handler,
      })
    }
  }
  for (const [key, written] of Object.entries(surface.handlers)) {
    const [method = '', path = ''] = key.split(' ')
    const show = showAs(surface.routes[written.answersAs ?? ''], runner)
    const { admit, handle } = written.make({ ...parts, stopping: scope.stopping, show })
    const add = (to: FastifyInstance): void =>
      void to.route({
        method: method === 'GET' ? ['GET', 'HEAD'] : method,
        exposeHeadRoute: false, // the handler knows what a GET would answer without making its body
        url: (surface.mount + path).slice(surface.prefix.length).replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit: surface.bodyBytes,
        config: {
          neverCompressed: true,
          takesFiles: written.takesStream ?? false,
          envelope: written.failure?.envelope ?? surface.envelope,
        },
        onRequest: admit,
        handler: handle,
      })
    if (written.takesStream) scope.register(async (own) => add(takingStreams(own)))
    else add(scope)
  }
}

function showAs(route: Route | undefined, runner: Runner): HandWrittenParts['show'] {
  const operation = route && runner.prepare(route.operation)
  return async (variables, call) => {
    if (!operation) throw new Error('a handler answers as a route that is not there')
    return JSON.stringify(bodyOf(operation, await runner.execute(operation, variables, call)))
  }
}

/** The scope, in which bodies of every type are handed on as streams. */
function takingStreams(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  return scope
}

/** The caller of a route that ignores credentials. */
const anybody: Caller = { kind: 'nobody', refusal: missingToken() }

/** The caller of each admitted request. */
const admitted = new WeakMap<FastifyRequest, Caller>()

/** Sets a route's headers first of all, so that refusals have them too. */
function headersSetter(
  headers: NonNullable<Route['headers']>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (_, reply) => void reply.headers(headers)
}

/**
 * Admits and counts a request before its body is read: a 401 goes before errors in the body, which count too, and
 * bodies of refused requests are never read.
 */
function admission(
  route: Route,
  method: string,
  { services, authenticator }: SurfaceParts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const caller = await knownCaller(authenticator.authenticate(bearerOf(request.headers)))
    if (route.peopleOnly && caller.kind === 'key') throw userTokenRequired()
    holdBodyOf(caller, bodyLength(request.headers) ?? 0, reply.raw)
    admitted.set(request, caller)
    const allowance = spendRequest(services.limiter, caller, method === 'POST')
    setAllowance(reply, 'then' in allowance ? await allowance : allowance)
  }
}

function answerHandler(
  surface: Surface,
  method: string,
  path: string,
  route: Route,
  operation: Operation,
  runner: Runner,
  { services }: SurfaceParts,
): Handler {
  const readVariables = variableReader(method, path, route, operation, {
    schema: runner.schema,
    lenient: surface.takesUnknownKeys,
  })
  const forAnthropic = route.forAnthropic === undefined ? operation : runner.prepare(route.forAnthropic)
  const isPost = method === 'POST'
  return async (request, reply) => {
    const caller = admitted.get(request) ?? anybody // set for open routes; no other route is reached without a caller
    if (route.open)
      setAllowance(reply, await services.limiter.spend(`open:${request.clientAddress}`, limits.anonymousPerMinute))
    if (bodyLength(request.headers) === undefined) holdBodyOf(caller, request.rawBody?.length ?? 0, reply.raw) // it came in chunks
    const variables = readVariables(request, caller)
    const key = isPost ? request.headers['idempotency-key'] : undefined
    const asked = request.headers['anthropic-beta'] === undefined ? operation : forAnthropic
    const run = (as: Caller): Promise<Answer> =>
      answer(runner, route, asked, variables, contextOf(services, as, request))
    if (key === undefined) {
      const { status, body } = await run(caller)
      const deleted =
        route.deletes !== undefined && (route.status !== 204 || request.headers['anthropic-beta'] !== undefined)
      return deleted ? send(reply, 200, deletedBody(path, request, route)) : send(reply, status, body)
    }
    return once(services, caller, key, request, reply, run)
  }
}

/** The body that Anthropic's client expects from a deletion. */
function deletedBody(path: string, request: FastifyRequest, { deletes }: Route): string {
  const name = [...path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1] ?? ''
  return JSON.stringify({ id: (request.params as Record<string, string>)[name], type: `${deletes}_deleted` }) // Fastify's own shape of path parameters
}

/** An answer: its body as text, as bytes if it is large; null for one without a body. */
type Answer = { status: number; body: string | Buffer | null }

/** Runs the document and serializes the body. */
async function answer(
  runner: Runner,
  route: Route,
  operation: Operation,
  variables: Variables,
  context: Context,
): Promise<Answer> {
  const data = await runner.execute(operation, variables, context).catch((error: unknown) => {
    throw error instanceof BerthError ? asListed(route.list ? listError(route.list, error) : error, route) : error
  })
  const status = statusOf(route, operation, data)
  if (status === 204) return { status, body: null }
  const result = bodyOf(operation, data)
  const listed = route.list ? listBody(route.list, result, variables) : result
  const body = route.entriesBy === undefined ? listed : withEntriesBy(route.entriesBy, listed)
  return { status, body: await (route.large ? bodyText(body) : JSON.stringify(body)) }
}

/** The documented status, or the one for a creation that found what it had created before. */
function statusOf({ status, found }: Route, { bodyAt }: Operation, data: unknown): Route['status'] {
  if (!found) return status
  const payload = bodyAt.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], data) // fields of the document
  return (payload as Record<string, unknown>)[found.unless] === false ? found.status : status // as above
}

/** The body in which each entry of `data` is replaced by one of its keys. */
function withEntriesBy(key: string, body: unknown): unknown {
  const { data, ...rest } = body as { data: Record<string, unknown>[] } // a route that says so has such a document
  return { ...rest, data: data.map((entry) => entry[key]) }
}

/** The error with a status that the interface lists for this path. Only 401 and 403 are possible everywhere. */
function asListed(error: BerthError, route: Route): BerthError {
  if (error.code === 'not_found' && route.absentIs403?.includes(String(error.details['noun'])))
    return new BerthError('forbidden', error.message)
  const outOfReach = error.status === 502 || error.status === 504
  return outOfReach && !route.errors.includes(error.status) ? new BerthError('internal_error', error.message) : error
}

/**
 * Runs a POST with an idempotency key once in 24 hours. A repeated request gets the stored response, as long as its
 * caller is still permitted to do what it did.
 */
async function once(
  services: Services,
  known: Caller,
  key: string | string[],
  request: FastifyRequest,
  reply: FastifyReply,
  run: (as: Caller) => Promise<Answer>,
): Promise<unknown> {
  const { caller, grants } = noting(known)
  const claim = await claimKey(services, caller, key, request, grants)
  if (claim.kept) return send(reply.header('idempotent-replayed', 'true'), claim.kept.status, claim.kept.body)
  let made: Answer
  try {
    made = await run(caller)
  } catch (error) {
    await claim.release() // an error changed nothing: the same key may be used again
    throw error
  }
  await claim.keep(made)
  return send(reply, made.status, made.body)
}
