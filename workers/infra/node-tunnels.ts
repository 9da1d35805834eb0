/**
 * The node's end of tunnels to the Postgres of its VMs: a request of the node's agent that is upgraded to a plain
 * connection (the caller's end is src/drivers/node/tunnels.ts). Bytes pass as they are, with backpressure both ways.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { createDial, type Dial } from '#src/drivers/compute/postgres-ports.ts'
import { tunnelProtocol } from '#src/drivers/node/tunnels.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { isStoredId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { joinConnections } from './joined-connections.ts'

/** What tunnels need. */
export type TunnelParts = {
  /** @throws BerthError unauthorized */
  checkToken(authorization: string | undefined): void
  /** @throws BerthError vm_unreachable */
  findMachine(vmId: string): Machine
}

/** The open tunnels of a node. */
export type Tunnels = {
  /** Cuts all of them: they end with the worker. */
  close(): void
}

/** Takes the upgrades of this server. */
export function serveTunnels(server: Server, { checkToken, findMachine }: TunnelParts): Tunnels {
  const open = new Map<Machine, Set<Duplex>>()
  const all = new Set<Duplex>()
  const dial = createDial()
  let closing = false
  const count = (machine: Machine, caller: Duplex): void => {
    const ofMachine = open.get(machine) ?? new Set()
    if (ofMachine.size >= limits.tunnelsPerVm) throw full('The database')
    if (all.size >= limits.tunnelsPerNode) throw full('The database’s node')
    open.set(machine, ofMachine.add(caller))
    all.add(caller)
    caller.once('close', () => {
      all.delete(caller)
      if (ofMachine.delete(caller) && ofMachine.size === 0) open.delete(machine)
    })
  }
  server.on('upgrade', (request: IncomingMessage, caller: Duplex, head: Buffer) => {
    caller.on('error', () => caller.destroy()) // 'close' follows
    if (closing) return void caller.destroy() // it is asked again, of the next worker
    const serve = async (): Promise<void> => {
      checkToken(request.headers.authorization)
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node')
      if (pathname !== '/tunnel' || request.headers.upgrade !== tunnelProtocol)
        throw new BerthError('invalid_request', 'The node knows no such upgrade.')
      const vmId = searchParams.get('vm') ?? ''
      if (!isStoredId(vmId)) throw new BerthError('invalid_request', 'The node knows no such VM.')
      const machine = findMachine(vmId)
      count(machine, caller)
      if (head.length > 0) caller.unshift(head)
      await lead(caller, machine, dial)
    }
    serve().catch((error: unknown) => refuse(caller, error))
  })
  return {
    close() {
      closing = true
      for (const caller of all) caller.destroy()
    },
  }
}

function full(whose: string): BerthError {
  return new BerthError('capacity_unavailable', `${whose} has too many connections. Close some, and try again.`, {
    retryAfterSeconds: 1,
  })
}

/** Connects to the machine, says so, and passes bytes until both directions have ended. */
async function lead(caller: Duplex, machine: Machine, dial: Dial): Promise<void> {
  const server = await dial(machine, caller)
  server.on('error', () => server.destroy()) // 'close' follows
  if (caller.destroyed) return void server.destroy()
  caller.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${tunnelProtocol}\r\n\r\n`)
  joinConnections(caller, server)
}

function refuse(caller: Duplex, error: unknown): void {
  if (!(error instanceof BerthError)) log.error({ err: error }, 'the node failed at a tunnel')
  const { code, message, status } = publicError(error)
  const body = JSON.stringify({ code, message })
  caller.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => caller.destroy(),
  )
}
