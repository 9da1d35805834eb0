/**
 * The SSH connection into a machine: commands are channels of it, and the guest's egress traffic comes back through it.
 * The host key is always pinned, and Nagle's algorithm is off, because it would triple the time of a command.
 */
import type { Duplex } from 'node:stream'
import ssh2, { type Client, type ClientChannel } from 'ssh2'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { clientPrivateKey, pinnedHostKey, type MachineKeys } from './ssh/keys.ts'
import type { Channel, Command, Exit } from './machine.ts'
import { PacedSocket } from './ssh/paced-socket.ts'
import { guardConnection } from './ssh/guard.ts'

/** Where the guest's proxy settings point; templates set the same. */
export const proxyPort = 3128
/** A dead guest is detected after keepalive × (missed + 1): 9 s. */
const keepaliveMs = 3000
const keepalivesMissed = 2
/** Base64 of a request longer than this does not fit dropbear's command line and goes ahead of standard input. Unit: characters. */
const inlineRequestMax = 6000
/** Measured under emulation: the curve and the stream cipher that dropbear does in software the fastest. */
const algorithms = {
  kex: ['curve25519-sha256'],
  cipher: ['chacha20-poly1305@openssh.com'],
  serverHostKey: ['ssh-ed25519'],
  hmac: ['hmac-sha2-256'],
  compress: ['none'],
} as const

/** How long a guest may take to start a command. */
const openLimitMs = 30_000

/** The reason for which a guest's connection was cut. */
export class ConnectionCut extends Error {
  override name = 'ConnectionCut'
}

/** Where a machine's SSH server is, and the keys of both ends. */
export type SshTarget = { address: string; port: number; keys: MachineKeys }

/** An open connection. */
export type SshConnection = {
  /** @throws BerthError vm_unreachable */
  run(command: Command, signal?: AbortSignal): Promise<Channel>
  /** Sends a request to the guest's program as it is (see guest/image/main.c). @throws BerthError vm_unreachable */
  request(fields: readonly string[], signal?: AbortSignal): Promise<Channel>
  /** Connects to a Unix socket of the guest, as root. @throws BerthError vm_unreachable, also when nobody listens there. */
  connect(socketPath: string): Promise<Duplex>
  /**
   * Connects to this port of the guest's loopback address.
   * @throws BerthError vm_unreachable; upstream_error when nothing listens there.
   */
  connectPort(port: number): Promise<Duplex>
  /**
   * Has the guest listen at this port of its loopback address, and takes the connections there.
   * @throws Error when the guest refuses: a program of it has the port.
   */
  listen(port: number, onConnection: (connection: Duplex) => void): Promise<void>
  /** Resolves when the connection is gone; with what the guest did when it was cut for that. */
  readonly closed: Promise<{ cutFor: string | null }>
  end(): void
}

/** The error while a machine is unreachable. */
export function unreachable(): BerthError {
  return new BerthError('vm_unreachable', 'The VM does not answer right now. Try again in a few seconds.', {
    retryAfterSeconds: 3,
  })
}

function settingsFor({ keys }: SshTarget, sock: PacedSocket, limitMs: number): ssh2.ConnectConfig {
  const pinned = pinnedHostKey(keys)
  return {
    sock,
    username: 'root',
    // The only authentication method, because asking for the supported ones costs 50 ms under emulation.
    authHandler: [{ type: 'publickey', username: 'root', key: clientPrivateKey(keys) }] as never, // ssh2's types know names only
    hostVerifier: (key: Buffer) => key.equals(pinned),
    readyTimeout: limitMs,
    keepaliveInterval: keepaliveMs,
    keepaliveCountMax: keepalivesMissed,
    strictVendor: false, // dropbear knows OpenSSH's way to a Unix socket
    algorithms: algorithms as never, // ssh2's types want mutable lists
  }
}

/**
 * Connects, and opens the guest's egress.
 * @param onEgress takes each connection that the guest opened to its proxy.
 * @throws Error when the server does not answer in time, shows another host key, or refuses.
 */
export async function connectSsh(
  target: SshTarget,
  onEgress: (connection: Duplex) => void,
  limitMs: number,
): Promise<SshConnection> {
  const client = new ssh2.Client()
  let cutFor: string | null = null
  const why = (otherwise: Error): Error => (cutFor === null ? otherwise : new ConnectionCut(cutFor))
  const closed = new Promise<{ cutFor: string | null }>((resolve) => client.once('close', () => resolve({ cutFor })))
  const socket = new PacedSocket().setMaxListeners(0) // each channel listens to it
  await new Promise<void>((resolve, reject) => {
    // Never removed: a failing connection may emit two errors. Nothing more of it is read, because after a fault the library
    // takes the next bytes for the rest of what it refused, of whatever length that said it had. 'close' follows.
    client.on('error', (error) => {
      socket.destroy()
      reject(why(error))
    })
    client.once('close', () => reject(why(new Error('the guest closed the SSH connection'))))
    client.once('ready', resolve)
    socket.connect(target.port, target.address)
    client.connect(settingsFor(target, socket, limitMs))
    guardConnection(client, (reason) => {
      cutFor = reason
    })
  })
  setNoDelay(client)
  const listen = createListening(client)
  await new Promise<void>((resolve, reject) => {
    const give = (error: Error | undefined): void => {
      clearTimeout(late)
      if (!error) return resolve()
      client.destroy()
      reject(why(error))
    }
    const late = setTimeout(() => give(new Error('the guest does not answer')), limitMs)
    listen(proxyPort, onEgress).then(() => give(undefined), give)
  })
  const request = (fields: readonly string[], signal?: AbortSignal): Promise<Channel> =>
    openChannel(client, fields, signal)
  return {
    closed,
    request,
    connect: (socketPath) =>
      openForwarded(client, unreachable(), (taken) => client.openssh_forwardOutStreamLocal(socketPath, taken)),
    connectPort: (port) => openPort(client, port),
    run: ({ argv, as = 'user', workingDir, timeoutMs }, signal) =>
      request(
        [
          'run',
          newUuid(),
          as,
          workingDir ?? (as === 'user' ? '/home/user' : '/'),
          String(Math.ceil(timeoutMs)),
          ...argv,
        ],
        signal,
      ),
    listen,
    end: () => client.destroy(),
  }
}

/** Makes `listen`: the guest names the port of each connection that it opens. */
function createListening(client: Client): SshConnection['listen'] {
  const takers = new Map<number, (connection: Duplex) => void>()
  client.on('tcp connection', ({ destPort }, accept, reject) => {
    const take = takers.get(destPort)
    if (take) take(accept())
    else reject()
  })
  return async (port, onConnection) => {
    takers.set(port, onConnection)
    await new Promise<void>((resolve, reject) => {
      client.forwardIn('127.0.0.1', port, (error) => (error ? reject(error) : resolve())) // it throws when the connection has gone
    })
  }
}

/** ssh2 has the method; its types do not. */
function setNoDelay(client: Client): void {
  ;(client as Client & { setNoDelay(on: boolean): void }).setNoDelay(true)
}

function openChannel(client: Client, fields: readonly string[], signal: AbortSignal | undefined): Promise<Channel> {
  const request = Buffer.from(`${fields.join('\0')}\0`)
  const inline = request.toString('base64')
  return new Promise((resolve, reject) => {
    const lost = (): void => {
      clearTimeout(late)
      reject(unreachable())
    }
    const late = setTimeout(() => client.destroy(), openLimitMs) // 'close' follows
    client.once('close', lost)
    try {
      client.exec(inline.length <= inlineRequestMax ? inline : '-', (error, stream) => {
        clearTimeout(late)
        client.off('close', lost)
        if (error) return reject(unreachable())
        if (inline.length > inlineRequestMax) stream.write(sized(request))
        resolve(channelOf(stream, signal))
      })
    } catch {
      client.off('close', lost)
      lost() // ssh2 throws when the connection has gone
    }
  })
}

/** Both addresses, because a server that was told to listen at localhost may have chosen either. */
async function openPort(client: Client, port: number): Promise<Duplex> {
  const refused = new BerthError('upstream_error', `Nothing in the VM listens at port ${port}.`)
  const open = (address: string): Promise<Duplex> =>
    openForwarded(client, refused, (taken) => client.forwardOut('127.0.0.1', 0, address, port, taken))
  return open('127.0.0.1').catch((error: unknown) => {
    if (error !== refused) throw error
    return open('::1')
  })
}

type Forwarded = (error: Error | undefined, stream: ClientChannel) => void

/** Opens a channel to what listens in the guest. @param refused the error when nothing does. @throws BerthError */
function openForwarded(client: Client, refused: BerthError, ask: (taken: Forwarded) => void): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const lost = (): void => {
      clearTimeout(late)
      reject(unreachable())
    }
    const late = setTimeout(() => client.destroy(), openLimitMs) // 'close' follows
    client.once('close', lost)
    try {
      ask((error, stream) => {
        clearTimeout(late)
        client.off('close', lost)
        if (error) return reject(refused)
        stream.stderr.resume()
        resolve(stream)
      })
    } catch {
      client.off('close', lost)
      lost() // ssh2 throws when the connection has gone
    }
  })
}

function channelOf(stream: ClientChannel, signal: AbortSignal | undefined): Channel {
  const exit = Promise.withResolvers<Exit>()
  exit.promise.catch(() => undefined) // a caller that never awaits the exit must not cause an unhandled rejection
  let ended: Exit | undefined
  const close = (): void => {
    // dropbear keeps a closed channel until its command ends: the signal makes the guest's program end it.
    stream.signal('TERM')
    stream.close()
    // Its end comes after its last byte, which nobody reads any more.
    stream.resume()
    stream.stderr.resume()
  }
  stream.on('exit', (code: number | null, signalName?: string) => {
    ended = signalName === 'SIGALRM' ? { exitCode: 124, timedOut: true } : { exitCode: code ?? 137, timedOut: false } // 137: the guest's own helper was killed
  })
  stream.once('close', () => {
    signal?.removeEventListener('abort', close)
    if (ended) exit.resolve(ended)
    else exit.reject(unreachable())
  })
  stream.on('error', () => stream.destroy()) // 'close' follows
  if (signal?.aborted) close()
  else signal?.addEventListener('abort', close, { once: true })
  return { stdin: stream, stdout: stream, stderr: stream.stderr, exit: exit.promise, close }
}

function sized(request: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(request.length)
  return Buffer.concat([length, request])
}
