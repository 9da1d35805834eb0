/** Berth as an authorization server (OAuth 2.1) for programs: the command line, clients of MCP, and others that register. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { addVary } from '#src/platform/compression.ts'
import type { Services } from '#src/platform/services.ts'
import { serveAuthorize } from './oauth/authorize.ts'
import { createClients } from './oauth/clients.ts'
import { serveConsent, type FindPerson } from './oauth/consent.ts'
import { answerOAuthErrors } from './oauth/errors.ts'
import { oauthPaths, serveMetadata } from './oauth/metadata.ts'
import { serveRegistration } from './oauth/register.ts'
import { acceptForms, serveTokens } from './oauth/token.ts'

const preflightSeconds = 600

/** Adds all its paths. @param findPerson who is signed in, by a cookie. */
export async function serveOAuth(app: FastifyInstance, services: Services, findPerson: FindPerson): Promise<void> {
  const findClient = createClients(services)
  serveAuthorize(app, services, findClient)
  serveConsent(app, services, findPerson)
  await app.register(async (scope) => {
    openToPages(scope)
    answerOAuthErrors(scope)
    acceptForms(scope)
    serveMetadata(scope, services.config)
    serveTokens(scope, services, findClient)
    serveRegistration(scope, services)
  })
}

/** Pages of any origin may ask what programs ask: nothing here looks at a cookie, and whoever asks has to show a secret. */
function openToPages(scope: FastifyInstance): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    markOpen(reply)
    done()
  })
  for (const path of [
    oauthPaths.token,
    oauthPaths.register,
    oauthPaths.revoke,
    oauthPaths.device,
    '/.well-known/oauth-*',
  ])
    scope.options(path, (_request, reply) =>
      reply
        .code(204)
        .headers({
          'access-control-allow-methods': 'GET, POST, OPTIONS',
          'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
          'access-control-max-age': preflightSeconds,
        })
        .send(),
    )
}

function markOpen(reply: FastifyReply): void {
  addVary(reply, 'origin')
  reply.header('access-control-allow-origin', '*')
}
