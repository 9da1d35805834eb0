/**
 * One request or tunnel of a guest through the egress proxy: checked against the policy, dialled and recorded, or
 * refused.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { BoundedMap } from '#src/platform/caches/bounded-map.ts'
import { now } from '#src/platform/clock.ts'
import { connectGuarded, OutboundError, type OutboundTarget } from '#src/drivers/outbound.ts'
import type { Masker } from '#src/platform/masking.ts'
import type { FindSecretHosts, FindSecrets } from './secrets.ts'
import { hostName, type EgressJudge } from './policies.ts'

/** A host that a VM reached or tried to reach: how often with this verdict, and when last. */
export type Reached = {
  host: string
  port: number
  verdict: 'allowed' | 'refused' | 'unreachable'
  count: number
  lastAt: Date
}

/** Limits of the proxy. */
export type EgressLimits = {
  /** The maximum of one VM's open connections, and of its concurrent requests. */
  connectionsPerVm: number
  /** From the opening of a connection, or the end of its last response, to the next complete request header. */
  waitMs: number
  /** Without a byte in either direction. */
  idleMs: number
  /** For a host to end the TLS handshake. */
  handshakeMs: number
  headerBytes: number
  /** How many different hosts are remembered for each VM; the least recently used one is evicted. */
  reachedPerVm: number
}

/** What a passage needs from the proxy. */
type Surroundings = {
  log: Pick<Logger, 'debug' | 'error'>
  connect: (target: OutboundTarget) => Promise<Socket>
  findSecrets: FindSecrets
  findSecretHosts: FindSecretHosts
  limits: EgressLimits
}
/** From the header of a request to its end; `stop` ends it early. */
export type Passage = { host: string; port: number; stop: AbortController }
/** What a refused guest is told: status, reason phrase, and a sentence. */
export type Answer = { status: number; rule: string; sentence: string }

/** The secrets that a machine has had, and their masker. */
export type MaskedSecrets = { secrets: BoundedMap<string, string>; key: string; masker: Promise<Masker> | null }
/** One VM, as the proxy knows it. `secretHosts` are the last known ones. */
export type GuestMachine = {
  id: string
  judge: EgressJudge
  guests: Set<Guest>
  passages: Set<Passage>
  reached: BoundedMap<string, Reached>
  secretHosts: Awaited<ReturnType<FindSecretHosts>> | null
  masked: MaskedSecrets
}
/**
 * One connection that a guest opened, with its number of running requests. ssh2's channels never report `destroyed`, so
 * `open` does.
 */
export type Guest = {
  connection: Duplex
  machine: GuestMachine
  node: Surroundings
  open: boolean
  underWay: number
  timer: NodeJS.Timeout | undefined
}

/** Limits the time that an idle guest has for its next request. */
export function rest(guest: Guest): void {
  wake(guest)
  if (guest.open) guest.timer = setTimeout(() => guest.connection.destroy(), guest.node.limits.waitMs).unref()
}

/** Ends a guest's idle time. */
export function wake(guest: Guest): void {
  clearTimeout(guest.timer)
}

/** Answers a connection that carries no more requests, and ends it. */
export function refuseConnection(guest: Guest, answer: Answer): void {
  const { connection } = guest
  if (!guest.open) return
  connection.resume()
  connection.end(lastWords(answer))
  rest(guest)
}

/** The whole response with which a connection ends. */
export function lastWords(answer: Answer): string {
  const body = `${answer.sentence}\n`
  return `HTTP/1.1 ${answer.status} ${reason(answer)}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** Checks the policy, dials, and records the result. Resolves to the socket, or to what the guest is told. */
export async function openPassage(guest: Guest, passage: Passage, allowHalfOpen: boolean): Promise<Socket | Answer> {
  const {
    machine,
    node: { connect, limits },
  } = guest
  const {
    host,
    port,
    stop: { signal },
  } = passage
  if (machine.passages.size >= limits.connectionsPerVm) {
    return {
      status: 503,
      rule: 'too many connections',
      sentence: `This VM has ${limits.connectionsPerVm} requests in progress, which is the limit. Wait until some have ended.`,
    }
  }
  // Before the name is resolved: a DNS query alone would carry data out of a limited VM.
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
    const refused =
      changed ?? (thrown.problem === 'refused' ? { rule: `${thrown.rule} address`, sentence: thrown.message } : null)
    if (refused || guest.open) note(guest, passage, refused ? 'refused' : 'unreachable')
    if (refused) return { status: 403, ...refused }
    return { status: thrown.problem === 'timeout' ? 504 : 502, rule: thrown.problem, sentence: thrown.message }
  }
}

/** The node's own loopback, which the guarded connector refuses; the policy has allowed this port. */
function connectHost(target: OutboundTarget): Promise<Socket> {
  return connectGuarded({ ...target, host: '127.0.0.1' }, { refuse: () => null })
}

/** Records and logs host, port and verdict; never paths or headers, which may hold secrets. */
function note({ machine, node }: Guest, { host, port }: Passage, verdict: Reached['verdict']): void {
  const key = `${verdict} ${host} ${port}`
  const count = (machine.reached.get(key)?.count ?? 0) + 1
  machine.reached.set(key, { host, port, verdict, count, lastAt: now() })
  node.log.debug({ machineId: machine.id, host, port, verdict }, 'egress')
}

/** Answers a request in place of its host. */
export function refuseRequest(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.destroyed) return
  req.resume() // a body that is still arriving is read and dropped, so that the answer gets through
  res.writeHead(answer.status, reason(answer), { 'content-type': 'text/plain' }).end(`${answer.sentence}\n`)
}

/** The rule is in the status line, because that is all that git, pip and curl show of a refused tunnel. */
function reason(answer: Answer): string {
  return `${STATUS_CODES[answer.status]} (Berth: ${answer.rule})`
}
