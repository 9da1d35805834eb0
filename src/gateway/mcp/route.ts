/** `/mcp`: Berth's tools over streamable HTTP, for who has a token or a key. What serves them is loaded when somebody is let in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bearerOf, countRefusedCredential } from '#schema/context.ts'
import { bearerChallenge } from '#src/identity/oauth/metadata.ts'
import type { Caller } from '#src/platform/access.ts'
import { actingInNamed, organizationHeader } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { holdBodyOf } from '#src/platform/json/held-bodies.ts'
import { limits } from '#src/platform/limits.ts'
import type { Services } from '#src/platform/services.ts'
import type { McpParts, ToolServing } from './serving.ts'

const mcpPath = '/mcp'
/** Where tools for developers serve their pages, such as the protocol's inspector. */
const ofThisMachine: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Adds the path. */
export function serveMcp(app: FastifyInstance, parts: McpParts): void {
  let serving: Promise<ToolServing> | undefined
  app.addHook('onClose', async () => (await serving)?.close())
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: mcpPath,
    bodyLimit: limits.graphqlBodyBytes,
    handler: async (request, reply) => {
      refuseOtherOrigins(request, parts.services)
      const caller = await authenticate(request, reply, parts)
      holdBodyOf(caller, request.rawBody?.length ?? 0, reply.raw)
      serving ??= import('./serving.ts').then(({ createToolServing }) => createToolServing(parts))
      return (await serving).answer(request, reply, caller)
    },
  })
}

/** A page of another site that a browser was led to resolve here has no token, and is refused all the same, as the protocol asks. */
function refuseOtherOrigins({ headers }: FastifyRequest, { config }: Services): void {
  const { origin } = headers
  if (origin === undefined || config.corsOrigins.includes(origin) || origin === new URL(config.publicUrl).origin) return
  if (URL.canParse(origin) && ofThisMachine.has(new URL(origin).hostname)) return
  throw new BerthError(
    'forbidden',
    `Pages of ${origin} may not use this server. Its operator may allow them with BERTH_CORS_ORIGINS.`,
  )
}

async function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  { services, authenticator }: McpParts,
): Promise<Caller> {
  const credential = bearerOf(request.headers)
  const known = await authenticator.authenticate(credential)
  if (known.kind !== 'nobody') return actingInNamed(known, request.headers[organizationHeader])
  if (credential !== undefined) await countRefusedCredential(services.limiter, request.clientAddress)
  const challenge = bearerChallenge(services.config, mcpPath)
  reply.header('www-authenticate', credential === undefined ? challenge : `${challenge}, error="invalid_token"`)
  throw known.refusal
}
