/** An egress proxy with a guest side for curl and raw sockets, a stand-in for the internet, and a canary on loopback. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import ssh2 from 'ssh2'
import { expect } from 'vitest'
import { createEgress, type Egress, type EgressLimits, type EgressOptions } from '#src/drivers/compute/egress.ts'
import type { SecretUse } from '#src/drivers/compute/egress/secrets.ts'
import { packageManagerHosts } from '#src/drivers/compute/egress/policies.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { connectGuarded, createResolve, refusalOf } from '#src/drivers/outbound.ts'
import { forbiddenNames } from './forbidden-hosts.ts'
import { newHostKey } from './git/host-keys.ts'
import { startNameServer, type NameServer } from './name-server.ts'

const { Client, Server: SshServer } = ssh2

/** Stands for the open internet: the one loopback address that the tests' guard lets through. */
export const openAddress = '127.0.0.9'
/** One of the package registries, which answers at the open address. */
export const packageHost = packageManagerHosts['pip']![0]! // the table has it
/** The machine whose connections the proxy serves; `machine` makes it serve another's. */
export const vm = '01jd000000000000000000000a'
export const otherVm = '01jd000000000000000000000b'

const connectLimitMs = 1_500
const curlLimitSeconds = 20
const curlOutputBytes = 64 * 1024 * 1024

/** How curl ended: its exit code, standard output and standard error. */
type Curled = { code: number; body: string; error: string }

/** How the proxy opens TLS, when it does; and who is told what it logs as an error, which fails the test when nobody is. */
export type SecuredOptions = Pick<EgressOptions, 'authority' | 'roots' | 'findSecretHosts'> & {
  onError?: (fields: object) => void
}

/** What the origin was sent, where its handler answers with that. */
export type Seen = { path: string; headers: Record<string, string>; body: string }

/** Answers a request with what was sent. */
export function tell(req: IncomingMessage, res: ServerResponse): void {
  void text(req).then((body) => res.end(JSON.stringify({ path: req.url, headers: req.headers, body })))
}

/** One proxy and what surrounds it; `handler` is what the origin server does. Close it after each test. */
export class EgressWorld {
  handler: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => void res.end('hello')
  canaryConnections = 0
  proxyConnections = 0
  openChannels = 0
  proxyPort = 0
  originPort = 0
  echoPort = 0
  canaryPort = 0
  logged: object[] = []
  machine = vm
  /** What the machine was given, by the stored uuid of the credential. */
  secrets = new Map<string, SecretUse>()
  declare egress: Egress
  declare names: NameServer
  #ends: (() => void)[] = []
  #sockets = new Set<Socket>()

  static async start(
    limits: Partial<EgressLimits> = {},
    { onError = (fields) => expect.fail(JSON.stringify(fields)), ...options }: SecuredOptions = {},
  ): Promise<EgressWorld> {
    const world = new EgressWorld()
    const canary = createServer((socket) => {
      world.canaryConnections++
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ncanary')
    })
    world.canaryPort = await world.listen(canary, '::') // IPv4 loopback too
    world.originPort = await world.listen(
      createHttpServer((req, res) => world.handler(req, res)),
      openAddress,
    )
    world.echoPort = await world.listen(
      createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)),
      openAddress,
    )
    world.names = await startNameServer({
      ...forbiddenNames,
      'open.test': [openAddress],
      'www.open.test': [openAddress],
      [packageHost]: [openAddress],
      'silent.test': 'silent',
      'rebinding.test': (query) => (query === 0 ? [openAddress] : ['127.0.0.1']),
    })
    const resolve = createResolve({ servers: [world.names.address], hostsFile: '/no-such-file' })
    const refuse = (address: string): ReturnType<typeof refusalOf> =>
      address === openAddress ? null : refusalOf(address)
    const log = { debug: (fields: object) => world.logged.push(fields), error: onError }
    world.egress = createEgress({
      hostPorts: [world.canaryPort],
      limits,
      connect: (target) => connectGuarded(target, { resolve, refuse, limitMs: connectLimitMs }),
      findSecrets: async (machine) =>
        machine === vm ? [...world.secrets].map(([credentialId, use]) => ({ credentialId, ...use })) : [],
      findSecretHosts: async (machine) => (machine === vm ? [...world.secrets.values()].map(({ hosts }) => hosts) : []),
      ...options,
      log: log as unknown as Parameters<typeof createEgress>[0]['log'], // pino's overloads, of which these two forms are used
    })
    for (const machine of [vm, otherVm]) world.egress.setPolicy(machine, { type: 'unrestricted' })
    world.proxyPort = await world.listen(world.#guestSide(), '127.0.0.1')
    return world
  }

  /** Gives the machine a secret for open.test. @returns the placeholder for it. */
  give(use: Partial<SecretUse> = {}): string {
    const credential = newId('credential')
    this.secrets.set(decodeId('credential', credential) ?? '', {
      secret: 'the-secret',
      hosts: ['open.test'],
      inHeaders: true,
      inBody: false,
      ...use,
    })
    return `berth-secret-${credential}`
  }

  /** Each TCP connection becomes a Duplex that is no socket, as those of an SSH connection are. */
  #guestSide(): Server {
    return createServer({ allowHalfOpen: true }, (socket) => {
      this.proxyConnections++
      const [guest, node] = duplexPair()
      socket.pipe(guest).pipe(socket)
      node.on('close', () => guest.destroy())
      guest.on('close', () => socket.destroySoon())
      socket.on('close', () => node.destroy())
      this.egress.serve(this.machine, node)
    })
  }

  /** From now on `proxyPort` is a port of an SSH server, whose every connection is forwarded back to the proxy as a VM's are. */
  async overSsh(): Promise<void> {
    const guestPort = Promise.withResolvers<number>()
    const guestSide = new SshServer({ hostKeys: [newHostKey()] }, (guest) => {
      guest.on('error', () => guest.end())
      guest.on('authentication', (login) => login.accept())
      guest.on('request', (accept, _reject, _name, { bindAddr, bindPort }) => {
        accept?.()
        const forwarding = createServer({ allowHalfOpen: true }, (socket) => {
          guest.forwardOut(bindAddr, bindPort, '127.0.0.1', 1, (error, channel) =>
            error ? socket.destroy() : socket.pipe(channel).pipe(socket),
          )
        })
        this.listen(forwarding, '127.0.0.1').then(guestPort.resolve, guestPort.reject)
      })
    })
    guestSide.listen(0, '127.0.0.1')
    await once(guestSide, 'listening')
    const node = new Client()
    this.#ends.push(
      () => node.end(),
      () => guestSide.close(),
    )
    node.on('tcp connection', (_details, accept) => {
      const channel = accept()
      this.openChannels++
      channel.once('close', () => this.openChannels--)
      this.egress.serve(vm, channel)
    })
    node.on('ready', () => node.forwardIn('127.0.0.1', 3128, (error) => error && guestPort.reject(error)))
    node.on('error', guestPort.reject)
    node.connect({
      host: '127.0.0.1',
      port: (guestSide.address() as AddressInfo).port,
      username: 'root',
      hostVerifier: () => true,
    })
    this.proxyPort = await guestPort.promise
  }

  /** Starts a server on a free port. @returns the port; the server ends with the world. */
  async listen(server: Server, host: string): Promise<number> {
    this.#ends.push(() => server.close())
    server.on('connection', (socket: Socket) => this.#own(socket))
    server.listen(0, host)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  /** Real curl through the proxy, with `input` as its standard input. */
  curl(args: readonly string[], input = ''): Promise<Curled> {
    const all = ['-sS', '--max-time', String(curlLimitSeconds), '-x', `http://127.0.0.1:${this.proxyPort}`, ...args]
    return new Promise((resolve) => {
      const child = execFile('curl', all, { maxBuffer: curlOutputBytes }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), body: stdout, error: stderr }),
      )
      child.stdin?.on('error', () => undefined) // curl may end before it has read all
      child.stdin?.end(input)
    })
  }

  /** A raw connection to the proxy. */
  async guestSocket(): Promise<Socket> {
    const socket = connect({ port: this.proxyPort, host: '127.0.0.1', allowHalfOpen: true })
    this.#own(socket)
    await once(socket, 'connect')
    return socket
  }

  /** A tunnel that the proxy has opened; its answer has been read. */
  async openTunnel(host: string): Promise<Socket> {
    const socket = await this.guestSocket()
    socket.write(`CONNECT ${host} HTTP/1.1\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
    return socket
  }

  /** Sends raw bytes and reads until the proxy closes. */
  async exchange(bytes: string): Promise<string> {
    const socket = await this.guestSocket()
    socket.write(bytes, 'latin1')
    return text(socket)
  }

  close(): void {
    this.egress.close()
    this.names.close()
    for (const socket of this.#sockets) socket.destroy()
    for (const end of this.#ends) end()
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket.on('error', () => socket.destroy()))
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

/** Resolves when the other side has closed; a reset counts as closed. */
export function closed(socket: Socket): Promise<void> {
  return finished(socket.resume(), { writable: false }).catch(() => undefined)
}
