/** Ports of a guest's loopback address at which its SSH server listens for this node, again after each connection. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Machine } from '#src/drivers/compute/machine.ts'
import type { SshConnection } from '#src/drivers/compute/ssh.ts'

/** While a program of the guest has the port, it is asked for so often. */
const againMs = 5_000

/** The ports of one guest. */
export type GuestPorts = Pick<Machine, 'listen'> & {
  /** The guest has a new connection: it listens there. */
  connected(connection: SshConnection): void
}

/** Makes a guest's ports; none at first. */
export function createGuestPorts(log: Logger, machineUuid: string): GuestPorts {
  const ports = new Map<number, Parameters<Machine['listen']>[1]>()
  let current: SshConnection | undefined

  async function open(connection: SshConnection, port: number): Promise<void> {
    for (let isFirst = true; connection === current; isFirst = false) {
      try {
        return await connection.listen(port, (client) => ports.get(port)?.(client))
      } catch (error) {
        if (isFirst)
          log.warn(
            { machine: machineUuid, port, err: error },
            'a program in a guest has the port of its project’s databases',
          )
      }
      await pause(againMs, undefined, { ref: false })
    }
  }

  return {
    listen(port, onConnection) {
      const isNew = !ports.has(port)
      ports.set(port, onConnection)
      if (isNew && current) void open(current, port)
    },
    connected(connection) {
      current = connection
      void connection.closed.then(() => {
        if (current === connection) current = undefined
      })
      for (const port of ports.keys()) void open(connection, port)
    },
  }
}
