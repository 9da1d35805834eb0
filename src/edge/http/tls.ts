/** The HTTPS port: reads which host a client means, and makes the connection a secured one with that host's certificate. */
import type { Socket } from 'node:net'
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'
import { log } from '#src/platform/log.ts'
import { readHello, type Hello } from './hello.ts'
import { ingressLimits } from './limits.ts'
import { refused } from './metrics.ts'
import type { Passage } from './passage.ts'

/** What is shown to whom. */
export type TlsOptions = {
  /** What to show a client that asks for this name (in lower case); null when there is nothing for it. */
  secureContextOf(serverName: string): Promise<SecureContext | null>
  /** The same for an ACME authority, which offers the protocol `acme-tls/1` and no other. */
  challengeContextOf?: ((serverName: string) => Promise<SecureContext | null>) | undefined
  /** Takes a connection as it is, whose TLS is another server's; null when it is for the ingress. */
  passThrough?: ((serverName: string) => Passage | null) | undefined
  /** How long a greeting may take. Unit: seconds. */
  greetingSeconds?: number
}

/** A connection whose handshake is done. */
export type Secured = { stream: TLSSocket; serverName: string; isHttp2: boolean }

const challengeProtocol = 'acme-tls/1'
const protocols = ['h2', 'http/1.1']
/** Fatal: unrecognized_name. */
const unknownName = Buffer.from([0x15, 3, 1, 0, 2, 2, 112])

/** Secures a connection; null when it is over, or somebody else has it. */
export type Securing = (socket: Socket) => Promise<Secured | null>

/** Makes what secures connections. */
export function createSecuring(options: TlsOptions): Securing {
  const limitMs = (options.greetingSeconds ?? ingressLimits.greetingSeconds) * 1000
  const { secureContextOf, challengeContextOf, passThrough } = options
  const shake = createHandshakes(secureContextOf, protocols)
  const shakeWithAuthority = challengeContextOf && createHandshakes(challengeContextOf, [challengeProtocol])

  async function secure(socket: Socket): Promise<Secured | null> {
    let hello = await readHello(socket)
    const asksAsPostgres = hello === 'postgres'
    if (asksAsPostgres) {
      socket.write('S')
      hello = await readHello(socket)
    }
    if (!hello || hello === 'postgres') return cut(socket)
    const { serverName } = hello
    if (serverName === null) return refuse(socket)
    // It is answered for every name, also where connections pass as they are: the certificate is ours to obtain.
    if (shakeWithAuthority && isOfAuthority(hello) && !asksAsPostgres) {
      const isShaken = await shakeWithAuthority(socket, serverName)
      return isShaken === 'unknown' ? refuse(socket) : cut(socket)
    }
    const pass = passThrough?.(serverName)
    if (pass) {
      pass(socket, asksAsPostgres)
      return null
    }
    if (asksAsPostgres) return refuse(socket)
    const stream = await shake(socket, serverName)
    if (stream === 'unknown') return refuse(socket)
    return stream && { stream, serverName, isHttp2: stream.alpnProtocol === 'h2' }
  }

  return async (socket) => {
    const late = setTimeout(() => {
      refused.inc({ reason: 'slow-greeting' })
      socket.destroy()
    }, limitMs)
    try {
      return await secure(socket)
    } finally {
      clearTimeout(late)
    }
  }
}

/** Whether it is an ACME authority that greets (RFC 8737). */
function isOfAuthority({ protocols: offered }: Hello): boolean {
  return offered.length === 1 && offered[0] === challengeProtocol
}

type Handshakes = (socket: Socket, serverName: string) => Promise<TLSSocket | 'unknown' | null>

/**
 * Takes the server's side of handshakes: null when there is none, and `unknown` when there is no certificate of that name. A TLS
 * server of Node does it: a socket that is made by hand hides errors behind its handshake, such as that of a client that
 * negotiates again and again.
 */
function createHandshakes(contextOf: TlsOptions['secureContextOf'], ALPNProtocols: string[]): Handshakes {
  const awaited = new Map<string, (secured: TLSSocket) => void>()
  const server = createServer({
    ALPNProtocols,
    SNICallback(name, done) {
      contextOf(name.toLowerCase()).then(
        (context) => done(null, context ?? undefined),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      )
    },
  })
  server.on('secureConnection', (secured) => {
    secured.on('error', noteCut)
    secured.disableRenegotiation() // each would cost as much as a new connection, and no client needs one
    const take = awaited.get(endsOf(secured))
    if (take) take(secured)
    else secured.destroy() // it has just closed
  })
  server.on('tlsClientError', noteCut)
  return async (socket, serverName) => {
    if (!(await contextOf(serverName))) return 'unknown'
    if (socket.destroyed) return null
    const { promise, resolve } = Promise.withResolvers<TLSSocket | null>()
    const ends = endsOf(socket)
    awaited.set(ends, resolve)
    socket.once('close', () => resolve(null))
    server.emit('connection', socket)
    try {
      return await promise
    } finally {
      if (awaited.get(ends) === resolve) awaited.delete(ends)
    }
  }
}

function noteCut(error: Error): void {
  log.debug({ err: error }, 'a connection to the HTTPS port was cut')
}

/** Which connection it is: no two that are open have the same ends. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`
}

function refuse(socket: Socket): null {
  refused.inc({ reason: 'unknown-server-name' })
  socket.end(unknownName, () => socket.destroy())
  return null
}

function cut(socket: Socket): null {
  socket.destroySoon()
  return null
}
