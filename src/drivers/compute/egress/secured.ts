/**
 * TLS that the egress proxy terminates, because the machine has a secret for this host: towards the guest it plays the
 * host, with a certificate of the node's authority; towards the host it is a client that verifies the host's certificate.
 * Inside it reads HTTP/1.1. Each connection of the guest is one connection to the host, so that keep-alive, closing and
 * retries work as they do without the proxy.
 */
import { createServer, request as startRequest, ServerResponse, type IncomingMessage } from 'node:http'
import { createSecureContext, getCACertificates, TLSSocket, type SecureContext } from 'node:tls'
import { parseAuthority } from '#src/drivers/addresses.ts'
import type { EgressAuthority } from './authority.ts'
import { maskedHeaders } from './masking.ts'
import {
  lastWords,
  refuseRequest,
  rest,
  wake,
  type Answer,
  type EgressLimits,
  type Guest,
  type Passage,
} from './passages.ts'
import { proveHost, type ProvedHost } from './proof.ts'
import { bringBack, carry, guard, hostHeader, lost, outgoingOf, type Guarded, type Onward } from './requests.ts'
import type { Secured } from './tunnels.ts'
import { frameMaskingStep } from './web-sockets.ts'
import { hostAuthorities } from '#src/drivers/compute/host-packages.ts'

/** `failed` is called for unexpected errors, and ends the guest's connection. */
type Options = {
  authority: EgressAuthority
  roots: readonly string[] | undefined
  limits: EgressLimits
  failed: (guest: Guest, error: unknown) => void
}

/** An intercepted connection: `inside` is the guest's end, without its TLS. */
type Opened = {
  guest: Guest
  passage: Passage
  inside: TLSSocket
  proof: Promise<ProvedHost | Answer>
  requests: number
  underWay: number
}

const httpsPort = 443

/** Makes what takes over a connection that is TLS towards the host of a secret. */
export function createSecured({ authority, roots, limits, failed }: Options): Secured {
  let trust: SecureContext | undefined
  const opened = new WeakMap<object, Opened>()
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: 0,
    requireHostHeader: false,
    shouldUpgradeCallback: ({ headers }) =>
      headers.upgrade?.toLowerCase() === 'websocket' &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined,
  })
  server.on('request', (req, res) => {
    const one = opened.get(req.socket)
    if (one) forwardInside(one, req, res).catch((error: unknown) => failed(one.guest, error))
  })
  server.on('upgrade', (req, _socket, head) => {
    const one = opened.get(req.socket)
    if (one) upgradeInside(one, req, head).catch((error: unknown) => failed(one.guest, error))
  })
  return async (guest, passage, socket) => {
    const { connection } = guest
    trust ??= createSecureContext({ ca: [...(roots ?? [...getCACertificates('default'), ...hostAuthorities()])] })
    const proof = proveHost(socket, passage.host, trust, limits) // both handshakes at once
    const secureContext = await authority.contextFor(passage.host)
    if (!guest.open) return
    const inside = new TLSSocket(connection, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] })
    inside.on('error', () => connection.destroy()) // such as a guest that does not trust the certificate
    rest(guest)
    inside.once('secure', () => {
      if (!socket.destroyed) wake(guest) // else only its answer is left
    })
    const one: Opened = { guest, passage, inside, proof, requests: 0, underWay: 0 }
    opened.set(inside, one)
    server.emit('connection', inside)
    const host = await proof
    if (!('rule' in host)) host.socket.once('close', () => endIdle(one, host))
  }
}

/** Forwards one request of an intercepted connection, and its response. */
async function forwardInside(one: Opened, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { guest } = one
  const isFirst = one.requests++ === 0
  one.underWay++
  const stop = new AbortController()
  res.once('close', () => {
    stop.abort()
    one.underWay--
  })
  const refuse = (answer: Answer): void => {
    res.shouldKeepAlive = false
    refuseRequest(req, res, answer)
  }
  // An absolute address in the request line would override the host that was checked and verified.
  if (!/^(\/|\*$)/.test(req.url ?? ''))
    return refuse({
      status: 400,
      rule: 'bad request',
      sentence: 'Inside a tunnel, send the path alone in the request line.',
    })
  const host = await one.proof
  if ('rule' in host) return refuse(host)
  res.once('close', () => endIdle(one, host))
  if (host.socket.destroyed) return void guest.connection.destroy()
  if (req.method === 'TRACE') {
    res.setHeader('Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    return refuse(noTrace)
  }
  const to = await addressed(one, req)
  if ('rule' in to) return refuse(to)
  await carry(guest, req, res, {
    ...to,
    path: req.url ?? '/',
    via: { agent: host.agent },
    stop: stop.signal,
    // A kept connection that closes during a request is normal; clients retry when they see it.
    onLost: () => (isFirst ? refuse(lost) : guest.connection.destroy()),
  })
}

/** Forwards the request for a web socket, and, when the host accepts it, every byte after it. */
async function upgradeInside(one: Opened, req: IncomingMessage, head: Buffer): Promise<void> {
  const { guest, inside } = one
  one.underWay++ // for good: nothing else comes on this connection
  const host = await one.proof
  if ('rule' in host) return void inside.end(lastWords(host))
  if (req.method !== 'GET')
    return void inside.end(
      lastWords({ status: 405, rule: 'bad request', sentence: 'A web socket request must use GET.' }),
    )
  const to = await addressed(one, req)
  if ('rule' in to) return void inside.end(lastWords(to))
  const { masker } = to.guarded
  const outgoing = await outgoingOf(to, req)
  if (!outgoing || inside.destroyed || host.socket.destroyed) return void guest.connection.destroy()
  const upstream = startRequest({
    agent: host.agent,
    method: req.method,
    path: req.url,
    maxHeaderSize: guest.node.limits.headerBytes,
    headers: [...outgoing.headers, 'Host', to.hostHeader, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
  })
  upstream.on('upgrade', (answer, socket, first) => {
    if (answer.headers['sec-websocket-extensions'] !== undefined) {
      socket.destroy()
      return void inside.end(
        lastWords({
          status: 502,
          rule: 'answer packed',
          sentence: 'The host selected a web socket extension that it was not offered.',
        }),
      )
    }
    const lines = maskedHeaders(masker, answer.rawHeaders).map((text, at) =>
      at % 2 === 0 ? `${text}: ` : `${text}\r\n`,
    )
    inside.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
    const masking = frameMaskingStep(masker).on('error', () => guest.connection.destroy())
    masking.pipe(inside)
    if (first.length > 0) masking.write(first)
    if (head.length > 0) socket.write(head)
    socket.once('close', () => inside.destroySoon())
    inside.pipe(socket)
    socket.pipe(masking)
  })
  upstream.on('response', (answer) => {
    const res = new ServerResponse(req)
    res.shouldKeepAlive = false
    res.assignSocket(inside)
    res.once('finish', () => inside.end())
    bringBack(guest, { req, answer, res, masker }, (error) => upstream.destroy(error))
  })
  upstream.on('error', () => inside.end(lastWords(lost)))
  upstream.end()
}

/** A host answers TRACE with what it was sent, secrets included. */
const noTrace: Answer = {
  status: 405,
  rule: 'TRACE',
  sentence: 'TRACE is not passed on to this host, because its response would show the VM a secret.',
}

/** A request that names another host than its tunnel is forwarded unchanged, without secrets: nothing proves who answers it. */
async function addressed(
  { guest, passage }: Opened,
  req: IncomingMessage,
): Promise<(Pick<Onward, 'host' | 'hostHeader'> & { guarded: Guarded }) | Answer> {
  const named = req.headers.host
  const mayReplace = named === undefined || parseAuthority(named, httpsPort)?.host === passage.host
  const request = { port: passage.port, method: req.method ?? '', url: req.url ?? '' }
  const guarded = await guard(guest, mayReplace ? request : null)
  return 'rule' in guarded
    ? guarded
    : { host: passage.host, guarded, hostHeader: mayReplace ? hostHeader(passage, httpsPort) : named }
}

/** The host has closed: once the guest has its responses, its connection ends too. */
function endIdle({ inside, underWay }: Opened, host: ProvedHost): void {
  if (host.socket.destroyed && underWay === 0) inside.end()
}
