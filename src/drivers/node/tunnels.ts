/**
 * The caller's end of a tunnel to a VM, to its Postgres, another port or a terminal: an HTTP request on the node's socket that becomes a
 * plain connection. The worker's end is workers/infra/node-tunnels.ts.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { FramedConnection } from './framed-connection.ts'
import { createWaiting, refusalOf } from './retries.ts'

/** The protocol that the request upgrades to. */
export const tunnelProtocol = 'berth-tunnel'

/**
 * Where a tunnel leads: to the Postgres of a VM that a database runs in, or to this port or terminal of any other VM. With
 * `isForCaller` it is a caller's own, and not the ingress's: it is counted beside those, 22 is the SSH server of `user`, and each
 * direction may end by itself.
 */
export type TunnelEnd = { vmId: string; port?: number; terminalId?: string; isForCaller?: boolean }
/** The port of a caller's tunnel that leads to the SSH server of `user`. */
export const sshPort = 22
const refusalBytesMax = 64 * 1024

/** Opens a tunnel. While the node's worker restarts, it waits for the next one. @throws BerthError as NodeClient.tunnel. */
export async function openTunnel(agentUrl: string, token: string, end: TunnelEnd): Promise<Duplex> {
  const waiting = createWaiting()
  for (;;) {
    try {
      return await openOnce(agentUrl, token, end)
    } catch (error) {
      await waiting.after(error)
    }
  }
}

/** @throws BerthError as the node refused; the socket's own error when the node was not reached. */
async function openOnce(agentUrl: string, token: string, end: TunnelEnd): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const request = httpRequest({
    path: `/tunnel?${queryOf(end).toString()}`,
    headers: { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: tunnelProtocol, host: 'node' },
    createConnection: () => dial(agentUrl, end.isForCaller ?? false),
    timeout: limits.tunnelOpenSeconds * 1000,
  })
  request.once('upgrade', (_response, socket, head) => {
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    if (!end.isForCaller) return resolve(socket)
    socket.on('error', () => socket.destroy()) // 'close' follows
    resolve(new FramedConnection(socket))
  })
  request.once('response', (response) => {
    refused(response).then(reject, reject)
  })
  request.once('timeout', () =>
    request.destroy(new BerthError('vm_unreachable', 'The VM’s node did not open a connection to it in time.')),
  )
  request.once('error', reject)
  request.end()
  return promise
}

function queryOf({ vmId, port, terminalId, isForCaller }: TunnelEnd): URLSearchParams {
  return new URLSearchParams({
    vm: vmId,
    ...(port === undefined ? {} : { port: String(port) }),
    ...(terminalId === undefined ? {} : { terminal: terminalId }),
    ...(isForCaller ? { for: 'caller' } : {}),
  })
}

function dial(agentUrl: string, allowHalfOpen: boolean): Socket {
  const socketPath = agentUrl.startsWith('unix:') ? agentUrl.slice('unix:'.length) : null
  if (socketPath !== null) return connect({ path: socketPath, allowHalfOpen })
  const { hostname, port } = new URL(agentUrl)
  return connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen })
}

async function refused(response: IncomingMessage): Promise<Error> {
  let text = ''
  for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>)
    if ((text += piece).length > refusalBytesMax) break
  return refusalOf(text)
}
