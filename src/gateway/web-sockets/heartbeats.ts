/**
 * Web sockets whose clients are gone without a word are found by pings, those of a process that stops are closed, and those that
 * are not read are not read either.
 */
import type { Duplex } from 'node:stream'
import type { WebSocket, WebSocketServer } from 'ws'
import { holdUnread } from './unread.ts'

const pingMs = 10_000
const goingAway = 1001

/** Cuts the sockets that did not answer the last ping, and closes all with 1001 when `stopping` fires. @returns what takes a new one. */
export function keepAlive(
  sockets: WebSocketServer,
  stopping: AbortSignal,
): (socket: WebSocket, connection: Duplex) => void {
  const alive = new WeakSet<WebSocket>()
  const beat = setInterval(() => {
    for (const socket of sockets.clients) {
      if (!alive.delete(socket)) socket.terminate()
      else socket.ping()
    }
  }, pingMs)
  beat.unref()
  stopping.addEventListener('abort', () => {
    clearInterval(beat)
    for (const socket of sockets.clients) socket.close(goingAway, 'Berth is stopping; reconnect soon.')
  })
  return (socket, connection) => {
    holdUnread(socket, connection)
    alive.add(socket)
    socket.on('pong', () => alive.add(socket))
  }
}
