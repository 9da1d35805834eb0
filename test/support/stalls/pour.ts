/** Bytes for an attack, as fast as they are taken. */
import { once } from 'node:events'
import type { Socket } from 'node:net'

/** Writes these bytes so many times, each when the last are taken. @returns how many times they were, which is less where the connection was cut. */
export async function pour(socket: Socket, bytes: Buffer, times: number): Promise<number> {
  const cut = new Promise<void>((resolve) => void socket.once('close', resolve)) // `once` would throw at an error
  let taken = 0
  for (; taken < times && socket.writable; taken++)
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => cut), cut])
  return taken
}
