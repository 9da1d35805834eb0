/**
 * Limits on connections to the web process: how many from one address and in total, and clients that do not read their
 * responses are cut off. So no client can use up the sockets or the memory that others need.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { neighbourhood } from '#src/drivers/addresses.ts'
import type { Config } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'
import { plainAddress, type Proxies } from '#src/platform/http/proxies.ts'
import { connectionsRefused } from '#src/platform/metrics.ts'

/** A reverse proxy and programs on this host connect from loopback, all from one address. */
const loopbackTimes = 8

/** Watches the app's connections from their first moment. */
export function watchConnections(
  app: FastifyInstance,
  { connectionsPerAddress, connectionsMax }: Pick<Config, 'connectionsPerAddress' | 'connectionsMax'>,
  proxies: Proxies,
): void {
  const { server } = app
  const open = new Map<string, number>()
  let total = 0
  const admit = (socket: Socket): void => {
    const address = plainAddress(socket.remoteAddress ?? '')
    const whose = neighbourhood(address)
    const count = open.get(whose) ?? 0
    const isLoopback = whose === '::1' || whose.startsWith('127.')
    const most = isLoopback ? connectionsPerAddress * loopbackTimes : connectionsPerAddress
    if ((count >= most && !proxies.includes(address)) || total >= connectionsMax) return refuse(socket)
    open.set(whose, count + 1)
    total++
    socket.once('close', () => {
      total--
      const left = (open.get(whose) ?? 1) - 1
      if (left > 0) open.set(whose, left)
      else open.delete(whose)
    })
  }
  // before Node's own listener, which would start to read requests
  ;(server as Server).prependListener('connection', admit)
  cutStalled(app)
}

const tooMany = JSON.stringify({
  error: 'service_unavailable',
  message: 'Too many connections are open. Close some, or reuse them for several requests, and try again.',
})
const refusal = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(tooMany)}\r\nretry-after: 1\r\nconnection: close\r\n\r\n${tooMany}`

function refuse(socket: Socket): void {
  connectionsRefused.inc()
  socket.on('error', () => {
    /* the client has disconnected */
  })
  socket.end(refusal)
  socket.destroySoon()
}

/**
 * Cuts a client that does not read its response. Node reports a connection that was silent both ways; while bytes wait to
 * be sent, that is a stalled reader. A stream with nothing to send, or a response that is still being computed, is left
 * alone; Node itself ends connections without a request.
 * A connection that pipelines more than a few requests is cut too, because each response takes memory.
 */
function cutStalled(app: FastifyInstance): void {
  const unanswered = new WeakMap<Socket, number>()
  app.server.setTimeout((limits.stalledSeconds * 1000) / 2) // the first timeout records what was sent so far, the second finds that nothing was sent since
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    const count = (unanswered.get(socket) ?? 0) + 1
    if (count > limits.pipelinedRequests) return void socket.destroy()
    unanswered.set(socket, count)
    reply.raw
      .on('timeout', cutIfWaiting)
      .on('close', () => void unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    done()
  })
}

function cutIfWaiting(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy()
}
