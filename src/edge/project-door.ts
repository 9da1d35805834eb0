/** Takes the clients that come from VMs, through the network of their project or function: they find its databases only. */
import { createServer, type Socket } from 'node:net'
import { listenPrivately } from '#src/drivers/private-sockets.ts'
import { firstLineBytesMax, readFirstLine, type FromProject } from '#src/drivers/project-door.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { PostgresProxy } from './postgres/proxy.ts'

/** What the door needs. */
export type ProjectDoorParts = { proxy: Pick<PostgresProxy, 'receive'>; socketPath: string }

/** The open door. */
export type ProjectDoor = {
  /** Takes nobody any more. Those who are in are the proxy's. */
  close(): void
}

const lineEnd = 0x0a

/** Opens it. */
export async function openProjectDoor({ proxy, socketPath }: ProjectDoorParts): Promise<ProjectDoor> {
  const server = createServer((socket) => {
    socket.on('error', (error) => log.debug({ err: error }, 'a connection of a project was cut'))
    readFrom(socket)
      .then((from) => {
        if (!from) return void socket.destroy()
        const { network, vmId } = from
        return proxy.receive(socket, {
          network,
          address: `VM ${vmId}`,
          clientsMax: limits.projectConnectionsPerVm,
        })
      })
      .catch((error: unknown) => {
        log.error({ err: error }, 'a connection of a project could not be taken')
        socket.destroy()
      })
  })
  await listenPrivately(server, socketPath)
  return { close: () => void server.close() }
}

/** Reads the first line, and leaves what follows; null when there is none in time. */
function readFrom(socket: Socket): Promise<FromProject | null> {
  let bytes: Buffer = Buffer.alloc(0)
  const { promise, resolve } = Promise.withResolvers<FromProject | null>()
  const late = setTimeout(() => settle(null), limits.postgresLoginSeconds * 1000)
  const leave = (): void => settle(null)
  const settle = (from: FromProject | null): void => {
    clearTimeout(late)
    socket.off('readable', hear).off('close', leave)
    resolve(from)
  }
  const hear = (): void => {
    const chunk = socket.read() as Buffer | null // a socket without an encoding yields buffers
    bytes = Buffer.concat([bytes, chunk ?? Buffer.alloc(0)])
    const end = bytes.indexOf(lineEnd)
    if (end < 0) return bytes.length > firstLineBytesMax ? settle(null) : undefined
    if (end + 1 < bytes.length) socket.unshift(bytes.subarray(end + 1))
    settle(readFirstLine(bytes.toString('latin1', 0, end)))
  }
  socket.on('readable', hear).on('close', leave)
  return promise
}
