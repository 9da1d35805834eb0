/** A client of Postgres' protocol that says what a test wants it to say, right or wrong. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import {
  fromServer,
  int32,
  message,
  protocolVersion,
  queryMessage,
  requestCodes,
} from '#src/edge/postgres/protocol/messages.ts'

/** A message of the server. */
export type Answer = { type: string; content: Buffer }

/** A connection. */
export type RawClient = {
  socket: Socket
  send(...parts: (Buffer | string)[]): void
  /** The next message; null when the connection has ended. */
  next(): Promise<Answer | null>
  /** All messages up to the first of this type, or to the end. */
  until(type: string): Promise<Answer[]>
  /** So many bytes that are no message, such as the answer to a request for TLS. */
  bytes(count: number): Promise<string>
  /** Resolves when the other side has closed. */
  closed: Promise<unknown>
}

/** Follows a connection. */
export function rawClient(socket: Socket): RawClient {
  let arrived: Buffer = Buffer.alloc(0)
  let ended = false
  let wake: () => void = () => undefined
  socket.on('data', (chunk: Buffer) => {
    arrived = Buffer.concat([arrived, chunk])
    wake()
  })
  const end = (): void => {
    ended = true
    wake()
  }
  socket.on('end', end).on('close', end).on('error', end)
  const has = async (count: number): Promise<boolean> => {
    while (arrived.length < count) {
      if (ended) return false
      await new Promise<void>((resolve) => (wake = resolve))
    }
    return true
  }
  const take = (count: number): Buffer => {
    const taken = arrived.subarray(0, count)
    arrived = arrived.subarray(count)
    return taken
  }
  const next = async (): Promise<Answer | null> => {
    if (!(await has(5)) || !(await has(arrived.readUInt32BE(1) + 1))) return null
    const type = String.fromCharCode(take(1)[0] ?? 0)
    return { type, content: take(take(4).readUInt32BE(0) - 4) }
  }
  return {
    socket,
    closed: new Promise((resolve) => socket.once('close', resolve)),
    send: (...parts) => void socket.write(Buffer.concat(parts.map((part) => Buffer.from(part)))),
    next,
    bytes: async (count) => ((await has(count)) ? take(count).toString('latin1') : ''),
    async until(type) {
      const answers: Answer[] = []
      for (;;) {
        const answer = await next()
        if (answer) answers.push(answer)
        if (!answer || answer.type === type) return answers
      }
    },
  }
}

/** Connects without TLS, as things begin. */
export async function connectRaw(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return rawClient(socket)
}

/** Connects, asks for TLS, and opens it. */
export async function connectSecured(port: number, options: ConnectionOptions = {}): Promise<RawClient> {
  const plain = await connectRaw(port)
  plain.send(requestPacket(requestCodes.tls))
  if ((await plain.bytes(1)) !== 'S') throw new Error('no TLS')
  plain.socket.removeAllListeners('data')
  const socket = connectTls({ socket: plain.socket, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return rawClient(socket)
}

/** A packet that is nothing but a request. */
export function requestPacket(code: number, ...more: Buffer[]): Buffer {
  const body = Buffer.concat([int32(code), ...more])
  return Buffer.concat([int32(body.length + 4), body])
}

/** A startup packet of this version. */
export function startup(settings: Record<string, string>, version: number = protocolVersion): Buffer {
  const text = Object.entries(settings)
    .map(([name, value]) => `${name}\0${value}\0`)
    .join('')
  return requestPacket(version, Buffer.from(`${text}\0`))
}

/** A SASL message of the client's. */
export function saslMessage(mechanism: string, text: string): Buffer {
  return message('p'.charCodeAt(0), `${mechanism}\0`, int32(Buffer.byteLength(text)), text)
}

/** The fields of an error by their letters; what ended without one is an empty object. */
export function errorOf(answers: readonly (Answer | null)[]): Record<string, string> {
  const error = answers.findLast((answer) => answer?.type.charCodeAt(0) === fromServer.error)
  const fields = error?.content.toString('utf8').split('\0') ?? []
  return Object.fromEntries(fields.filter(Boolean).map((field) => [field[0], field.slice(1)]))
}

/** Runs a simple query; the types of all answers, up to ReadyForQuery. */
export async function ask(client: RawClient, text: string): Promise<Answer[]> {
  client.send(queryMessage(text))
  return client.until('Z')
}
