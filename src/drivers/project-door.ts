/**
 * The way of a VM's clients to the databases of its project, or of the function that runs in it: a socket of this host at which the edge process listens. A
 * connection begins with a line that says where it comes from; what follows is what the client says.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { isStoredId } from '#src/platform/ids.ts'

/** Where the edge process listens. */
export function projectDoorPlace(runDir: string): string {
  return join(runDir, 'projects.sock')
}

/** What a VM reaches databases through: a project or a function, by its stored id. It has no other databases. */
export type Network = `${'project' | 'function'}:${string}`

/** Where a connection comes from; the VM by its stored id. */
export type FromProject = { network: Network; vmId: string }

/** The first line is no longer. Unit: bytes. */
export const firstLineBytesMax = 256

/** Connects. @throws Error when the edge process does not listen */
export async function connectToProjectDoor(runDir: string, { network, vmId }: FromProject): Promise<Socket> {
  const socket = connect({ path: projectDoorPlace(runDir), allowHalfOpen: true })
  await once(socket, 'connect')
  socket.write(`${network} ${vmId}\n`)
  return socket
}

/** Reads the first line, without its end; null for any other text. */
export function readFirstLine(line: string): FromProject | null {
  const [network = '', vmId = '', ...more] = line.split(' ')
  const [kind, id = '', ...rest] = network.split(':')
  if ((kind !== 'project' && kind !== 'function') || rest.length > 0 || more.length > 0) return null
  return isStoredId(id) && isStoredId(vmId) ? { network: `${kind}:${id}`, vmId } : null
}
