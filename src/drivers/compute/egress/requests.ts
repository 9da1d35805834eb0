/** Requests of a guest that the egress proxy can read: they are forwarded, and the responses returned. Within intercepted TLS, placeholders are replaced and responses masked. */
import { request as startRequest, type Agent, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import type { Masker } from '#src/platform/masking.ts'
import { parseAuthority } from '#src/drivers/addresses.ts'
import { isForGit, type GuestRequest } from './git.ts'
import { endToEnd, framing } from './headers.ts'
import { maskedHeaders, maskerOf, maskingStep, unpackingSteps } from './masking.ts'
import { openPassage, refuseRequest, rest, wake, type Answer, type Guest } from './passages.ts'
import { withSecrets, type MachineSecret, type Outgoing } from './secrets.ts'

/** Which of a machine's secrets are inserted, and the masker for the response. */
export type Guarded = { secrets: readonly MachineSecret[]; masker: Masker }

/** How a request is forwarded. */
export type Onward = {
  /** The host that was dialled. */
  host: string
  /** The Host header. */
  hostHeader: string
  /** Within intercepted TLS: the secrets to insert, and the masker for the response. */
  guarded: Guarded | null
  path: string
  /** Its connection: a new one, or a kept-alive one. */
  via: { createConnection: () => Socket } | { agent: Agent }
  /** Fires when the guest has its response, or has disconnected. */
  stop: AbortSignal
  /** The host closed without a response: the guest is told, or, where clients retry by themselves, sees a closed connection. */
  onLost: () => void
}

/** What a guest is told when its host closes without a response. */
export const lost: Answer = {
  status: 502,
  rule: 'unreachable',
  sentence: 'The host closed the connection before it answered, or did not speak HTTP.',
}

/** Forwards one absolute-form request and its response; the guest's connection stays open for the next. */
export async function forward(guest: Guest, req: IncomingMessage, res: ServerResponse): Promise<void> {
  wake(guest)
  guest.underWay++
  const stop = new AbortController()
  res.once('close', () => {
    stop.abort() // the guest has its response, or has disconnected
    if (--guest.underWay === 0) rest(guest)
  })
  const url = /^http:\/\/([^/?#]+)([^#]*)/i.exec(req.url ?? '')
  const target = url && parseAuthority(url[1] ?? '', 80)
  if (!url || !target)
    return refuseRequest(req, res, {
      status: 400,
      rule: 'bad request',
      sentence: 'This is a proxy: send http:// requests with the whole URL, and use CONNECT for everything else.',
    })
  const socket = await openPassage(guest, { ...target, stop }, false)
  if ('rule' in socket) return refuseRequest(req, res, socket)
  const path = url[2] ?? ''
  // One connection for each request: a pool would save a round trip, and cost retries on stale connections.
  const sent = await carry(guest, req, res, {
    host: target.host,
    hostHeader: hostHeader(target, 80),
    guarded: null,
    path: path.startsWith('/') ? path : `/${path}`,
    via: { createConnection: () => socket },
    stop: stop.signal,
    onLost: () => refuseRequest(req, res, lost),
  })
  if (!sent) socket.destroy()
}

/**
 * Forwards a request and returns its response. Resolves when the request is sent; to false when the guest disconnected
 * before.
 */
export async function carry(guest: Guest, req: IncomingMessage, res: ServerResponse, onward: Onward): Promise<boolean> {
  const outgoing = await outgoingOf(onward, req)
  if (!outgoing || onward.stop.aborted) return false
  const kept = 'agent' in onward.via
  const upstream = startRequest({
    ...onward.via,
    method: req.method,
    path: onward.path,
    maxHeaderSize: guest.node.limits.headerBytes,
    headers: [
      ...outgoing.headers,
      ...framing(req),
      'Host',
      onward.hostHeader,
      ...(kept ? [] : ['Connection', 'close']),
    ],
  })
  onward.stop.addEventListener(
    'abort',
    () => {
      upstream.destroy()
      if (!res.writableFinished) guest.connection.destroy()
    },
    { once: true },
  )
  const onEnd = (): void => {
    req.unpipe(upstream)
    if (!res.headersSent) onward.onLost()
  }
  upstream.on('error', onEnd)
  upstream.on('close', onEnd) // an unexpected response, such as 101, closes without an error
  upstream.on('response', (answer) => {
    if (kept && !keepsConnection(answer)) res.shouldKeepAlive = false
    bringBack(guest, { req, answer, res, masker: onward.guarded?.masker ?? null }, (error) => upstream.destroy(error))
  })
  if (outgoing.body) upstream.end(outgoing.body)
  else req.pipe(upstream)
  return true
}

/** A response on its way to the guest, unchanged without a masker. */
export type Returning = { req: IncomingMessage; answer: IncomingMessage; res: ServerResponse; masker: Masker | null }

/** Streams a response to the guest. */
export function bringBack(guest: Guest, { req, answer, res, masker }: Returning, giveUp: (error: Error) => void): void {
  const cut = (): void => void guest.connection.destroy() // the guest must not take it for complete
  answer.on('error', cut)
  const hasBody = req.method !== 'HEAD' && answer.statusCode !== 204 && answer.statusCode !== 304
  const steps = masker && hasBody ? unpackingSteps(answer) : []
  if ('rule' in steps) {
    res.shouldKeepAlive = false
    refuseRequest(req, res, steps)
    return giveUp(new Error(steps.sentence))
  }
  try {
    res.sendDate = false
    const headers = endToEnd(answer.rawHeaders, steps.length > 0 ? ['content-encoding', 'content-length'] : [])
    res.writeHead(answer.statusCode ?? 502, masker ? maskedHeaders(masker, headers) : headers)
  } catch {
    return giveUp(new Error('This response has a status or a header that cannot be passed on.'))
  }
  let last: Readable = answer
  for (const step of [...steps, ...(masker ? [maskingStep(masker)] : [])]) last = last.pipe(step.on('error', cut))
  last.pipe(res)
}

/** The secrets for a request, and the masker for its response. A request that names another host than the verified one, `null`, gets none. */
export async function guard({ machine, node }: Guest, request: GuestRequest | null): Promise<Guarded | Answer> {
  const secrets = await node.findSecrets(machine.id)
  try {
    const used = request ? secrets.filter(({ git }) => !git || isForGit(git, request)) : []
    return { secrets: used, masker: await maskerOf(machine, secrets) }
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return {
      status: 503,
      rule: 'too many secrets',
      sentence:
        'This VM has more secrets for such hosts than can be masked in their responses. Give it fewer or shorter ones.',
    }
  }
}

/** The request with its placeholders replaced; null when the guest disconnects while sending. */
export async function outgoingOf(
  { host, guarded }: Pick<Onward, 'host' | 'guarded'>,
  req: IncomingMessage,
): Promise<Outgoing | null> {
  if (!guarded) return { headers: endToEnd(req.rawHeaders, ['host', 'expect']), body: null }
  try {
    // Asks for uncompressed responses and web sockets without extensions, because those can be searched for secrets.
    const headers = [
      ...endToEnd(req.rawHeaders, ['host', 'expect', 'accept-encoding', 'sec-websocket-extensions']),
      'Accept-Encoding',
      'identity',
    ]
    return await withSecrets(guarded.secrets, host, headers, req)
  } catch (error) {
    if (req.errored || req.destroyed) return null
    throw error
  }
}

/** The Host header for a target. */
export function hostHeader({ host, port }: { host: string; port: number }, defaultPort: number): string {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === defaultPort ? name : `${name}:${port}`
}

function keepsConnection({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && !/\bclose\b/i.test(headers.connection ?? '')
}
