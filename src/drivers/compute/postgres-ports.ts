/**
 * Connections to the Postgres of machines. QEMU lets two connections wait for it; the kernel drops the first packet of a
 * third, and sends it again after one second, then two, four and eight. So the connections to one machine are opened one
 * after the other, and one that is not there at once is given up and tried again.
 */
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Machine } from './machine.ts'

/** On loopback a connection takes less than a millisecond, unless its first packet was dropped. */
const tryMs = 30
const againMs = 5

/**
 * Connects to a machine's Postgres, after those who asked before.
 * @param caller nothing is connected for one that is gone.
 * @throws BerthError vm_unreachable
 */
export type Dial = (machine: Machine, caller: Duplex) => Promise<Socket>

/** Makes a dial, which knows whom each machine's callers wait for. */
export function createDial(): Dial {
  const last = new WeakMap<Machine, Promise<unknown>>()
  return (machine, caller) => {
    const untilMs = performance.now() + limits.tunnelOpenSeconds * 1000
    const turn = (last.get(machine) ?? Promise.resolve()).then(() => dialOne(machine, caller, untilMs))
    last.set(
      machine,
      turn.catch(() => undefined), // the caller gets the error
    )
    return turn
  }
}

async function dialOne({ address, postgresPort }: Machine, caller: Duplex, untilMs: number): Promise<Socket> {
  if (postgresPort === null) throw new BerthError('vm_unreachable', 'This VM runs no Postgres.')
  while (performance.now() < untilMs && !caller.destroyed) {
    try {
      const socket = await connectOnce(address, postgresPort)
      if (socket) return socket
    } catch (error) {
      log.debug({ err: error }, 'a machine’s port could not be reached')
      break
    }
    await pause(againMs)
  }
  throw new BerthError('vm_unreachable', 'The VM does not answer right now. Try again in a few seconds.', {
    retryAfterSeconds: 3,
  })
}

/** A connection; undefined when it was not there at once. @throws the socket's error. */
async function connectOnce(host: string, port: number): Promise<Socket | undefined> {
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
  const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>()
  const late = setTimeout(() => {
    socket.destroy()
    resolve(undefined)
  }, tryMs)
  socket.once('error', reject).once('connect', () => {
    socket.off('error', reject)
    resolve(socket)
  })
  try {
    return await promise
  } finally {
    clearTimeout(late)
  }
}
