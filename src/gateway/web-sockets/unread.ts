/** A client that does not read what it is sent is not read either, so that no answers to it gather. */
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { limits } from '#src/platform/limits.ts'

/** Stops reading a socket while more than this waits to be sent to it. @param connection what the socket is made of. */
export function holdUnread(socket: WebSocket, connection: Duplex): void {
  socket.on('message', () => {
    if (socket.bufferedAmount > limits.streamQueuedBytes) socket.pause()
  })
  connection.on('drain', () => {
    if (socket.isPaused) socket.resume()
  })
}
