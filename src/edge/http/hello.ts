/** The beginning of a TLS connection, as far as it says which host is meant, and by which protocols. */
import type { Socket } from 'node:net'
import { ingressLimits as limits } from './limits.ts'

/** What a greeting says. `serverName` in lower case. */
export type Hello = { serverName: string | null; protocols: readonly string[] }

const [handshakeRecord, clientHello] = [0x16, 1]
const recordHeadBytes = 5
const handshakeHeadBytes = 4
const [serverNameExtension, protocolsExtension] = [0, 16]
const hostNameType = 0

/** How a client of Postgres asks for encryption, before it greets: its SSLRequest. */
export const postgresRequest = Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f])

/**
 * Reads the greeting of a client, and puts what was read back, so that TLS begins as if nothing had been read. It must be
 * one record, as that of every client is.
 * @returns `postgres` for a client of Postgres, which waits to be let greet; null for anybody else: then the connection is of no
 * use.
 */
export function readHello(socket: Socket): Promise<Hello | 'postgres' | null> {
  const { promise, resolve } = Promise.withResolvers<Hello | 'postgres' | null>()
  const pieces: Buffer[] = []
  let size = 0
  const done = (hello: Hello | 'postgres' | null): void => {
    socket.off('data', take).off('close', gone).off('end', gone)
    socket.pause()
    const all = Buffer.concat(pieces)
    if (hello && hello !== 'postgres' && !socket.destroyed) socket.unshift(all)
    resolve(hello)
  }
  const gone = (): void => done(null)
  const take = (piece: Buffer): void => {
    pieces.push(piece)
    size += piece.length
    const first = pieces[0] ?? piece
    if (size <= postgresRequest.length && Buffer.concat(pieces).equals(postgresRequest.subarray(0, size)))
      return size === postgresRequest.length ? done('postgres') : undefined
    if (first[0] !== handshakeRecord || size > limits.greetingBytes + recordHeadBytes) return done(null)
    if (size < recordHeadBytes) return
    if (first.length < recordHeadBytes) pieces.splice(0, pieces.length, Buffer.concat(pieces))
    const head = pieces[0] ?? piece
    const wanted = recordHeadBytes + head.readUInt16BE(3)
    if (wanted > limits.greetingBytes) return done(null)
    if (size < wanted) return
    done(parseHello(Buffer.concat(pieces).subarray(recordHeadBytes, wanted)))
  }
  socket.on('data', take).once('close', gone).once('end', gone).resume()
  return promise
}

/** What a ClientHello says; null when it is none. */
function parseHello(message: Buffer): Hello | null {
  try {
    const reader = new Reader(message)
    if (reader.number(1) !== clientHello || reader.number(3) > message.length - handshakeHeadBytes) return null
    reader.skip(2 + 32) // version and random
    reader.part(1) // session id
    reader.part(2) // ciphers
    reader.part(1) // compressions
    const hello: { serverName: string | null; protocols: string[] } = { serverName: null, protocols: [] }
    const extensions = new Reader(reader.part(2))
    while (extensions.left > 0) {
      const type = extensions.number(2)
      const body = new Reader(extensions.part(2))
      if (type === serverNameExtension) hello.serverName ??= readServerName(body)
      if (type === protocolsExtension) hello.protocols = readProtocols(body)
    }
    return hello
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function readServerName(body: Reader): string | null {
  const names = new Reader(body.part(2))
  if (names.number(1) !== hostNameType) return null
  const name = names.part(2).toString('latin1').toLowerCase()
  return /^[a-z0-9._-]{1,255}$/.test(name) ? name : null
}

function readProtocols(body: Reader): string[] {
  const names = new Reader(body.part(2))
  const protocols: string[] = []
  while (names.left > 0) protocols.push(names.part(1).toString('latin1'))
  return protocols
}

/** Reads numbers and parts, one behind the other. @throws RangeError where it ends too early */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  number(sizeBytes: number): number {
    this.skip(sizeBytes)
    return this.#bytes.readUIntBE(this.#at - sizeBytes, sizeBytes)
  }

  /** A part that begins with its own length, which has so many bytes. */
  part(lengthBytes: number): Buffer {
    const length = this.number(lengthBytes)
    this.skip(length)
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  skip(sizeBytes: number): void {
    if (sizeBytes > this.left) throw new RangeError('it ends too early')
    this.#at += sizeBytes
  }
}
