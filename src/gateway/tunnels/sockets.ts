/**
 * /tunnel: the web socket of tunnels, protocol berth.tunnel.v1 (docs/reference/tunnels.md). A ticket is the only credential: no
 * header, cookie or query counts.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { WebSocketServer, type WebSocket } from 'ws'
import { countRefusedCredential } from '#schema/context.ts'
import { isFromOurPage } from '#src/identity/browser-cookies.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import type { Proxies } from '#src/platform/http/proxies.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { openTunnel } from '#src/resources/infra/tunnels/opening.ts'
import type { Tunnel, TunnelClient } from '#src/resources/infra/tunnels/tunnel.ts'
import { closeSaying, refuseUpgrade } from '../web-sockets/closing.ts'
import { keepAlive } from '../web-sockets/heartbeats.ts'
import { readMessage, type TunnelAnswer } from './messages.ts'

/** The path of the socket. */
export const tunnelPath = '/tunnel'
/** The protocol that a client must offer. */
export const tunnelProtocol = 'berth.tunnel.v1'

const normal = 1000
const ourFault = 1011
const tryAgainLater = 1013
const nothingListens = 4502
/** An error of a client closes with this and its HTTP status: 4401, 4404. */
const clientError = 4000

/** What the sockets need. */
export type TunnelSocketParts = { services: Services; proxies: Proxies; stopping: AbortSignal }

/** Adds the web socket. */
export function serveTunnels(app: FastifyInstance, { services, proxies, stopping }: TunnelSocketParts): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: tunnelLimits.messageBytes,
    handleProtocols: () => tunnelProtocol,
  })
  const watch = keepAlive(sockets, stopping)
  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    if (request.url?.split('?')[0] !== tunnelPath) return // ../sockets.ts takes or refuses it
    const offered = request.headers['sec-websocket-protocol']?.split(',').map((one) => one.trim())
    if (!offered?.includes(tunnelProtocol)) return refuseUpgrade(connection, tunnelProtocol)
    sockets.handleUpgrade(request, connection, head, (socket) => {
      watch(socket, connection)
      talk(services, socket, request, proxies.clientOf(request))
    })
  })
}

/** One socket, from its first message on. */
function talk(services: Services, socket: WebSocket, request: IncomingMessage, address: string): void {
  let tunnel: Tunnel | null = null
  let isOpening = false
  const lose = (error: unknown): void => {
    fail(socket, error)
    tunnel?.leave() // its client may take its time to close
  }
  const waiting = setTimeout(
    () => fail(socket, new BerthError('invalid_request', 'Send the message open first, with a ticket.')),
    tunnelLimits.openSeconds * 1000,
  )
  const open = async (ticket: string): Promise<void> => {
    const origin = isFromOurPage(request.headers, services.config)
    const opened = await openTunnel(services, { ticket, isFromOurPage: origin }, clientAt(socket)).catch(
      async (error: unknown) => {
        if (error instanceof BerthError && error.status === 401) await countRefusedCredential(services.limiter, address)
        throw error
      },
    )
    tunnel = opened
    if (socket.readyState !== socket.OPEN) opened.leave()
  }
  const take = (data: Buffer, isBinary: boolean): void => {
    if (tunnel) return obey(tunnel, data, isBinary)
    if (isOpening) throw new BerthError('invalid_request', 'Wait for the message opened.')
    const first = isBinary ? null : readMessage(data)
    if (first?.type !== 'open') throw new BerthError('invalid_request', 'Send the message open first, with a ticket.')
    isOpening = true
    clearTimeout(waiting)
    open(first.ticket).catch((error: unknown) => fail(socket, error))
  }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    try {
      if (socket.readyState === socket.OPEN) take(data, isBinary)
    } catch (error) {
      lose(error)
    }
  })
  socket.on('error', (error) => log.debug({ reason: error.message }, 'the socket of a tunnel broke')) // 'close' follows
  socket.once('close', () => {
    clearTimeout(waiting)
    tunnel?.leave()
  })
}

/** @throws BerthError invalid_request, rate_limited. */
function obey(tunnel: Tunnel, data: Buffer, isBinary: boolean): void {
  if (isBinary) return tunnel.send(data)
  const message = readMessage(data)
  if (message.type === 'ack') return tunnel.acknowledge(message.offset)
  if (message.type === 'end') return tunnel.end()
  throw new BerthError('invalid_request', 'This socket has a tunnel already. Open another one.')
}

/** The client behind a socket. What it is sent is bounded by what it acknowledges. */
function clientAt(socket: WebSocket): TunnelClient {
  return {
    opened: () => say(socket, { type: 'opened' }),
    output(bytes) {
      if (socket.readyState === socket.OPEN) socket.send(bytes, { binary: true })
    },
    acknowledged: (offset) => say(socket, { type: 'ack', offset }),
    ended: () => say(socket, { type: 'end' }),
    over: () => socket.close(normal),
    failed: (error) => fail(socket, error),
  }
}

function say(socket: WebSocket, answer: TunnelAnswer): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(answer))
}

/** Says why it is over, and closes. */
function fail(socket: WebSocket, error: unknown): void {
  if (!(error instanceof BerthError)) log.error({ err: error }, 'a tunnel failed')
  const { code, status, message } = publicError(error)
  say(socket, { type: 'error', code, message })
  closeSaying(socket, closingCode(code, status), message)
}

function closingCode(code: string, status: number): number {
  if (status < 500) return clientError + status
  if (code === 'upstream_error') return nothingListens
  return status === 500 ? ourFault : tryAgainLater
}
