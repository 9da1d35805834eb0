/** One request or tunnel of a guest through the egress proxy: judged, dialled, noted, carried, ended. */
import { request as startRequest, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { now } from '#src/platform/clock.ts'
import { parseAuthority } from '../addresses.ts'
import { connectGuarded, OutboundError, type OutboundTarget } from '../outbound.ts'
import { endToEnd, framing } from './egress-headers.ts'
import { withSecrets, type FindSecret, type Outgoing } from './egress-secrets.ts'
import { hostName, type EgressJudge } from './egress-policies.ts'

/** A host that a VM reached or tried to reach: how often with this verdict, and when last. */
export type Reached = { host: string; port: number; verdict: 'allowed' | 'refused' | 'unreachable'; count: number; lastAt: Date }

/** Limits of the proxy. */
export type EgressLimits = {
  /** Open connections of one VM, and requests under way at once. */
  connectionsPerVm: number
  /** From the opening of a connection, or the end of its last response, to the next complete request header. */
  waitMs: number
  /** Without a byte in either direction. */
  idleMs: number
  headerBytes: number
  /** Different hosts remembered for each VM; the one used longest ago makes room. */
  reachedPerVm: number
}

/** What of the proxy a passage needs. */
type Surroundings = { log: Pick<Logger, 'debug'>; connect: (target: OutboundTarget) => Promise<Socket>; findSecret: FindSecret; limits: EgressLimits }
/** From the header of a request to its end; `stop` ends it early. */
type Passage = { host: string; port: number; stop: AbortController }
/** What a guest is told when it is not let through: status, words for the status line, and a sentence. */
type Answer = { status: number; rule: string; sentence: string }

/** One VM, as the proxy knows it. */
export type GuestMachine = { id: string; judge: EgressJudge; guests: Set<Guest>; passages: Set<Passage>; reached: Map<string, Reached> }
/** One connection that a guest opened, with its number of requests under way. ssh2's channels never count as `destroyed`, so `open` says it. */
export type Guest = { connection: Duplex; machine: GuestMachine; node: Surroundings; open: boolean; underWay: number; timer: NodeJS.Timeout | undefined }

/** Gives a guest with nothing under way a limited time for its next request. */
export function rest(guest: Guest): void {
  wake(guest)
  if (guest.open) guest.timer = setTimeout(() => guest.connection.destroy(), guest.node.limits.waitMs).unref()
}

/** Ends the rest of a guest. */
export function wake(guest: Guest): void {
  clearTimeout(guest.timer)
}

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
  const passage = { ...target, stop }
  const socket = await openPassage(guest, passage, false)
  if ('rule' in socket) return refuseRequest(req, res, socket)
  const outgoing = await outgoingOf(guest, target.host, req)
  if (!outgoing || stop.signal.aborted) return void socket.destroy()
  // One connection for one request: a pool of them would save a round trip and cost the retries of stale ones.
  const path = url[2] ?? ''
  const upstream = startRequest({
    createConnection: () => socket, method: req.method, path: path.startsWith('/') ? path : `/${path}`, maxHeaderSize: guest.node.limits.headerBytes,
    headers: [...outgoing.headers, ...framing(req), 'Host', hostHeader(target), 'Connection', 'close'],
  })
  stop.signal.addEventListener('abort', () => {
    upstream.destroy()
    if (!res.writableFinished) guest.connection.destroy()
  }, { once: true })
  const lost = (): void => {
    req.unpipe(upstream)
    if (!res.headersSent) refuseRequest(req, res, { status: 502, rule: 'unreachable', sentence: 'The host closed the connection before it answered, or did not speak HTTP.' })
  }
  upstream.on('error', lost)
  upstream.on('close', lost) // an answer that nobody asked for, such as 101, closes without an error
  upstream.on('response', (answer) => {
    answer.on('error', () => guest.connection.destroy()) // cut short: the guest must not take it for the whole
    try {
      res.sendDate = false
      res.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders))
    } catch {
      return void upstream.destroy(new Error('Node will not pass on a status or header of this response.'))
    }
    answer.pipe(res)
  })
  if (outgoing.body) upstream.end(outgoing.body)
  else req.pipe(upstream)
}

/** What is sent in the guest's stead, its placeholders replaced; null when the guest goes away while it sends. */
async function outgoingOf({ machine, node }: Guest, host: string, req: IncomingMessage): Promise<Outgoing | null> {
  try {
    return await withSecrets((credentialId) => node.findSecret(machine.id, credentialId), host, endToEnd(req.rawHeaders, ['host', 'expect']), req)
  } catch (error) {
    if (req.errored || req.destroyed) return null
    throw error
  }
}

/** Joins a CONNECT request to its host, byte for byte, each direction ending on its own. */
export async function tunnel(guest: Guest, req: IncomingMessage, head: Buffer): Promise<void> {
  const { connection } = guest
  wake(guest)
  const stop = new AbortController()
  connection.once('close', () => stop.abort())
  const target = parseAuthority(req.url ?? '')
  if (!target) return refuseConnection(guest, { status: 400, rule: 'bad request', sentence: 'CONNECT wants host:port.' })
  const socket = await openPassage(guest, { ...target, stop }, true)
  if ('rule' in socket) return refuseConnection(guest, socket)
  stop.signal.addEventListener('abort', () => {
    // A guest that ended its side and then closed still has its last bytes delivered; anything else cuts at once.
    if (!guest.open && connection.readableEnded && !connection.errored) return socket.destroySoon()
    socket.destroy()
    connection.destroy()
  }, { once: true })
  socket.on('error', () => connection.destroy())
  socket.once('close', () => rest(guest)) // what the guest has not read yet may flow that much longer
  connection.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (head.length > 0) socket.write(head)
  connection.pipe(socket)
  socket.pipe(connection)
}

/** Answers a connection that carries no more requests, and ends it. */
export function refuseConnection(guest: Guest, answer: Answer): void {
  const { connection } = guest
  if (!guest.open) return
  const body = `${answer.sentence}\n`
  connection.resume()
  connection.end(`HTTP/1.1 ${answer.status} ${reason(answer)}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
  rest(guest)
}

/** Judges, dials and notes a passage. Resolves to its socket, or to what the guest is told. */
async function openPassage(guest: Guest, passage: Passage, allowHalfOpen: boolean): Promise<Socket | Answer> {
  const { machine, node: { connect, limits } } = guest
  const { host, port, stop: { signal } } = passage
  if (machine.passages.size >= limits.connectionsPerVm) {
    return { status: 503, rule: 'too many connections', sentence: `This VM has ${limits.connectionsPerVm} requests under way; let some end.` }
  }
  // Before the name is resolved: a look-up alone would carry data out of a limited VM.
  const refusal = machine.judge(host, port)
  if (refusal) {
    note(guest, passage, 'refused')
    return { status: 403, ...refusal }
  }
  machine.passages.add(passage)
  try {
    const socket = await (host === hostName ? connectHost : connect)({ host, port, allowHalfOpen, signal })
    if (signal.aborted) {
      socket.destroy()
      throw new OutboundError('cancelled', 'The connection was cancelled.')
    }
    socket.once('close', () => machine.passages.delete(passage))
    socket.setTimeout(limits.idleMs, () => socket.destroy())
    note(guest, passage, 'allowed')
    return socket
  } catch (thrown) {
    machine.passages.delete(passage)
    if (!(thrown instanceof OutboundError)) throw thrown
    const changed = machine.judge(host, port) // refused meanwhile, which is why it was cancelled
    const refused = changed ?? (thrown.problem === 'refused' ? { rule: `${thrown.rule} address`, sentence: thrown.message } : null)
    if (refused || guest.open) note(guest, passage, refused ? 'refused' : 'unreachable')
    if (refused) return { status: 403, ...refused }
    return { status: thrown.problem === 'timeout' ? 504 : 502, rule: thrown.problem, sentence: thrown.message }
  }
}

/** The node's own loopback, which the guarded connector refuses; the judge has let this port through. */
function connectHost(target: OutboundTarget): Promise<Socket> {
  return connectGuarded({ ...target, host: '127.0.0.1' }, { refuse: () => null })
}

/** Keeps what was reached, and logs host, port and verdict: never paths or headers, which may hold secrets. */
function note({ machine, node }: Guest, { host, port }: Passage, verdict: Reached['verdict']): void {
  const key = `${verdict} ${host} ${port}`
  const count = (machine.reached.get(key)?.count ?? 0) + 1
  machine.reached.delete(key) // set again, it is the latest
  machine.reached.set(key, { host, port, verdict, count, lastAt: now() })
  const [oldest] = machine.reached.keys()
  if (machine.reached.size > node.limits.reachedPerVm && oldest !== undefined) machine.reached.delete(oldest)
  node.log.debug({ machineId: machine.id, host, port, verdict }, 'egress')
}

/** Answers a request in place of its host. */
function refuseRequest(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.destroyed) return
  req.resume() // a body under way is read and dropped, so that the answer arrives
  res.writeHead(answer.status, reason(answer), { 'content-type': 'text/plain' }).end(`${answer.sentence}\n`)
}

/** The rule stands in the status line because that is all that git, pip and curl show of a refused tunnel. */
function reason(answer: Answer): string {
  return `${STATUS_CODES[answer.status]} (Berth: ${answer.rule})`
}

function hostHeader({ host, port }: { host: string; port: number }): string {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === 80 ? name : `${name}:${port}`
}
