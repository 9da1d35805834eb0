/** The wire proxy: takes the connections of Postgres' clients, lets them prove who they are, and serves them. */
import { createServer, type Server, type Socket } from 'node:net'
import { duplexPair, type Duplex } from 'node:stream'
import type { Network } from '#src/drivers/project-door.ts'
import { limits } from '#src/platform/limits.ts'
import { isLoopback } from '#src/platform/settings/entries.ts'
import { log } from '#src/platform/log.ts'
import { createCancels, type Cancels } from './cancels.ts'
import type { Certificates } from './logins/certificates.ts'
import { Client } from './client.ts'
import type { Admission, Directory } from './directory.ts'
import { countFailedLogins, type FailedLogins } from './logins/failed-logins.ts'
import { greet } from './logins/greeting.ts'
import { Ended, readIncoming } from './protocol/incoming.ts'
import { logIn } from './logins/login.ts'
import { errorMessage, negotiateVersion } from './protocol/messages.ts'
import { loginsTaken, refusalsSent, reportProxy } from './metrics.ts'
import { openConnections, type OpenConnections, type Seat } from './logins/open-connections.ts'
import { Pool, type PoolCounts, type PoolTimes } from './pool.ts'
import { changedMeanwhile, PostgresRefusal, refusalOf, violation } from './refusals.ts'
import { ServerRefused } from './server-refusals.ts'
import { readFirstPacket } from './logins/startup.ts'
import { createOrganizationClients, type OrganizationClients } from './shares.ts'

/** What the proxy needs. */
export type ProxyOptions = {
  host: string
  /** 0 takes any that is free. */
  port: number
  directory: Directory
  certificates: Certificates
  /** What only this installation can make of a text (`Sealer.derive`). */
  derive: (purpose: string) => string
  /** Whether connections without TLS are taken: of whom ever, where something in front has ended it, or of this host. */
  plainText?: PlainText
  /** When backends change hands; for tests. */
  times?: PoolTimes
  /** How many clients the databases of an organization may have together; less for tests. */
  clientsPerOrganization?: number
}

/** Whose connections may leave out TLS. */
export type PlainText = 'of nobody' | 'of this host' | 'of everybody'

/** A proxy that listens. */
export type PostgresProxy = {
  port: number
  /** Serves a connection that came through the network of a project, like one of its own. */
  receive(socket: Socket, from: FromNetwork): void
  /** Serves a client inside this process, which has proved itself already. */
  serve(admission: Admission): InsideClient
  /** What is going on in a database; nothing where nobody is. */
  counts(databaseId: string): PoolCounts | null
  /** The sum of all databases. */
  totals(): PoolCounts
  /** Takes nobody any more; those who are idle are told to leave at once, others when their time is over. */
  close(limitMs: number): Promise<void>
}

/**
 * Where a connection comes from that did not come by this port: who is at its other end, and how many there may be. They may
 * leave out TLS, because what they say passes through nothing but this host.
 */
export type FromNetwork = { network: Network; address: string; clientsMax: number }

/** A client inside this process: its end of the connection, and how to cancel what it does, and end it. */
export type InsideClient = { stream: Duplex; cut(): void }

/** What its connections share. */
type Shared = Pick<ProxyOptions, 'directory' | 'certificates' | 'derive' | 'times'> & {
  plainText: PlainText
  pools: Map<string, Pool>
  cancels: Cancels
  failedLogins: FailedLogins
  connections: OpenConnections
  clientsOf: (organizationId: string) => OrganizationClients
}

const sweepMs = 1_000
/** How often it is looked whether somebody is idle while the proxy ends. */
const lookMs = 50
const keepAliveMs = 60_000

/** Opens the proxy. @throws Error when the port is taken */
export async function openProxy(options: ProxyOptions): Promise<PostgresProxy> {
  const shared: Shared = {
    ...options,
    plainText: options.plainText ?? 'of nobody',
    pools: new Map(),
    cancels: createCancels(),
    failedLogins: countFailedLogins(),
    connections: openConnections(),
    clientsOf: createOrganizationClients(options.clientsPerOrganization ?? limits.postgresClientsPerOrganization),
  }
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }, (socket) =>
    receive(socket, shared),
  )
  await listen(server, options)
  const unwatch = options.directory.watch((change) => {
    const pool = shared.pools.get(change.databaseId)
    if (change.change === 'closed') pool?.close(change, change.refusal)
    else pool?.renew()
  })
  const sweeping = setInterval(() => sweep(shared.pools), sweepMs).unref()
  const totals = (): PoolCounts => sum([...shared.pools.values()].map((pool) => pool.counts()))
  reportProxy(totals)
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    receive: (socket, from) => receive(socket, shared, from),
    serve: (admission) => serveInside(shared, admission),
    counts: (databaseId) => shared.pools.get(databaseId)?.counts() ?? null,
    totals,
    async close(limitMs) {
      unwatch()
      clearInterval(sweeping)
      await closeAll(server, shared, limitMs)
    },
  }
}

function listen(server: Server, { port, host }: ProxyOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** One connection from its first byte to its last. */
function receive(socket: Socket, shared: Shared, from?: FromNetwork): void {
  socket.on('error', (error) => log.debug({ err: error }, 'a connection to the Postgres port was cut'))
  const seat = shared.connections.enter(socket, from)
  if (!seat)
    return refuse(
      socket,
      new PostgresRefusal(
        'too_many_connections',
        'too many connections from this address are open: close some, or use a pool',
      ),
    )
  let stream = socket
  serve(
    socket,
    shared,
    { ...seat, network: from?.network, plainText: from !== undefined || mayLeaveOutTls(shared, seat) },
    (secured) => {
      stream = secured
    },
  ).catch((error: unknown) => {
    if (error instanceof Ended) return void stream.destroy()
    if (error instanceof ServerRefused) {
      stream.write(error.whole)
      return leaveBehind(stream)
    }
    refuse(stream, refusalOf(error))
  })
}

function mayLeaveOutTls({ plainText }: Shared, { address }: Seat): boolean {
  return plainText === 'of everybody' || (plainText === 'of this host' && isLoopback(address))
}

async function serve(
  socket: Socket,
  shared: Shared,
  seat: Seat & { network: Network | undefined; plainText: boolean },
  onStream: (stream: Socket) => void,
): Promise<void> {
  const { stream, incoming, wants } = await greet(
    socket,
    { certificate: await shared.certificates(), plainText: seat.plainText },
    onStream,
  )
  if (wants.asks === 'cancel') {
    shared.cancels.request(wants)
    stream.destroy()
    return
  }
  const { startup, tls } = wants
  if (startup.newer || startup.unknownOptions.length > 0) stream.write(negotiateVersion(startup.unknownOptions))
  const admission = await logIn(
    { stream, incoming, startup, tls, address: seat.address, network: seat.network },
    shared,
  )
  seat.proved()
  loginsTaken.inc()
  const loggedIn = { stream, early: incoming.release(), startup, admission }
  await new Client(loggedIn, poolOf(shared, admission), shared.cancels).start()
}

function serveInside(shared: Shared, admission: Admission): InsideClient {
  const [stream, theirs] = duplexPair()
  theirs.once('close', () => stream.destroy())
  stream.once('close', () => theirs.destroy())
  let client: Client | null = null
  const begin = async (): Promise<void> => {
    const incoming = readIncoming(stream)
    const packet = readFirstPacket(await incoming.packet(limits.postgresStartupBytes))
    if (packet.asks !== 'session') throw violation('a session was expected')
    if (!admission.isCurrent()) throw changedMeanwhile()
    const loggedIn = { stream, early: incoming.release(), startup: packet.startup, admission }
    client = new Client(loggedIn, poolOf(shared, admission), shared.cancels)
    await client.start()
  }
  begin().catch((error: unknown) => {
    if (!(error instanceof Ended))
      stream.write(error instanceof ServerRefused ? error.whole : errorMessage(refusalOf(error)))
    stream.end()
    stream.resume() // or what is still written is never taken
  })
  return {
    stream: theirs,
    cut() {
      client?.end(new PostgresRefusal('admin_shutdown', 'the request was ended'))
      theirs.destroy()
    },
  }
}

function poolOf({ pools, clientsOf, times }: Shared, admission: Admission): Pool {
  const pool = pools.get(admission.databaseId) ?? new Pool(clientsOf(admission.organizationId), times)
  pools.set(admission.databaseId, pool)
  pool.resize(admission)
  return pool
}

function sweep(pools: Map<string, Pool>): void {
  for (const [databaseId, pool] of pools) {
    void pool.sweep().catch((error: unknown) => log.error({ err: error }, 'idle backends could not be taken back'))
    const { clients, backends } = pool.counts()
    if (clients === 0 && backends === 0) pools.delete(databaseId)
  }
}

/** Says why, and closes. */
function refuse(stream: Socket, refusal: PostgresRefusal): void {
  refusalsSent.inc({ sqlstate: refusal.sqlState })
  if (!stream.destroyed) stream.write(errorMessage(refusal))
  leaveBehind(stream)
}

/** Closes once everything is sent, and waits for nobody to read it. */
function leaveBehind(stream: Socket): void {
  stream.end()
  stream.resume() // what still comes is thrown away; unread, it would make the kernel cut off what was said
  setTimeout(() => stream.destroy(), lingerMs).unref()
}
const lingerMs = 2_000

async function closeAll(server: Server, { pools, connections }: Shared, limitMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const refusal = new PostgresRefusal('admin_shutdown', 'terminating connection due to administrator command')
  const endIdle = (): void => pools.values().forEach((pool) => pool.endIdle(refusal))
  endIdle()
  const looking = setInterval(endIdle, lookMs)
  const timer = setTimeout(() => {
    for (const pool of pools.values()) pool.close({}, refusal)
    connections.cutAll()
  }, limitMs)
  connections.cutUnproved()
  await Promise.all([closed, connections.allClosed()])
  clearInterval(looking)
  clearTimeout(timer)
  for (const pool of pools.values()) pool.close({}, refusal)
}

function sum(counts: readonly PoolCounts[]): PoolCounts {
  const all = { clients: 0, backends: 0, free: 0, waiting: 0 }
  for (const one of counts)
    for (const name of ['clients', 'backends', 'free', 'waiting'] as const) all[name] += one[name]
  return all
}
