/**
 * The node's end of tunnels to its VMs, to Postgres, another port or a terminal: a request of the node's agent that is upgraded to a
 * plain connection (the caller's end is src/drivers/node/tunnels.ts). Bytes pass as they are, with backpressure both ways.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { connectSshServer } from '#src/drivers/compute/guest/ssh-server.ts'
import { connectTerminal } from '#src/drivers/compute/guest/terminals.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { createDial } from '#src/drivers/compute/postgres-ports.ts'
import { sshPort, tunnelProtocol } from '#src/drivers/node/tunnels.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { isStoredId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { FramedConnection } from '#src/drivers/node/framed-connection.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { log } from '#src/platform/log.ts'
import { joinConnections } from '#src/drivers/joined-connections.ts'
import type { VmUse } from './vms/use.ts'

const portMax = 65_535

/** What tunnels need. */
export type TunnelParts = {
  /** @throws BerthError unauthorized */
  checkToken(authorization: string | undefined): void
  use: Pick<VmUse, 'begin'>
  /** @throws BerthError vm_unreachable */
  findMachine(vmId: string): Machine
}

/** The open tunnels of a node. */
export type Tunnels = {
  /** Cuts all of them: they end with the worker. */
  close(): void
}

/** Takes the upgrades of this server. */
export function serveTunnels(server: Server, { checkToken, use, findMachine }: TunnelParts): Tunnels {
  const toPostgres = createCrowd('The database', limits.tunnelsPerVm, limits.tunnelsPerNode)
  const toPorts = createCrowd('The VM', limits.portTunnelsPerVm, limits.portTunnelsPerNode)
  const toTerminals = createCrowd('The VM', terminalLimits.connectionsPerVm, terminalLimits.connectionsPerNode)
  const toCallers = createCrowd('The VM', tunnelLimits.connectionsPerVm, tunnelLimits.connectionsPerNode)
  const dial = createDial()
  /** Connects to what is asked for: a terminal, a port, or Postgres. @throws BerthError */
  const open = async (asked: URLSearchParams, machine: Machine, caller: Duplex): Promise<Duplex> => {
    const terminalId = asked.get('terminal')
    if (terminalId !== null) {
      if (!isStoredId(terminalId)) throw new BerthError('invalid_request', 'The node knows no such terminal.')
      toTerminals.enter(machine, caller)
      caller.once('end', () => caller.destroy()) // its client is gone, whatever the guest does with that
      return connectTerminal(machine, terminalId)
    }
    const port = portIn(asked.get('port'), machine)
    if (asked.get('for') === 'caller' && port !== null) {
      toCallers.enter(machine, caller)
      return port === sshPort ? connectSshServer(machine) : machine.connectPort(port)
    }
    ;(port === null ? toPostgres : toPorts).enter(machine, caller)
    return port === null ? dial(machine, caller) : machine.connectPort(port)
  }
  let closing = false
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
      const end = await use.begin(vmId)
      if (caller.closed) return end()
      caller.once('close', end)
      const machine = findMachine(vmId)
      if (head.length > 0) caller.unshift(head)
      lead(caller, await open(searchParams, machine, caller), searchParams.get('for') === 'caller')
    }
    serve().catch((error: unknown) => refuse(caller, error))
  })
  return {
    close() {
      closing = true
      for (const crowd of [toPostgres, toPorts, toTerminals, toCallers])
        for (const caller of crowd.all) caller.destroy()
    },
  }
}

/** Those who have a tunnel of one kind: how many each machine and the node may have. */
type Crowd = {
  all: ReadonlySet<Duplex>
  /** @throws BerthError capacity_unavailable */
  enter(machine: Machine, caller: Duplex): void
}

function createCrowd(whose: string, perVm: number, perNode: number): Crowd {
  const open = new Map<Machine, Set<Duplex>>()
  const all = new Set<Duplex>()
  return {
    all,
    enter(machine, caller) {
      const ofMachine = open.get(machine) ?? new Set()
      if (ofMachine.size >= perVm) throw full(whose)
      if (all.size >= perNode) throw full(`${whose}’s node`)
      open.set(machine, ofMachine.add(caller))
      all.add(caller)
      caller.once('close', () => {
        all.delete(caller)
        if (ofMachine.delete(caller) && ofMachine.size === 0) open.delete(machine)
      })
    },
  }
}

/**
 * The port that is asked for; null for Postgres. Whoever reached another port of a database's VM would be beside its
 * proxy. @throws BerthError
 */
function portIn(given: string | null, { postgresPort }: Machine): number | null {
  if (given === null) return null
  const port = /^[1-9]\d{0,4}$/.test(given) ? Number(given) : NaN
  if (!(port <= portMax)) throw new BerthError('invalid_request', 'The node knows no such port.')
  if (postgresPort !== null) throw new BerthError('vm_unreachable', 'A database runs in this VM: its ports are closed.')
  return port
}

function full(whose: string): BerthError {
  return new BerthError('capacity_unavailable', `${whose} has too many connections. Close some, and try again.`, {
    retryAfterSeconds: 1,
  })
}

/** Says that the machine is connected, and passes bytes until both directions have ended. */
function lead(caller: Duplex, server: Duplex, isFramed: boolean): void {
  server.on('error', () => server.destroy()) // 'close' follows
  if (caller.destroyed) return void server.destroy()
  caller.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${tunnelProtocol}\r\n\r\n`)
  const client = isFramed ? new FramedConnection(caller) : caller
  if (isFramed) client.on('error', () => client.destroy()) // 'close' follows
  joinConnections(client, server)
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
