/**
 * The egress proxy for all VMs of this node: an HTTP proxy (CONNECT, and absolute-form http:// requests) spoken over
 * connections that a guest opened through the reverse forward of its SSH connection. The guest is not trusted. Node's
 * own HTTP server reads the requests; each goes out through the guarded connector or not at all.
 */
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { connectGuarded, type OutboundTarget } from '../outbound.ts'
import type { EgressAuthority } from './egress/authority.ts'
import {
  refuseConnection,
  rest,
  wake,
  type EgressLimits,
  type Guest,
  type GuestMachine,
  type Reached,
} from './egress/passages.ts'
import { judgeOf, type EgressJudge, type EgressPolicy } from './egress/policies.ts'
import { secretsKept } from './egress/masking.ts'
import { forward } from './egress/requests.ts'
import type { FindSecretHosts, FindSecrets } from './egress/secrets.ts'
import { createSecured } from './egress/secured.ts'
import { tunnel } from './egress/tunnels.ts'

export type { EgressLimits, Reached } from './egress/passages.ts'
export type { EgressPolicy } from './egress/policies.ts'

const defaultLimits: EgressLimits = {
  connectionsPerVm: 128,
  waitMs: 60_000,
  idleMs: 15 * 60_000, // long, for shells, databases and slow responses of models
  handshakeMs: 10_000,
  headerBytes: 32 * 1024,
  reachedPerVm: 100,
}

/**
 * What the proxy needs: `hostPorts` are this host's loopback ports open to VMs; `connect` dials everything else;
 * `findSecrets` says what a machine's placeholders stand for. TLS is intercepted only with an `authority`, and only for
 * the hosts that `findSecretHosts` returns; the hosts' own certificates are verified with `roots` (PEM), or else with
 * the authorities that this host trusts.
 */
export type EgressOptions = {
  hostPorts: readonly number[]
  log: Pick<Logger, 'debug' | 'error'>
  connect?: (target: OutboundTarget) => Promise<Socket>
  findSecrets?: FindSecrets
  findSecretHosts?: FindSecretHosts
  authority?: EgressAuthority
  roots?: readonly string[]
  limits?: Partial<EgressLimits>
}

/** The proxy of one node. */
export type Egress = {
  /** Serves a connection that a guest opened, for as long as it lasts. */
  serve: (machineId: string, connection: Duplex) => void
  /**
   * Sets what a machine may reach from now on; open connections that the new policy refuses are closed.
   * A machine without a policy is refused everything.
   * @throws BerthError invalid_request for an entry of the policy that is not a host
   */
  setPolicy: (machineId: string, policy: EgressPolicy) => void
  /** Closes all connections of a machine and drops its state. */
  dropMachine: (machineId: string) => void
  /** The hosts that a machine reached or tried to reach, latest first. */
  reached: (machineId: string) => readonly Reached[]
  /** Drops every machine. */
  close: () => void
}

/** Makes the proxy; it listens nowhere. */
export function createEgress(options: EgressOptions): Egress {
  const node = {
    log: options.log,
    connect: options.connect ?? connectGuarded,
    limits: { ...defaultLimits, ...options.limits },
    findSecrets: options.findSecrets ?? (async () => []),
    findSecretHosts: options.findSecretHosts ?? (async () => []),
  }
  const hostPorts = new Set(options.hostPorts)
  const machines = new Map<string, GuestMachine>()
  const guests = new WeakMap<Duplex, Guest>()
  const server = createReader(guests, node.limits, options)

  function serve(machineId: string, connection: Duplex): void {
    connection.on('error', () => connection.destroy()) // the guest went away; `close` follows and ends the rest
    const machine = machines.get(machineId) ?? newMachine(machineId, judgeOf({ type: 'none' }, hostPorts), node.limits)
    const guest: Guest = { connection, machine, node, open: true, underWay: 0, timer: undefined }
    rest(guest)
    connection.once('close', () => {
      guest.open = false
      wake(guest)
    })
    if (!machines.has(machineId))
      return refuseConnection(guest, { status: 403, rule: 'unknown VM', sentence: 'This VM has no network policy.' })
    if (machine.guests.size >= node.limits.connectionsPerVm) {
      return refuseConnection(guest, {
        status: 503,
        rule: 'too many connections',
        sentence: `This VM has ${node.limits.connectionsPerVm} open connections, which is the limit. Close some.`,
      })
    }
    machine.guests.add(guest)
    connection.once('close', () => machine.guests.delete(guest))
    guests.set(connection, guest)
    server.emit('connection', connection)
  }

  function setPolicy(machineId: string, policy: EgressPolicy): void {
    const judge = judgeOf(policy, hostPorts)
    const machine = machines.get(machineId) ?? newMachine(machineId, judge, node.limits)
    machines.set(machineId, machine)
    machine.judge = judge
    for (const passage of machine.passages) if (judge(passage.host, passage.port)) passage.stop.abort()
  }

  function dropMachine(machineId: string): void {
    const machine = machines.get(machineId)
    machines.delete(machineId)
    for (const guest of machine?.guests ?? []) guest.connection.destroy()
    for (const passage of machine?.passages ?? []) passage.stop.abort()
  }

  return {
    serve,
    setPolicy,
    dropMachine,
    reached: (machineId) => [...(machines.get(machineId)?.reached.values() ?? [])].reverse(),
    close: () => [...machines.keys()].forEach(dropMachine),
  }
}

/** Parses the requests on guests' connections, and forwards each one. */
function createReader(
  guests: WeakMap<Duplex, Guest>,
  egressLimits: EgressLimits,
  { authority, roots }: Pick<EgressOptions, 'authority' | 'roots'>,
): Server {
  // Node's own timeouts need a listening server and real sockets; a guest's connection has neither, so it is timed here.
  const server = createServer({
    maxHeaderSize: egressLimits.headerBytes,
    requestTimeout: 0,
    headersTimeout: 0,
    requireHostHeader: false,
  })
  const secured = authority ? createSecured({ authority, roots, limits: egressLimits, failed }) : null
  server.on('request', (req, res) => {
    const guest = guests.get(req.socket)
    if (guest) forward(guest, req, res).catch((error: unknown) => failed(guest, error))
  })
  server.on('connect', (req, connection, head) => {
    const guest = guests.get(connection)
    if (guest) tunnel(guest, req, head, secured).catch((error: unknown) => failed(guest, error))
  })
  return server
}

function failed({ machine, connection, node }: Guest, error: unknown): void {
  node.log.error({ machineId: machine.id, error }, 'egress failed')
  connection.destroy()
}

function newMachine(id: string, judge: EgressJudge, { reachedPerVm }: EgressLimits): GuestMachine {
  return {
    id,
    judge,
    guests: new Set(),
    passages: new Set(),
    reached: createBoundedMap({ entriesMax: reachedPerVm }),
    secretHosts: null,
    masked: { secrets: createBoundedMap({ entriesMax: secretsKept }), key: '', masker: null },
  }
}
