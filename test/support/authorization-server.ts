/** A small real OAuth authorization server: a token endpoint that rotates refresh tokens, each valid for one use. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { freePort } from './ports.ts'

/** How a client authenticates. */
type ClientAuth = 'none' | 'client_secret_basic' | 'client_secret_post'

/** A running authorization server, and what tests can do with it. */
export type AuthorizationServer = {
  tokenEndpoint: string
  /** For BERTH_PRIVATE_HOSTS. */
  hostPort: string
  /** Makes a pair of tokens, as after a consent. */
  grant: () => { accessToken: string; refreshToken: string }
  /** Whether this access token is valid. */
  accepts: (accessToken: string) => boolean
  /** Expires an access token. */
  revoke: (accessToken: string) => void
  /** The refresh requests that it received, with their form fields. */
  requests: Record<string, string>[]
  /** Answers the next requests with `answer` instead of its own answer, after `delayMs`. */
  next: { answer?: (res: ServerResponse, form: URLSearchParams) => void; delayMs?: number; expiresIn?: number | null }
  close: () => void
}

/** The client that it knows. */
export const oauthClient = { id: 'berth: test&client', secret: 'client+secret/canary-7c1e==' }

/** Starts one that requires this kind of client authentication. */
export async function startAuthorizationServer(
  clientAuth: ClientAuth = 'client_secret_basic',
): Promise<AuthorizationServer> {
  const access = new Set<string>()
  const refresh = new Set<string>()
  const grant = (): { accessToken: string; refreshToken: string } => {
    const pair = {
      accessToken: `access-${randomBytes(18).toString('base64url')}`,
      refreshToken: `refresh-${randomBytes(18).toString('base64url')}`,
    }
    access.add(pair.accessToken)
    refresh.add(pair.refreshToken)
    return pair
  }
  const port = await freePort()
  const server = createServer((req, res) => void exchange(req, res).catch(() => res.destroy()))
  const running: AuthorizationServer = {
    tokenEndpoint: `http://127.0.0.1:${port}/token`,
    hostPort: `127.0.0.1:${port}`,
    grant,
    accepts: (token) => access.has(token),
    revoke: (token) => void access.delete(token),
    requests: [],
    next: {},
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  async function exchange(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(req))
    running.requests.push(Object.fromEntries(form))
    const { answer, delayMs = 0, expiresIn = 3600 } = running.next
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs)) // like a slow server
    if (answer) return answer(res, form)
    const refuse = (status: number, error: string): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          error,
          error_description: `not ${form.get('refresh_token')} ${req.headers.authorization ?? ''}`,
        }),
      )
    if (req.method !== 'POST' || form.get('grant_type') !== 'refresh_token') return refuse(400, 'invalid_request')
    if (!isClient(req, form, clientAuth)) return refuse(401, 'invalid_client')
    if (!refresh.delete(form.get('refresh_token') ?? '')) return refuse(400, 'invalid_grant')
    const { accessToken, refreshToken } = grant()
    res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    res.end(
      JSON.stringify({
        access_token: accessToken,
        token_type: 'Bearer',
        refresh_token: refreshToken,
        ...(expiresIn === null ? {} : { expires_in: expiresIn }),
      }),
    )
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return running
}

function isClient(req: IncomingMessage, form: URLSearchParams, clientAuth: ClientAuth): boolean {
  if (clientAuth !== 'client_secret_basic')
    return (
      form.get('client_id') === oauthClient.id &&
      form.get('client_secret') === (clientAuth === 'none' ? null : oauthClient.secret)
    )
  const [id = '', secret = ''] = Buffer.from((req.headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':')
  const decoded = new URLSearchParams(`id=${id}&secret=${secret}`) // RFC 6749 §2.3.1: both halves are form-encoded
  return decoded.get('id') === oauthClient.id && decoded.get('secret') === oauthClient.secret
}
