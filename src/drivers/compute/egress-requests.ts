/** Requests of a guest that the egress proxy reads: sent on with their placeholders replaced, and the answers brought back. */
import { request as startRequest, type Agent, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { parseAuthority } from '../addresses.ts'
import { endToEnd, framing } from './egress-headers.ts'
import { openPassage, refuseRequest, rest, wake, type Answer, type Guest } from './egress-passages.ts'
import { withSecrets, type Outgoing } from './egress-secrets.ts'

/** How a request goes on. */
export type Onward = {
  /** The host that was dialled: only secrets for it are put in. */
  host: string
  /** The Host header. */
  hostHeader: string
  /** Whether secrets may be put in. */
  mayReplace: boolean
  path: string
  /** The connection it takes: one of its own, or one that is kept for the next request. */
  via: { createConnection: () => Socket } | { agent: Agent }
  /** Ends when the guest has its answer, or has gone. */
  stop: AbortSignal
  /** The host closed without an answer: the guest is told, or where a client tries again by itself, sees just that. */
  onLost: () => void
}

/** What a guest is told when its host closes instead of answering. */
export const lost: Answer = { status: 502, rule: 'unreachable', sentence: 'The host closed the connection before it answered, or did not speak HTTP.' }

/** Carries one absolute-form request to its host and the response back; the connection stays for the next. */
export async function forward(guest: Guest, req: IncomingMessage, res: ServerResponse): Promise<void> {
  wake(guest)
  guest.underWay++
  const stop = new AbortController()
  res.once('close', () => {
    stop.abort() // the guest has its answer, or has gone
    if (--guest.underWay === 0) rest(guest)
  })
  const url = /^http:\/\/([^/?#]+)([^#]*)/i.exec(req.url ?? '')
  const target = url && parseAuthority(url[1] ?? '', 80)
  if (!url || !target) return refuseRequest(req, res, { status: 400, rule: 'bad request', sentence: 'This is a proxy: send http:// requests with the whole address, and CONNECT for everything else.' })
  const socket = await openPassage(guest, { ...target, stop }, false)
  if ('rule' in socket) return refuseRequest(req, res, socket)
  const path = url[2] ?? ''
  // One connection for one request: a pool of them would save a round trip and cost the retries of stale ones.
  const sent = await carry(guest, req, res, {
    host: target.host, hostHeader: hostHeader(target, 80), mayReplace: true, path: path.startsWith('/') ? path : `/${path}`,
    via: { createConnection: () => socket }, stop: stop.signal, onLost: () => refuseRequest(req, res, lost),
  })
  if (!sent) socket.destroy()
}

/** Sends a request on and brings its answer back. Resolves when it is sent; to false when the guest went away before. */
export async function carry(guest: Guest, req: IncomingMessage, res: ServerResponse, onward: Onward): Promise<boolean> {
  const outgoing = await outgoingOf(guest, onward, req)
  if (!outgoing || onward.stop.aborted) return false
  const kept = 'agent' in onward.via
  const upstream = startRequest({
    ...onward.via, method: req.method, path: onward.path, maxHeaderSize: guest.node.limits.headerBytes,
    headers: [...outgoing.headers, ...framing(req), 'Host', onward.hostHeader, ...(kept ? [] : ['Connection', 'close'])],
  })
  onward.stop.addEventListener('abort', () => {
    upstream.destroy()
    if (!res.writableFinished) guest.connection.destroy()
  }, { once: true })
  const onEnd = (): void => {
    req.unpipe(upstream)
    if (!res.headersSent) onward.onLost()
  }
  upstream.on('error', onEnd)
  upstream.on('close', onEnd) // an answer that nobody asked for, such as 101, closes without an error
  upstream.on('response', (answer) => {
    if (kept && !keepsConnection(answer)) res.shouldKeepAlive = false
    bringBack(guest, answer, res, (error) => upstream.destroy(error))
  })
  if (outgoing.body) upstream.end(outgoing.body)
  else req.pipe(upstream)
  return true
}

/** Gives the guest an answer as it comes. */
export function bringBack(guest: Guest, answer: IncomingMessage, res: ServerResponse, giveUp: (error: Error) => void): void {
  answer.on('error', () => guest.connection.destroy()) // cut short: the guest must not take it for the whole
  try {
    res.sendDate = false
    res.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders))
  } catch {
    return giveUp(new Error('Node will not pass on a status or header of this response.'))
  }
  answer.pipe(res)
}

/** What is sent in the guest's stead, its placeholders replaced; null when the guest goes away while it sends. */
export async function outgoingOf({ machine, node }: Guest, { host, mayReplace }: Pick<Onward, 'host' | 'mayReplace'>, req: IncomingMessage): Promise<Outgoing | null> {
  try {
    return await withSecrets(async (credentialId) => (mayReplace ? node.findSecret(machine.id, credentialId) : null), host, endToEnd(req.rawHeaders, ['host', 'expect']), req)
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
