/**
 * The caller's end of a tunnel to a VM, to its Postgres or another port: an HTTP request on the node's socket that becomes a
 * plain connection. The worker's end is workers/infra/node-tunnels.ts.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { createWaiting, refusalOf } from './retries.ts'

/** The protocol that the request upgrades to. */
export const tunnelProtocol = 'berth-tunnel'

/** Where a tunnel leads: to the Postgres of a VM that a database runs in, or to this port of any other VM. */
export type TunnelEnd = { vmId: string; port?: number }
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
async function openOnce(agentUrl: string, token: string, { vmId, port }: TunnelEnd): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const request = httpRequest({
    path: `/tunnel?vm=${encodeURIComponent(vmId)}${port === undefined ? '' : `&port=${port}`}`,
    headers: { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: tunnelProtocol, host: 'node' },
    createConnection: () => dial(agentUrl),
    timeout: limits.tunnelOpenSeconds * 1000,
  })
  request.once('upgrade', (_response, socket, head) => {
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    resolve(socket)
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

function dial(agentUrl: string): Socket {
  const socketPath = agentUrl.startsWith('unix:') ? agentUrl.slice('unix:'.length) : null
  if (socketPath !== null) return connect({ path: socketPath })
  const { hostname, port } = new URL(agentUrl)
  return connect({ host: hostname, port: Number(port), noDelay: true })
}

async function refused(response: IncomingMessage): Promise<Error> {
  let text = ''
  for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>)
    if ((text += piece).length > refusalBytesMax) break
  return refusalOf(text)
}
