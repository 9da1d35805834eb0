/** Reads one packet or message at a time from a connection, for as long as little is said on it: logins. */
import type { Duplex } from 'node:stream'
import { violation } from '../refusals.ts'

/** What arrives on a connection, until it is taken over by somebody else. */
export type Incoming = {
  /** The first byte, which stays; undefined when the connection ended before it. */
  peek(): Promise<number | undefined>
  /** The next packet that begins with its length, without that. @throws PostgresRefusal; Ended */
  packet(bytesMax: number): Promise<Buffer>
  /** The next message: its type and its content. @throws PostgresRefusal; Ended */
  message(bytesMax: number): Promise<{ type: number; content: Buffer }>
  /** Stops reading. @returns what has arrived and was not read; the connection is paused. */
  release(): Buffer
}

/** The other side left. */
export class Ended extends Error {}

/** Begins to read. Errors of the connection are the business of whoever made it. */
export function readIncoming(stream: Duplex): Incoming {
  let arrived: Buffer = Buffer.alloc(0)
  let ended = false
  let wake: (() => void) | null = null
  const receive = (chunk: Buffer): void => {
    arrived = arrived.length === 0 ? chunk : Buffer.concat([arrived, chunk])
    stream.pause() // nobody is read faster than what they say is wanted
    wake?.()
  }
  const end = (): void => {
    ended = true
    wake?.()
  }
  stream.on('data', receive).on('end', end).on('close', end).pause()

  /** Waits until so many bytes are there. */
  async function has(bytes: number): Promise<boolean> {
    while (arrived.length < bytes) {
      if (ended || stream.destroyed) return false
      const more = new Promise<void>((resolve) => (wake = resolve))
      stream.resume()
      await more
      wake = null
    }
    return true
  }

  async function take(bytes: number): Promise<Buffer> {
    if (!(await has(bytes))) throw new Ended('the connection ended')
    const taken = arrived.subarray(0, bytes)
    arrived = arrived.subarray(bytes)
    return taken
  }

  const content = async (bytesMax: number, what: string): Promise<Buffer> => {
    const length = (await take(4)).readUInt32BE(0)
    if (length < 4 || length - 4 > bytesMax) throw violation(`invalid length of ${what}`)
    return take(length - 4)
  }

  return {
    async peek() {
      return (await has(1)) ? arrived[0] : undefined
    },
    packet: (bytesMax) => content(bytesMax, 'startup packet'),
    async message(bytesMax) {
      const type = (await take(1))[0] ?? 0
      return { type, content: await content(bytesMax, 'message') }
    },
    release() {
      stream.pause()
      stream.off('data', receive).off('end', end).off('close', end)
      return arrived
    },
  }
}
