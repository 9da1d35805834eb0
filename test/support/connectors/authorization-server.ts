/**
 * A real OAuth authorization server for tool servers: metadata, registration, PKCE, resource indicators, JWTs as access
 * tokens, refresh tokens that are valid for one use, and revocation. Whoever comes to its page has consented.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { freePort } from '../ports.ts'

/** A client that it knows. */
type Client = { id: string; secret: string | null; redirects: string[] | null }
type Grant = { client: string; redirect: string; challenge: string; resource: string; scope: string }
/** Answers a request in its place when it returns true. */
export type Intercept = (req: IncomingMessage, res: ServerResponse, form: URLSearchParams) => boolean | Promise<boolean>

/** A running one, and what tests can do with it. */
export type ConnectorAuthority = {
  issuer: string
  hostPort: string
  /** What its metadata says besides the usual; null takes a key out. */
  metadata: Record<string, unknown>
  /** Every request, as `METHOD /path`, with its form or query. */
  requests: { line: string; form: Record<string, string>; authorization: string | null }[]
  clients: Map<string, Client>
  /** Whether an access token is good for a resource, and its scopes. */
  scopesOf: (accessToken: string, resource: string) => string[] | null
  /** Ends all access tokens; refresh tokens stay good. */
  endAccess: () => void
  intercept: Intercept | null
  /** Seconds that access tokens are said to last. */
  expiresIn: number
  /** Signs a person in as a browser does: from Berth's address to where the code came back. */
  visit: (authorizationUrl: string) => Promise<URL>
  close: () => void
}

/** Starts one. */
export async function startAuthority(): Promise<ConnectorAuthority> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const codes = new Map<string, Grant>()
  const refreshTokens = new Map<string, Grant>()
  const access = new Set<string>()
  const clients = new Map<string, Client>()
  const token = () => randomBytes(24).toString('base64url')

  const running: ConnectorAuthority = {
    issuer,
    hostPort: `127.0.0.1:${port}`,
    metadata: {},
    requests: [],
    clients,
    intercept: null,
    expiresIn: 3600,
    scopesOf(accessToken, resource) {
      if (!access.has(accessToken)) return null
      const { aud, scope } = decodeJwt(accessToken)
      return aud === resource ? String(scope).split(' ') : null
    },
    endAccess: () => access.clear(),
    async visit(authorizationUrl) {
      const answer = await fetch(authorizationUrl, { redirect: 'manual' })
      const location = answer.headers.get('location')
      if (!location) throw new Error(`the page answered ${answer.status}: ${await answer.text()}`)
      return new URL(location)
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }

  const json = (res: ServerResponse, status: number, body: unknown): void =>
    void res
      .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      .end(JSON.stringify(body))
  const refuse = (res: ServerResponse, error: string, status = 400): void =>
    json(res, status, { error, error_description: 'canary-words-of-a-stranger' })

  function describe(): Record<string, unknown> {
    const all: Record<string, unknown> = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      authorization_response_iss_parameter_supported: true,
      ...running.metadata,
    }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
  }

  function authorize(res: ServerResponse, query: URLSearchParams): void {
    const client = clients.get(query.get('client_id') ?? '')
    const redirect = query.get('redirect_uri') ?? ''
    if (!client || (client.redirects && !client.redirects.includes(redirect))) return refuse(res, 'invalid_client')
    const challenge = query.get('code_challenge')
    if (query.get('code_challenge_method') !== 'S256' || !challenge || query.get('response_type') !== 'code')
      return refuse(res, 'invalid_request')
    const code = token()
    const [resource, scope] = [query.get('resource') ?? '', query.get('scope') ?? 'read']
    codes.set(code, { client: client.id, redirect, challenge, resource, scope })
    const back = new URL(redirect)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    if (describe()['authorization_response_iss_parameter_supported'] === true) back.searchParams.set('iss', issuer)
    res.writeHead(302, { location: back.href }).end()
  }

  function clientOf(req: IncomingMessage, form: URLSearchParams): Client | undefined {
    const [id = '', secret = null] = req.headers.authorization?.startsWith('Basic ')
      ? Buffer.from(req.headers.authorization.slice(6), 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id') ?? '', form.get('client_secret')]
    const client = clients.get(id)
    return client?.secret === secret ? client : undefined
  }

  async function give(res: ServerResponse, grant: Grant): Promise<void> {
    const accessToken = await new SignJWT({ scope: grant.scope, jti: token() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(issuer)
      .setAudience(grant.resource)
      .setExpirationTime('1h')
      .sign(privateKey)
    const refreshToken = token()
    access.add(accessToken)
    refreshTokens.set(refreshToken, grant)
    json(res, 200, {
      access_token: accessToken,
      token_type: 'Bearer',
      refresh_token: refreshToken,
      scope: grant.scope,
      expires_in: running.expiresIn,
    })
  }

  async function exchange(req: IncomingMessage, res: ServerResponse, form: URLSearchParams): Promise<void> {
    const client = clientOf(req, form)
    if (!client) return refuse(res, 'invalid_client', 401)
    const isCode = form.get('grant_type') === 'authorization_code'
    const held = isCode ? codes : refreshTokens
    const key = form.get(isCode ? 'code' : 'refresh_token') ?? ''
    const grant = held.get(key)
    held.delete(key)
    if (!grant || grant.client !== client.id) return refuse(res, 'invalid_grant')
    if ((form.get('resource') ?? '') !== grant.resource) return refuse(res, 'invalid_target')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (isCode && (proof !== grant.challenge || form.get('redirect_uri') !== grant.redirect))
      return refuse(res, 'invalid_grant')
    await give(res, grant)
  }

  function register(res: ServerResponse, body: string): void {
    const { redirect_uris: redirects, token_endpoint_auth_method: method } = JSON.parse(body) as {
      redirect_uris: string[]
      token_endpoint_auth_method: string
    }
    const client = { id: `client-${token()}`, secret: method === 'none' ? null : token(), redirects }
    clients.set(client.id, client)
    json(res, 201, {
      ...JSON.parse(body),
      client_id: client.id,
      ...(client.secret && { client_secret: client.secret }),
    })
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req)
    const { pathname, searchParams } = new URL(req.url ?? '', issuer)
    const isForm = req.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
    const form = isForm ? new URLSearchParams(body) : searchParams
    const line = `${req.method} ${pathname}`
    running.requests.push({ line, form: Object.fromEntries(form), authorization: req.headers.authorization ?? null })
    if (await running.intercept?.(req, res, form)) return
    if (line === 'GET /.well-known/oauth-authorization-server') return json(res, 200, describe())
    if (line === 'GET /jwks') return json(res, 200, { keys: [await exportJWK(publicKey)] })
    if (line === 'GET /authorize') return authorize(res, form)
    if (line === 'POST /token') return exchange(req, res, form)
    if (line === 'POST /register') return register(res, body)
    if (line !== 'POST /revoke') return json(res, 404, {})
    const gone = form.get('token') ?? ''
    access.delete(gone)
    refreshTokens.delete(gone)
    json(res, 200, {})
  }

  const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return running
}
