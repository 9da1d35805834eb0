/** The TLS of an intercepted connection towards its host: nothing is sent before the host's certificate is verified. */
import { Agent } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect, type SecureContext, type TLSSocket } from 'node:tls'
import type { Answer, EgressLimits } from './passages.ts'

/** A host whose certificate is verified; all requests of the connection go through `agent`, in sequence. */
export type ProvedHost = { socket: TLSSocket; agent: Agent }

/** Keeps one connection for all requests, and opens no other. */
class OneConnection extends Agent {
  readonly #socket: TLSSocket
  #given = false
  constructor(socket: TLSSocket, idleMs: number) {
    super({ keepAlive: true, maxSockets: 1, timeout: idleMs })
    this.#socket = socket
  }
  override createConnection(
    _options: unknown,
    done?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | undefined {
    if (!this.#given && !this.#socket.destroyed) {
      this.#given = true
      return this.#socket
    }
    process.nextTick(() => done?.(new Error('The connection has closed.'), this.#socket))
  }
}

/**
 * Performs the TLS handshake over a dialled socket.
 * @param host its normal name or address, which its certificate must bear.
 * @param trust the trusted authorities.
 * @returns what the guest is told when verification fails or takes too long.
 */
export function proveHost(
  socket: Socket,
  host: string,
  trust: SecureContext,
  { handshakeMs, idleMs }: EgressLimits,
): Promise<ProvedHost | Answer> {
  const { promise, resolve } = Promise.withResolvers<ProvedHost | Answer>()
  socket.setTimeout(0) // the TLS layer reads its bytes from now on
  const secure = connect({
    socket,
    host,
    ...(isIP(host) ? {} : { servername: host }),
    secureContext: trust,
    ALPNProtocols: ['http/1.1'],
  })
  secure.setTimeout(idleMs, () => secure.destroy())
  const limit = setTimeout(() => {
    resolve({ status: 504, rule: 'timeout', sentence: 'The host did not end the TLS handshake in time.' })
    secure.destroy()
  }, handshakeMs)
  secure.once('secureConnect', () => {
    clearTimeout(limit)
    resolve({ socket: secure, agent: new OneConnection(secure, idleMs) })
  })
  secure.on('error', () => {
    // Node's error code; its longer messages quote the certificate, which the host controls.
    const problem = secure.authorizationError
    if (problem)
      resolve({
        status: 502,
        rule: 'certificate not valid',
        sentence: `The certificate of this host is not valid (${String(problem)}), so nothing was sent to it.`,
      })
  })
  secure.once('close', () => {
    clearTimeout(limit)
    resolve({
      status: 502,
      rule: 'unreachable',
      sentence: 'The host did not complete the TLS handshake, or does not offer HTTP/1.1.',
    })
  })
  return promise
}
