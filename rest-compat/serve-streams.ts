/** Answers routes whose document is a subscription: a stream of its events, for as long as the caller may see them. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { bearerOf, tokenInQuery } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowAgain, noting } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { eventStreamHeaders, setAllowance } from '#src/platform/http/headers.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import { contextOf, knownCaller, send } from './answers.ts'
import type { Handler, Route, Surface, SurfaceParts } from './routes.ts'
import type { Operation, Runner } from './run.ts'
import { namedFrames, plainFrames, sendStream, uiFrames } from './stream.ts'
import { variableReader } from './variables.ts'

/** The status that makes a browser's EventSource stop coming back. */
const nothingMore = 204

/** Makes the handler of a stream. */
export function streamHandler(
  scope: FastifyInstance,
  surface: Surface,
  method: string,
  path: string,
  route: Route,
  operation: Operation,
  runner: Runner,
  { services, authenticator }: SurfaceParts,
): Handler {
  const readVariables = variableReader(method, path, route, operation, {
    schema: runner.schema,
    lenient: surface.takesUnknownKeys,
  })
  const frames = { named: namedFrames(surface.envelope), ui: uiFrames, plain: plainFrames }[route.frames ?? 'plain']
  const shared = route.sameForAll ? new WeakMap<object, Promise<Record<string, unknown>>>() : undefined
  return async (request, reply) => {
    const credential = bearerOf(request.headers) ?? (route.tokenInQuery ? tokenInQuery(request.query) : undefined)
    const { caller, grants } = noting(await knownCaller(authenticator.authenticate(credential)))
    setAllowance(reply, await spendRequest(services.limiter, caller, false))
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort()) // 'close' of the answer, not of the connection, which may carry more requests
    const over = beginStream('sse', callerName(caller))
    const unwatch = watchCaller(
      authenticator,
      credential ?? '',
      (now) => allowAgain(now, grants),
      () => gone.abort(),
    ) // an authenticated caller has one
    try {
      const events = await runner.follow(
        operation,
        readVariables(request),
        { ...contextOf(services, caller, request), signal: gone.signal },
        shared,
      )
      if (request.method === 'HEAD') return await describeStream(reply, events, gone)
      return await sendStream(request, reply, events, gone, scope.stopping, undefined, frames)
    } catch (error) {
      if (error instanceof BerthError && error.code === 'log_over') return await send(reply, nothingMore, null)
      throw error
    } finally {
      unwatch()
      over()
    }
  }
}

/**
 * Answers HEAD of a stream: the stream was started, so that the status is the same as for GET, and ends before its
 * first event.
 */
async function describeStream(
  reply: FastifyReply,
  events: AsyncIterableIterator<unknown>,
  gone: AbortController,
): Promise<FastifyReply> {
  gone.abort()
  await events.return?.()
  return reply.headers(eventStreamHeaders).send()
}
