/** What Berth says of itself as an authorization server (RFC 8414) and as what its tokens are for (RFC 9728). */
import type { FastifyInstance } from 'fastify'
import { programScopes } from '#src/platform/access/permissions.ts'
import type { Config } from '#src/platform/config.ts'

/** Where programs ask. */
export const oauthPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  device: '/oauth/device_authorization',
} as const
/** The console's pages for people. */
export const personPaths = { authorize: '/authorize', activate: '/activate' } as const

/** The grants that the token endpoint takes. */
export const grantTypes = {
  code: 'authorization_code',
  refresh: 'refresh_token',
  device: 'urn:ietf:params:oauth:grant-type:device_code',
} as const

const serverPath = '/.well-known/oauth-authorization-server'
const resourcePath = '/.well-known/oauth-protected-resource'
const toolsPath = '/mcp'
const cachedSeconds = 300
type Address = Pick<Config, 'publicUrl'>

/** Adds the documents. */
export function serveMetadata(scope: FastifyInstance, config: Address): void {
  const documents = {
    [serverPath]: serverMetadata(config),
    [resourcePath]: resourceMetadata(config, ''),
    [`${resourcePath}${toolsPath}`]: resourceMetadata(config, toolsPath),
  }
  for (const [path, document] of Object.entries(documents))
    scope.get(path, (_request, reply) => {
      reply.header('cache-control', `public, max-age=${cachedSeconds}`)
      return document
    })
}

function serverMetadata({ publicUrl }: Address): object {
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + oauthPaths.authorize,
    token_endpoint: publicUrl + oauthPaths.token,
    registration_endpoint: publicUrl + oauthPaths.register,
    revocation_endpoint: publicUrl + oauthPaths.revoke,
    device_authorization_endpoint: publicUrl + oauthPaths.device,
    scopes_supported: programScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: Object.values(grantTypes),
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
}

/** Clients ask for what stands here when they are told nothing else, so that `admin` is asked for by those alone that mean it. */
function resourceMetadata({ publicUrl }: Address, path: string): object {
  return {
    resource: publicUrl + path,
    authorization_servers: [publicUrl],
    scopes_supported: programScopes.filter((scope) => scope !== 'admin'),
    bearer_methods_supported: ['header'],
  }
}

/** The value of `WWW-Authenticate` by which a client finds where to sign in (RFC 9728 §5.1). @param path of the resource, such as `/mcp`. */
export function bearerChallenge({ publicUrl }: Address, path: string): string {
  return `Bearer resource_metadata="${publicUrl}${resourcePath}${path}"`
}
