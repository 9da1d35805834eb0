/**
 * Sockets that a QEMU listens on and only we can reach: we bind them in a private folder and pass the descriptors. A QEMU
 * that bound them itself could put another machine's socket in their place, and we would control the wrong machine.
 */
import { chmodSync, renameSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import assert from 'node:assert'

/** A bound socket; `close` is our end of it, when the program has its own. */
export type BoundSocket = { descriptor: number; close(): void }

/** Binds a socket at this path, in place of one that is there. @throws Error when the path is too long or its folder missing. */
export async function bindSocket(path: string): Promise<BoundSocket> {
  const server = createServer((connection) => connection.destroy()) // only we connect, and not before QEMU listens
  const unfinished = path.slice(0, -2) // closing a server removes the name that it was bound to
  server.listen(unfinished)
  await once(server, 'listening')
  chmodSync(unfinished, 0o600)
  renameSync(unfinished, path)
  // Node hands a server to another Node only; its descriptor is what any other program takes.
  const { _handle: handle } = server as unknown as { _handle?: { fd?: number } }
  assert(handle?.fd !== undefined && handle.fd >= 0, 'a server that listens has a descriptor')
  return { descriptor: handle.fd, close: () => server.close() }
}
