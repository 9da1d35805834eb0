/**
 * The ingress: takes requests of anybody over HTTP/1.1 and HTTP/2, with and without TLS, finds out by host and path who they are
 * for, and passes them on.
 */
import type { Server } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { log } from '#src/platform/log.ts'
import type { EdgeFunctions } from '../functions.ts'
import { createClientConnections, type ClientConnections, type Place } from './client-connections.ts'
import { createHttp1 } from './http1.ts'
import { createSessions, type Sessions } from './http2.ts'
import { ingressLimits } from './limits.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { refused, reportIngress, type IngressCounts } from './metrics.ts'
import { createPassage } from './passage.ts'
import { createPeers, type Peer } from './peers.ts'
import { createPools } from './pools.ts'
import type { GivenRequest } from './requests.ts'
import type { RouteTable } from './routes.ts'
import { createServing, type Serving, type ServingOptions } from './serving.ts'
import type { Reach } from './targets.ts'
import { createTenants } from './tenants.ts'
import { createSecuring, type TlsOptions } from './tls.ts'
import { createUpgrades, type Upgrades } from './upgrades.ts'

/** The limits of an ingress, in its usual units. */
export type IngressLimits = { -readonly [Name in keyof typeof ingressLimits]: number }

/** What an ingress needs. */
export type IngressOptions = Pick<ServingOptions, 'guard' | 'answerChallenge' | 'securePort' | 'catchUp'> &
  Omit<TlsOptions, 'greetingSeconds' | 'passThrough'> & {
    host: string
    /** 0 takes any that is free. */
    port: number
    securePortNumber: number
    routes: Pick<RouteTable, 'find' | 'hasHost' | 'size' | 'watch'>
    reach: Reach
    /** Says when functions are somewhere else than before, and notes who uses which. */
    functions?: Pick<EdgeFunctions, 'onMoved' | 'use'>
    trustedProxies?: readonly string[]
    /** Other limits, for tests. */
    limits?: Partial<IngressLimits>
    /** How often it is looked for what takes too long; more often in tests. Unit: ms. */
    sweepEveryMs?: number
  }

/** An ingress that listens. */
export type Ingress = {
  port: number
  securePort: number
  counts(): IngressCounts
  /** Takes no new connections; what rests ends at once, and what is under way when it is done, or after this time. */
  close(limitMs: number): Promise<void>
}

/** What is known of a connection. */
type Client = { peer: Peer; place: Place; unanswered: number }

const sweepMs = 1_000
const lookMs = 25

/** Opens an ingress. @throws Error when a port is taken */
export async function openIngress(options: IngressOptions): Promise<Ingress> {
  const limits = { ...ingressLimits, ...options.limits } as typeof ingressLimits // numbers, some of them other ones
  const everyMs = options.sweepEveryMs ?? sweepMs
  const connections = createClientConnections(limits)
  const pools = createPools(options.reach, limits, everyMs)
  options.functions?.onMoved((functionId) => pools.retire(functionId))
  const tenants = createTenants(limits)
  const serving = createServing({ ...options, pools, tenants })
  const { reach, functions } = options
  const upgrades = createUpgrades({ serving, reach, tenants, turns: pools.turns, limits, functions })
  const unwatch = options.routes.watch((before) => upgrades.cutRoute(before))
  const passThrough = createPassage({ routes: options.routes, reach: options.reach, tenants, limits })
  const { plain, secured, sessions } = openDoors(
    { ...options, passThrough },
    { limits, everyMs, connections, serving, upgrades },
  )
  await listen(plain, options.port, options.host)
  try {
    await listen(secured, options.securePortNumber, options.host)
  } catch (error) {
    plain.close()
    throw error
  }
  const counts = (): IngressCounts => ({
    connections: connections.size,
    webSockets: tenants.sockets,
    ...pools.counts(),
    routes: options.routes.size,
  })
  reportIngress(counts)
  return {
    port: portOf(plain),
    securePort: portOf(secured),
    counts,
    async close(limitMs) {
      unwatch()
      plain.close()
      secured.close()
      sessions.close()
      const untilMs = performance.now() + limitMs
      upgrades.cutAll()
      do {
        plain.closeIdleConnections()
        connections.cutResting()
        if (connections.size === 0) break
        await new Promise((resolve) => setTimeout(resolve, lookMs))
      } while (performance.now() < untilMs)
      connections.cutAll()
      pools.close()
    },
  }
}

type Inside = {
  limits: typeof ingressLimits
  everyMs: number
  connections: ClientConnections
  serving: Serving
  upgrades: Upgrades
}
type Doors = { plain: Server; secured: NetServer; sessions: Sessions }

/** The two ports, which do not listen yet, and what speaks HTTP on their connections. */
function openDoors(
  options: IngressOptions & TlsOptions,
  { limits, everyMs, connections, serving, upgrades }: Inside,
): Doors {
  const peerOf = createPeers(options.trustedProxies ?? [])
  const clients = new WeakMap<Duplex, Client>()

  function serve(request: Incoming, answer: Outgoing, socket: Socket, isHttp2: boolean): void {
    const client = clients.get(socket)
    if (!client) return void socket.destroy()
    if (client.peer.isRefused) return // its connection is closed behind the refusal
    if (!isHttp2 && client.unanswered >= limits.pipelinedRequests) {
      refused.inc({ reason: 'too-many-pipelined' })
      return void socket.destroy()
    }
    if (client.unanswered++ === 0) client.place.busy()
    serving.serve(request, answer, givenBy(request, client.peer, isHttp2, false), () => {
      if (--client.unanswered === 0) client.place.resting()
    })
  }
  /** Lets a connection in. */
  function enter(socket: Socket): Place | null {
    const peer = peerOf(socket, null)
    const place = connections.enter(socket, peer)
    if (place) clients.set(socket, { peer, place, unanswered: 0 })
    return place
  }

  const sessions = createSessions((request, answer, socket) => serve(request, answer, socket, true), limits, everyMs)
  const plain = createHttp1(limits, everyMs, {
    admit: (socket) => clients.has(socket) || enter(socket) !== null, // a secured one has been let in
    serve: (request, answer, socket) => serve(request, answer, socket, false),
    upgrade(request, socket, head) {
      const client = clients.get(socket)
      if (!client) return void socket.destroy()
      client.place.busy()
      upgrades.serve(request, socket, head, givenBy(request, client.peer, false, true))
    },
  })
  const secure = createSecuring({ ...options, greetingSeconds: limits.greetingSeconds })
  const secured = createServer(
    { noDelay: true, keepAlive: true, keepAliveInitialDelay: limits.keepAliveSeconds * 1000 },
    (socket) => {
      socket.on('error', () => socket.destroy()) // 'close' follows
      const place = enter(socket)
      if (!place) return
      secure(socket).then(
        (done) => {
          if (!done) return
          clients.set(done.stream, { peer: peerOf(socket, done.serverName), place, unanswered: 0 })
          if (done.isHttp2) sessions.begin(done.stream)
          else plain.emit('connection', done.stream)
        },
        (error: unknown) => {
          log.error({ err: error }, 'a TLS connection could not be begun')
          socket.destroy()
        },
      )
    },
  )
  return { plain, secured, sessions }
}

function givenBy(request: Incoming, peer: Peer, isHttp2: boolean, isUpgrade: boolean): GivenRequest {
  const { method = 'GET', url = '/', rawHeaders } = request
  if (!isHttp2 || !('stream' in request)) return { method, url, headers: rawHeaders, peer, isHttp2: false, isUpgrade }
  return {
    method,
    url,
    headers: plainHeaders(request),
    peer,
    isHttp2,
    isUpgrade,
    hasBody: !request.stream.endAfterHeaders,
  }
}

/** HTTP/2's own headers as those of HTTP/1.1: the authority is the host. */
function plainHeaders(request: Http2ServerRequest): string[] {
  const { rawHeaders } = request
  const headers: string[] = []
  const authority = request.headers[':authority']
  if (typeof authority === 'string') headers.push('host', authority)
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    const value = rawHeaders[at + 1] ?? ''
    if (name.startsWith(':') || (name === 'host' && value === authority)) continue
    headers.push(name, value)
  }
  return headers
}

function listen(server: NetServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function portOf(server: NetServer): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
