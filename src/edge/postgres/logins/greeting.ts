/** The beginning of a client's connection: encryption, and what the client wants. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { digestOf } from '#src/platform/secrets.ts'
import type { Certificate } from './certificates.ts'
import { readIncoming, type Incoming } from '../protocol/incoming.ts'
import { PostgresRefusal, violation } from '../refusals.ts'
import { readFirstPacket, type Startup } from './startup.ts'

/** What a client wants, on the connection that is to be used from now on. */
export type Greeting = {
  stream: Socket
  incoming: Incoming
  wants:
    | { asks: 'session'; startup: Startup; tls: { serverName: string | null; endPoint: Buffer } | null }
    | { asks: 'cancel'; processId: number; secret: number }
}

/** The first byte of a TLS handshake, where a client begins with it at once. */
const handshakeByte = 0x16
const protocolName = 'postgresql'

/**
 * Reads requests for encryption and answers them, up to the packet that says what is wanted.
 * @param onStream is given the connection to which a refusal must be written, whenever it changes.
 * @throws PostgresRefusal; Ended
 */
export async function greet(
  socket: Socket,
  { certificate, plainText }: { certificate: Certificate; plainText: boolean },
  onStream: (stream: Socket) => void,
): Promise<Greeting> {
  let stream = socket
  let tls: { serverName: string | null; endPoint: Buffer } | null = null
  let incoming = readIncoming(stream)
  const encrypt = async (): Promise<void> => {
    const secured = await openTls(socket, certificate)
    tls = { serverName: secured.servername || null, endPoint: endPointOf(secured) }
    stream = secured
    onStream(stream)
    incoming = readIncoming(stream)
  }

  if ((await incoming.peek()) === handshakeByte) {
    const begun = incoming.release()
    if (begun.length > 0) socket.unshift(begun)
    await encrypt()
    if ((stream as TLSSocket).alpnProtocol !== protocolName)
      throw violation('received direct SSL connection request without ALPN protocol negotiation extension')
  }
  let asked = 0
  for (;;) {
    const packet = readFirstPacket(await incoming.packet(limits.postgresStartupBytes))
    if (packet.asks === 'cancel') return { stream, incoming, wants: packet }
    if (packet.asks === 'session') {
      if (!tls && !plainText)
        throw new PostgresRefusal(
          'invalid_authorization_specification',
          'this connection is not encrypted, and databases are reached through TLS only',
          'Add sslmode=require to the connection string.',
        )
      return { stream, incoming, wants: { ...packet, tls } }
    }
    // Each kind of encryption is asked for once at most, and none under another.
    if (tls || ++asked > 2) throw violation('unsupported frontend protocol: encryption was asked for again')
    if (packet.asks === 'gss') {
      stream.write('N')
      continue
    }
    // What came behind the request was not encrypted, and must not be taken for what follows.
    if (incoming.release().length > 0) throw violation('received unencrypted data after SSL request')
    socket.write('S')
    await encrypt()
  }
}

/** Takes the server's side of a handshake. @throws PostgresRefusal, which nobody can be told any more */
function openTls(socket: Socket, { context }: Certificate): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = new TLSSocket(socket, { isServer: true, secureContext: context, ALPNProtocols: [protocolName] })
    const failed = (): void => reject(violation('the TLS handshake failed'))
    secured.on('error', (error) => log.debug({ err: error }, 'a connection to the Postgres port was cut'))
    secured.once('close', failed)
    secured.once('secure', () => {
      secured.off('close', failed)
      resolve(secured)
    })
  })
}

/** The digest of the server's certificate to which a client may bind its login (RFC 5929, tls-server-end-point). */
function endPointOf(secured: TLSSocket): Buffer {
  const certificate = secured.getX509Certificate()
  if (!certificate) throw new Error('a TLS server without a certificate')
  const signed = /sha(?:384|512|224)/i.exec(certificate.signatureAlgorithm ?? '')?.[0].toLowerCase()
  return digestOf(signed ?? 'sha256', certificate.raw)
}
