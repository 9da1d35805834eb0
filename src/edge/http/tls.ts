/** The HTTPS port: reads which host a client means, and makes the connection a secured one with that host's certificate. */
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import { ingressLimits } from '#src/platform/limits/ingress.ts'
import { log } from '#src/platform/log.ts'
import { readHello } from './hello.ts'
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
export async function secure(socket: Socket, options: TlsOptions): Promise<Secured | null> {
  const limitMs = (options.greetingSeconds ?? ingressLimits.greetingSeconds) * 1000
  const late = setTimeout(() => {
    refused.inc({ reason: 'slow-greeting' })
    socket.destroy()
  }, limitMs)
  try {
    let hello = await readHello(socket)
    const asksAsPostgres = hello === 'postgres'
    if (asksAsPostgres) {
      socket.write('S')
      hello = await readHello(socket)
    }
    if (!hello || hello === 'postgres') return cut(socket)
    const { serverName } = hello
    if (serverName === null) return refuse(socket)
    const pass = options.passThrough?.(serverName)
    if (pass) {
      pass(socket, asksAsPostgres)
      return null
    }
    if (asksAsPostgres) return refuse(socket)
    const isChallenge = hello.protocols.length === 1 && hello.protocols[0] === challengeProtocol
    const context = isChallenge
      ? await options.challengeContextOf?.(serverName)
      : await options.secureContextOf(serverName)
    if (!context) return refuse(socket)
    if (socket.destroyed) return null
    const stream = await shake(socket, context, isChallenge ? [challengeProtocol] : protocols)
    if (!stream || isChallenge) return cut(socket)
    return { stream, serverName, isHttp2: stream.alpnProtocol === 'h2' }
  } finally {
    clearTimeout(late)
  }
}

/** Takes the server's side of a handshake; null when there is none. */
function shake(socket: Socket, secureContext: SecureContext, ALPNProtocols: string[]): Promise<TLSSocket | null> {
  const { promise, resolve } = Promise.withResolvers<TLSSocket | null>()
  const secured = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols })
  const failed = (): void => resolve(null)
  secured.on('error', (error) => log.debug({ err: error }, 'a connection to the HTTPS port was cut'))
  secured.once('close', failed)
  secured.once('secure', () => {
    secured.off('close', failed)
    // As Node's own TLS server does: HTTP/2 waits for it.
    ;(secured as TLSSocket & { secureConnecting: boolean }).secureConnecting = false
    resolve(secured)
  })
  return promise
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
