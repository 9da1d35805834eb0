/** HTTP/2 by hand: frames that no proper client would send. */
import type { TLSSocket } from 'node:tls'
import type { World } from './ingress-world.ts'

/** The types of frames. */
export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
}
/** Flags of frames. */
export const [endStream, endHeaders] = [1, 4]

/** A frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload)
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, body])
}

/** A number of 32 bits, as a window or a setting is. */
export function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A setting of a session. */
export function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([0, id]), number32(value)])
}

/** Headers as HPACK writes them, each in full and remembered by nobody. */
export function block(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** A request's headers: with these ones behind the usual four, or in place of them. */
export function requestBlock(host: string, more: readonly (readonly [string, string])[] = []): Buffer {
  const usual: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', host],
    [':path', '/'],
  ]
  const pseudo = more.filter(([name]) => name.startsWith(':'))
  const kept = usual.filter(([name]) => !pseudo.some(([other]) => other === name))
  return block([...kept, ...pseudo, ...more.filter(([name]) => !name.startsWith(':'))])
}

/** A text with its length, which HPACK writes in seven bits, and what does not fit behind them. */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  const length: number[] = []
  if (bytes.length < 127) length.push(bytes.length)
  else {
    length.push(127)
    let left = bytes.length - 127
    for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128)
    length.push(left)
  }
  return Buffer.concat([Buffer.from(length), bytes])
}

/** A session whose frames are written by hand. */
export type RawSession = {
  socket: TLSSocket
  send(...frames: Buffer[]): void
  /** What came: types, streams and payloads. */
  frames: { type: number; flags: number; stream: number; payload: Buffer }[]
  /** Settles when the other end has closed the connection. */
  closed: Promise<void>
}

/** Begins one, and reads what comes. */
export async function openRawSession(
  world: World,
  host: string,
  settings: Buffer = Buffer.alloc(0),
): Promise<RawSession> {
  const socket = await world.dialTls(host, { ALPNProtocols: ['h2'] })
  const session: RawSession = {
    socket,
    send: (...frames) => void socket.write(Buffer.concat(frames)),
    frames: [],
    closed: new Promise((resolve) => socket.once('close', () => resolve()).once('end', () => resolve())),
  }
  let held: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    held = Buffer.concat([held, bytes])
    for (; held.length >= 9; ) {
      const length = held.readUIntBE(0, 3)
      if (held.length < 9 + length) return
      session.frames.push({
        type: held.readUInt8(3),
        flags: held.readUInt8(4),
        stream: held.readUInt32BE(5),
        payload: held.subarray(9, 9 + length),
      })
      held = held.subarray(9 + length)
    }
  })
  session.send(
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(types.settings, 0, 0, settings),
    frame(types.settings, 1, 0),
  )
  return session
}
