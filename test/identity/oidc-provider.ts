/** A real identity provider, certified for OpenID Connect, with one client: Berth. Whoever it is given a name signs in by it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** The provider. `claims`: what it says of each person, by the name with which they sign in. */
export type TestProvider = { issuer: string; clientId: string; clientSecret: string; close: () => void }

/** Starts it. @param redirectUri where its client is. */
export async function startProvider(
  redirectUri: () => string,
  claims: Readonly<Record<string, Record<string, unknown>>>,
): Promise<TestProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['berth-console', 'a secret of the console that nobody else has']
  let handle: ReturnType<Provider['callback']> | undefined
  server.on('request', (request, response) => {
    // Made at the first request: where Berth listens is not known before.
    handle ??= new Provider(issuer, {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri()] }],
      cookies: { keys: ['of a test'] },
      claims: { email: ['email', 'email_verified'], profile: ['name', 'preferred_username'] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims[id] }) }),
    }).callback()
    void handle(request, response)
  })
  return { issuer, clientId, clientSecret, close: () => server.close().closeAllConnections() }
}
