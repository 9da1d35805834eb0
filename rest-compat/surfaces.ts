/** The three documented surfaces: where each is mounted, its routes, and its envelope for errors. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { keepText, sendKept } from '#src/platform/compression.ts'
import { wireSchema } from '#schema/schema.ts'
import type { BerthError, ErrorCode } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { agentsOwn, envelopeFor, gatewaysOwn, isBelow, servedAt } from './anthropic.ts'
import { memoryStoresAbsent } from './agents/memories.ts'
import { agentsHandlers, agentsRoutes } from './agents/routes.ts'
import { infraHandlers, infraRoutes } from './infra/routes.ts'
import { errorType } from './error-types.ts'
import { llmEnvelope, llmErrorHeaders } from './llm/envelope.ts'
import { messagesEnvelope } from './llm/message-events.ts'
import { messageBatchesAbsent } from './llm/messages.ts'
import { responsesAbsent } from './llm/responses.ts'
import { llmHandlers, llmRoutes } from './llm/routes.ts'
import { serveDocsPage, type Documented } from './docs-page.ts'
import { describeSurface } from './openapi.ts'
import { withExamples } from './openapi/examples.ts'
import type { Surface, SurfaceParts } from './routes.ts'
import { createRunner } from './run.ts'
import { wholePath } from './path-hints.ts'
import { serveRoutes } from './serve.ts'

/** The additional documented fields of an error's body, without headers and internal details. */
function documentedDetails({ details }: BerthError): Record<string, unknown> {
  return 'current_target' in details ? { current_target: details['current_target'] } : {}
}

/** Errors of the code host, whose body is documented to have nothing but the code. */
const codesAlone: ReadonlySet<string> = new Set<ErrorCode>(['provider_token_invalid', 'provider_not_connected'])

function agentsType({ code, status }: BerthError): string {
  if (code === 'authentication_invalid') return code
  return status === 503 ? 'overloaded_error' : errorType(status)
}

/** Every surface with its routes. */
export const surfaces: readonly Surface[] = [
  {
    name: 'infra',
    title: 'Berth infrastructure',
    mount: '',
    prefix: '/api/v1',
    openapiPath: '/api/v1/openapi.json',
    routes: infraRoutes,
    handlers: infraHandlers, // streams of files: each says why it is answered by hand
    bodyBytes: limits.infraBodyBytes,
    takesUnknownKeys: false,
    envelope: (error) =>
      codesAlone.has(error.code)
        ? { error: error.code }
        : { error: error.code, message: error.message, ...documentedDetails(error) },
  },
  {
    name: 'agents',
    title: 'Berth agents',
    mount: '/agents',
    prefix: '/agents',
    openapiPath: '/agents/openapi.json',
    routes: agentsRoutes,
    absent: { ...memoryStoresAbsent, ...gatewaysOwn },
    handlers: agentsHandlers, // files as streams, and bodies that are signed: each says why it is answered by hand
    bodyBytes: limits.agentsBodyBytes,
    takesUnknownKeys: false,
    envelope: (error, requestId) => ({
      type: 'error',
      error: { type: agentsType(error), message: error.message, code: error.code },
      request_id: requestId,
    }),
    // A run that could not start is recorded each time, and the next try ends the same.
    errorHeaders: ({ details }): Record<string, string> =>
      'deploymentRunId' in details ? { 'x-should-retry': 'false' } : {},
  },
  {
    name: 'llm',
    title: 'Berth inference gateway',
    mount: '/llm',
    prefix: '/llm',
    openapiPath: '/llm/openapi.json',
    routes: llmRoutes,
    absent: { ...messageBatchesAbsent, ...responsesAbsent, ...agentsOwn },
    bodyBytes: limits.gatewayBodyBytes,
    takesUnknownKeys: true,
    handlers: llmHandlers, // the answers of models: each says why it is answered by hand
    envelope: llmEnvelope,
    anthropicEnvelope: messagesEnvelope,
    errorHeaders: llmErrorHeaders,
  },
]

/** Adds every documented path, each surface's OpenAPI document, and the page at /docs to the app. */
export async function registerSurfaces(app: FastifyInstance, parts: SurfaceParts): Promise<void> {
  const runner = await createRunner(wireSchema)
  app.addHook('onClose', () => runner.close())
  const documented: Documented[] = []
  for (const surface of surfaces) {
    const described = withExamples(describeSurface(surface, runner, parts.services.config.publicUrl))
    documented.push({ ...surface, description: described })
    const description = keepText('application/json; charset=utf-8', JSON.stringify(described))
    await app.register(
      async (scope) => {
        serveRoutes(scope, surface, runner, parts)
        scope.get(surface.openapiPath.slice(surface.prefix.length), (request, reply) =>
          sendKept(request, reply, description),
        )
      },
      { prefix: surface.prefix },
    )
  }
  serveDocsPage(app, documented)
}

/** The envelope for a request that could not be routed: that of its surface, or undefined outside all surfaces. */
export function envelopeAt(url: string, request: Pick<FastifyRequest, 'headers'>): Surface['envelope'] | undefined {
  const surface = surfaces.find(({ prefix }) => isBelow(prefix, servedAt(url)))
  return surface && envelopeFor(surface, { originalUrl: url, headers: request.headers })
}

/** The gateway's path that a client whose base URL is another one has meant by this path; undefined for all others. */
export function gatewayPathMeant(url: string): string | undefined {
  const asked = url.split('?', 1)[0] ?? ''
  const paths = Object.keys(llmHandlers).map((key) => key.replace(/^\w+ /, ''))
  const meant = paths.find((path) => asked.endsWith(path.replace('/v1', '')))
  return meant && `/llm${meant}`
}

/** The path of any surface of which only the end was asked for, such as `/v1/vms`; undefined for all others. */
export function wholePathMeant(url: string): string | undefined {
  return wholePath(whole, url)
}

const whole = surfaces.flatMap(({ mount, routes, handlers }) =>
  [...Object.keys(routes), ...Object.keys(handlers)].map((key) => mount + key.replace(/^\w+ /, '')),
)
