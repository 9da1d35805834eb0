/** An ingress for tests: its routes are in memory, and its targets are servers of the test on this host. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
} from 'node:http'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { openIngress, type Ingress, type IngressOptions } from '#src/edge/http/ingress.ts'
import { createRoutes, type Routes } from '#src/edge/http/routes.ts'
import { TargetRefusal, type Reach } from '#src/edge/http/targets.ts'
import { newUuid } from '#src/platform/ids.ts'
import type { Route } from '#src/resources/infra/routes.ts'

/** The organization of routes, unless a test says another. */
export const organizationId = newUuid()

/** An ingress and what is around it. */
export type World = {
  ingress: Ingress
  routes: Routes
  /** The certificate that clients are to trust. */
  ca: string
  /** How often a target was reached. */
  reached(): number
  /** Has this host lead to a server on this port. */
  route(host: string, port: number, more?: Partial<Route>): Route
  /** Starts a target with this behaviour, and has the host lead to it. */
  serve(host: string, listener: RequestListener): Promise<number>
  /** The same for a target that speaks what it likes. */
  serveRaw(host: string, onConnection: (socket: Socket) => void): Promise<number>
  /** Sends these bytes to the HTTP port, and answers everything that comes until the other end closes. */
  raw(text: string | Buffer): Promise<string>
  /** A connection to the HTTP port. */
  dial(): Socket
  dialTls(servername: string, more?: ConnectionOptions): Promise<TLSSocket>
  close(): Promise<void>
}

/** Opens one. */
export async function openWorld(options: Partial<IngressOptions> = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ingress-'))
  const authority = createAuthority(folder, 'databases')
  const routes = createRoutes()
  const servers: Server[] = []
  const sockets = new Set<Duplex>()
  const ports = new Map<string, number>()
  let reachedTimes = 0
  const reach: Reach = async (target) => {
    reachedTimes++
    const port = target.kind === 'vm' ? ports.get(target.vmId) : undefined
    if (port === undefined) throw new TargetRefusal('sleeping', 'It sleeps.')
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true })
    await once(socket, 'connect')
    return socket
  }
  const ingress = await openIngress({
    host: '127.0.0.1',
    port: 0,
    securePortNumber: 0,
    routes,
    reach,
    sweepEveryMs: 50,
    secureContextOf: async (name) => (routes.hasHost(name) ? authority.contextFor(name) : null),
    ...options,
  })
  const keep = <Kept extends Duplex>(socket: Kept): Kept => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    return socket
  }
  const listen = async (server: Server): Promise<number> => {
    servers.push(server)
    server.on('connection', keep)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const world: World = {
    ingress,
    routes,
    ca: await authority.certificate(),
    reached: () => reachedTimes,
    route(host, port, more = {}) {
      const vmId = newUuid()
      ports.set(vmId, port)
      const made: Route = {
        id: newUuid(),
        organizationId,
        kind: 'proxy',
        host,
        path: '/',
        access: 'public',
        vmId,
        vmPort: 80,
        functionId: null,
        wakes: false,
        ...more,
      }
      routes.put(made)
      return made
    },
    async serve(host, listener) {
      const port = await listen(createHttpServer(listener))
      world.route(host, port)
      return port
    },
    async serveRaw(host, onConnection) {
      const port = await listen(createServer({ allowHalfOpen: true }, onConnection))
      world.route(host, port)
      return port
    },
    async raw(text) {
      const socket = world.dial()
      socket.write(text)
      return textOf(socket)
    },
    dial: () => keep(connect({ host: '127.0.0.1', port: ingress.port, allowHalfOpen: true })),
    async dialTls(servername, more = {}) {
      const socket = keep(
        connectTls({ host: '127.0.0.1', port: ingress.securePort, servername, ca: world.ca, ...more }),
      )
      await once(socket, 'secureConnect')
      return socket
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await ingress.close(0)
      for (const server of servers) server.close()
      rmSync(folder, { recursive: true })
    },
  }
  return world
}

/** Everything that comes until the other end closes. */
export async function textOf(stream: Duplex | IncomingMessage): Promise<string> {
  let text = ''
  stream.setEncoding('latin1')
  stream.on('data', (piece: string) => {
    text += piece
  })
  await new Promise((resolve) => stream.once('end', resolve).once('close', resolve))
  return text
}

/** An answer to a request. */
export type Answered = { status: number; headers: IncomingMessage['headers']; raw: string[]; text: string }

/** Asks the ingress by HTTP for a path of a host. */
export async function ask(
  { ingress }: Pick<World, 'ingress'>,
  host: string,
  path = '/',
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Answered> {
  const { method = 'GET', headers = {}, body } = options
  const request = httpRequest({
    host: '127.0.0.1',
    port: ingress.port,
    path,
    method,
    headers: { host, ...headers },
    agent: false,
  })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const text = await textOf(response)
  return { status: response.statusCode ?? 0, headers: response.headers, raw: response.rawHeaders, text }
}

/** An HTTP/2 session with the ingress for this host. */
export async function openSession(world: World, host: string): Promise<ClientHttp2Session> {
  const socket = await world.dialTls(host, { ALPNProtocols: ['h2'] })
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket })
  session.on('error', () => undefined)
  return session
}
