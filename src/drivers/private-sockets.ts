/** Sockets in the run folder at which a process of this host listens for the others: only their user may connect. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { dirname } from 'node:path'

/** Listens there, in place of a process that has ended. @throws Error when the path is too long */
export function listenPrivately(server: Server, path: string): Promise<void> {
  return atPrivateSocket(
    path,
    () => new Promise<void>((resolve, reject) => void server.once('error', reject).listen(path, resolve)),
  )
}

/** The same for a server that is told to listen in a way of its own. */
export async function atPrivateSocket(path: string, listen: () => Promise<unknown>): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o711 }) // where `npm start` has not made it
  rmSync(path, { force: true })
  await listen()
  chmodSync(path, 0o600)
}
