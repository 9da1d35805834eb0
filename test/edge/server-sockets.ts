/** Connections to a test's Postgres, as the edge has them to a database's server. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'

/** Those to one server. */
export type ServerSockets = {
  connect(): Promise<Duplex>
  /** Those that are open. */
  opened: Set<Socket>
  /** Cuts them. */
  cut(): void
}

/** None at first. @param url of any database of the server, on a Unix socket */
export function serverSockets(url: string): ServerSockets {
  const folder = new URL(url.replace('@/', '@localhost/')).searchParams.get('host') ?? ''
  const opened = new Set<Socket>()
  return {
    opened,
    async connect() {
      const socket = connect(join(folder, '.s.PGSQL.5432'))
      await once(socket, 'connect')
      opened.add(socket)
      socket.once('close', () => opened.delete(socket))
      return socket
    },
    cut() {
      for (const socket of opened) socket.destroy()
    },
  }
}
