/**
 * The way of a VM's clients to the databases of its project: a socket of this host at which the edge process listens. A
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

/** Where a connection comes from; stored ids. */
export type FromProject = { projectId: string; vmId: string }

/** The first line is no longer. Unit: bytes. */
export const firstLineBytesMax = 256

/** Connects. @throws Error when the edge process does not listen */
export async function connectToProjectDoor(runDir: string, { projectId, vmId }: FromProject): Promise<Socket> {
  const socket = connect({ path: projectDoorPlace(runDir), allowHalfOpen: true })
  await once(socket, 'connect')
  socket.write(`${projectId} ${vmId}\n`)
  return socket
}

/** Reads the first line, without its end; null for any other text. */
export function readFirstLine(line: string): FromProject | null {
  const [projectId = '', vmId = '', ...more] = line.split(' ')
  return isStoredId(projectId) && isStoredId(vmId) && more.length === 0 ? { projectId, vmId } : null
}
