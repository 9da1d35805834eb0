/** A backend: one connection to a database's server, logged in, which the proxy gives to one client after the other. */
import type { Duplex } from 'node:stream'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Admission, OwnLogin } from './directory.ts'
import { destroyAfter, inTime } from './in-time.ts'
import { readIncoming, type Incoming } from './protocol/incoming.ts'
import { skipMessages } from './protocol/message-heads.ts'
import { logInTo, type ServerSession } from './logins/server-login.ts'
import {
  cancelPacket,
  fromServer,
  headBytes,
  isAside,
  readParameter,
  startupPacket,
  terminateMessage,
} from './protocol/messages.ts'
import { PostgresRefusal } from './refusals.ts'
import { LoginLost, LoginTaken, ServerRefused } from './server-refusals.ts'

/** A message as it came. */
export type Message = { type: number; whole: Buffer }

/** One backend. */
export type Backend = {
  readonly stream: Duplex
  /** Clients that want what this key says can have it. */
  readonly key: string
  /** What the server has said of the session's settings. */
  readonly parameters: Map<string, string>
  /** The server's number of the process that serves it. */
  readonly processId: number
  readonly openedAtMs: number
  /** The age of the settings with which it began; the pool counts them. */
  generation: number
  /** Since when nobody has it. */
  freeSinceMs: number
  /** Whether a client has said anything on it since it was clear. */
  used: boolean
  /** Whether it can never be given to another client. */
  stuck: boolean
  readonly closed: boolean
  /** Who gets what arrives, and is told that it ended. */
  receive: (chunk: Buffer) => void
  ended: () => void
  /** Whether what was received last ended with a message. Only then may the proxy ask, or another client have it. */
  atBoundary: () => boolean
  /** Called when the server can be sent more. */
  drained: () => void
  /** Nobody has it any more. */
  leave(): void
  /** Sends messages of the proxy's own, and collects what is answered until so many times ReadyForQuery. @throws Error when it is gone, or answers too late */
  ask(messages: Buffer, cycles: number, limitMs: number): Promise<{ messages: Message[]; asides: Buffer[] }>
  /** Asks the server to cancel what it does. Until this has arrived there, the backend must not change hands: `cancelling`. */
  cancel(): void
  readonly cancelling: Promise<void> | null
  /** Ends it; the server does what it was told before. */
  close(): void
}

const answerBytesMax = 1024 * 1024

/** Where a server is, and as whom the proxy logs in. */
export type Server = Pick<Admission, 'databaseId' | 'server' | 'takeLogin' | 'connect' | 'onLoginLost'>

/** Opens a backend with these settings. @throws PostgresRefusal; ServerRefused */
export async function openBackend(
  admission: Server,
  settings: ReadonlyMap<string, string>,
  key: string,
): Promise<Backend> {
  const opening = begin(admission, settings, key)
  try {
    const opened = await inTime(opening, limits.postgresWakeSeconds * 1000)
    if (opened) return opened.value
    opening.then(
      (slow) => slow.close(),
      (error: unknown) => log.debug({ err: error }, 'a backend that was no longer waited for did not open'),
    )
    throw new PostgresRefusal('cannot_connect_now', 'the database is starting up: try again in a moment')
  } catch (error) {
    if (error instanceof PostgresRefusal || error instanceof ServerRefused) throw error
    log.warn({ err: error, database: admission.databaseId }, 'a database cannot be reached')
    throw new PostgresRefusal('cannot_connect_now', 'the database cannot be reached now: try again in a moment')
  }
}

async function begin(admission: Server, settings: ReadonlyMap<string, string>, key: string): Promise<Backend> {
  try {
    return await beginOnce(admission, settings, key)
  } catch (error) {
    if (!(error instanceof LoginLost) || !(await admission.onLoginLost())) throw error
    return beginOnce(admission, settings, key)
  }
}

async function beginOnce(admission: Server, settings: ReadonlyMap<string, string>, key: string): Promise<Backend> {
  let areTaken = true
  for (let tries = loginTries; tries > 0; tries--) {
    try {
      const login = await admission.takeLogin?.()
      const backend = await beginAs(admission, login, settings, key)
      if (!login || (await login.check(backend))) return backend
      backend.close()
      areTaken = false
    } catch (error) {
      if (!(error instanceof LoginTaken)) throw error
      log.debug({ err: error, database: admission.databaseId }, 'a login is another connection’s')
    }
  }
  if (!areTaken) throw new LoginLost('no login of its own is as it was made')
  throw new PostgresRefusal(
    'too_many_connections',
    'the connections that clients without the token may have to this database are in use: try again in a moment',
  )
}
/** Of those that one process may hold, other processes may have most. */
const loginTries = 16

async function beginAs(
  admission: Server,
  login: OwnLogin | undefined,
  settings: ReadonlyMap<string, string>,
  key: string,
): Promise<Backend> {
  const stream = await admission.connect().catch((error: unknown) => {
    login?.release()
    throw error
  })
  stream.on('error', (error) => log.debug({ err: error }, 'a backend was cut')).once('close', () => login?.release())
  const incoming = readIncoming(stream)
  try {
    const { user, database } = admission.server
    stream.write(startupPacket([['user', login?.user ?? user], ['database', database], noLibraries, ...settings]))
    const session = await logInTo(stream, incoming, admission.server)
    return makeBackend(stream, incoming, key, session, admission)
  } catch (error) {
    incoming.release()
    stream.destroy()
    throw error
  }
}

/** A role may be told to load libraries that are not there, and then nobody gets in with it. */
const noLibraries: [name: string, value: string] = ['local_preload_libraries', '']

function makeBackend(
  stream: Duplex,
  incoming: Incoming,
  key: string,
  session: ServerSession,
  admission: Server,
): Backend {
  const { parameters, processId, secret } = session
  let cancelling: Promise<void> | null = null
  let closed = false
  const backend: Backend = {
    stream,
    key,
    parameters,
    processId,
    openedAtMs: performance.now(),
    generation: 0,
    freeSinceMs: performance.now(),
    used: false,
    stuck: admission.server.isFleeting === true,
    get closed() {
      return closed || stream.destroyed
    },
    receive: ignore,
    atBoundary: () => true,
    ended: ignore,
    drained: ignore,
    leave() {
      if (!backend.atBoundary()) backend.stuck = true // where the next message begins is not known
      backend.ended = backend.drained = ignore
      followUnheard(backend)
      stream.resume()
    },
    ask: (messages, cycles, limitMs) => ask(backend, messages, cycles, limitMs),
    get cancelling() {
      return cancelling
    },
    cancel() {
      cancelling ??= sendCancel(admission, processId, secret).finally(() => (cancelling = null))
    },
    close() {
      if (closed) return
      closed = true
      let unread = 0
      backend.receive = (chunk) => {
        unread += chunk.length
        if (unread > unreadBytesMax) stream.destroy()
      }
      stream.end(terminateMessage)
      stream.resume()
      destroyAfter(stream, closeLimitMs)
    },
  }
  followUnheard(backend)
  const rest = incoming.release()
  stream.on('data', (chunk: Buffer) => backend.receive(chunk))
  stream.on('drain', () => backend.drained())
  stream.once('close', () => {
    closed = true
    backend.ended()
  })
  stream.once('end', () => stream.destroy())
  if (rest.length > 0) backend.receive(rest)
  stream.resume()
  return backend
}
/** A server that has something to finish for a client who left gets so long. */
const closeLimitMs = 60_000
/** And what it still answers is not read beyond this: then it sees that nobody listens, and stops. */
const unreadBytesMax = 1024 * 1024

function ignore(): void {
  // Nobody is there.
}

/** Between two clients nothing that a server says is for anybody, but where its messages end must be known. */
function followUnheard(backend: Backend): void {
  const { follow, atBoundary } = skipMessages()
  backend.receive = (chunk) => {
    try {
      follow(chunk)
    } catch {
      backend.stream.destroy()
    }
  }
  backend.atBoundary = atBoundary
}

/** Resolves when the server has closed the connection: then the signal has reached the process. */
async function sendCancel(admission: Server, processId: number, secret: number): Promise<void> {
  try {
    const stream = await admission.connect()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => stream.destroy(), cancelLimitMs)
      stream.on('error', (error) => log.debug({ err: error }, 'a cancel request was cut'))
      stream.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
      stream.once('end', () => stream.destroy())
      stream.resume()
      stream.write(cancelPacket(processId, secret))
    })
  } catch (error) {
    log.warn({ err: error, database: admission.databaseId }, 'a cancel request did not reach the database')
  }
}
const cancelLimitMs = 5_000

async function ask(backend: Backend, sent: Buffer, cycles: number, limitMs: number): ReturnType<Backend['ask']> {
  const { receive, ended } = backend
  const messages: Message[] = []
  const asides: Buffer[] = []
  let arrived: Buffer = Buffer.alloc(0)
  let left = cycles
  let readBytes = 0
  if (!backend.atBoundary()) throw new Error('the server is in the middle of a message')
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the server does not answer')), limitMs)
      const finish = (error?: Error): void => {
        clearTimeout(timer)
        if (error) reject(error)
        else resolve()
      }
      backend.ended = () => finish(new Error('the server is gone'))
      backend.receive = (chunk) => {
        arrived = arrived.length === 0 ? chunk : Buffer.concat([arrived, chunk])
        if ((readBytes += chunk.length) > answerBytesMax) return finish(new Error('the server answers too much'))
        while (arrived.length >= headBytes && arrived.length > arrived.readUInt32BE(1)) {
          const whole = arrived.subarray(0, arrived.readUInt32BE(1) + 1)
          arrived = arrived.subarray(whole.length)
          const type = whole[0] ?? 0
          if (isAside(type)) asides.push(whole)
          else messages.push({ type, whole })
          if (type === fromServer.parameterStatus) backend.parameters.set(...readParameter(whole.subarray(headBytes)))
          if (type === fromServer.ready) left--
        }
        if (left <= 0 && arrived.length === 0) finish() // with a message, so that what comes next begins with one
      }
      if (backend.closed) return finish(new Error('the server is gone'))
      backend.stream.write(sent)
      backend.stream.resume()
    })
  } catch (error) {
    backend.stream.destroy()
    throw error
  } finally {
    backend.receive = receive
    backend.ended = ended
  }
  return { messages, asides }
}
