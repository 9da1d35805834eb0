/** Clients of web sockets that send and never read. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { keepAlive } from '#src/gateway/web-sockets/heartbeats.ts'
import { limits } from '#src/platform/limits.ts'
import { until } from '../../support/until.ts'

let server: Server
let served: WebSocket | undefined
let client: WebSocket
const stopping = new AbortController()
beforeEach(async () => {
  served = undefined
  const sockets = new WebSocketServer({ noServer: true })
  const watch = keepAlive(sockets, stopping.signal)
  server = createServer()
  server.on('upgrade', (request, connection, head) => {
    sockets.handleUpgrade(request, connection, head, (socket) => {
      watch(socket, connection)
      socket.on('message', (data: Buffer) => socket.send(data)) // an answer to each, as an acknowledgement is one
      served = socket
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`) // it listens at one
  await once(client, 'open')
})
afterEach(() => {
  client.terminate()
  server.close()
})

test('a client that sends messages and reads no answer is held, and gets all of them later', async () => {
  client.pause()
  const [count, bytes] = [4096, Buffer.alloc(16_384, 'x')]
  for (let at = 0; at < count; at++) client.send(bytes)
  await until('it is not read any more', () => served?.isPaused === true)
  expect(served?.bufferedAmount).toBeLessThan(limits.streamQueuedBytes * 2)
  expect(client.bufferedAmount).toBeGreaterThan((count * bytes.length) / 4) // the rest waits where it came from
  let answers = 0
  client.on('message', () => answers++)
  client.resume()
  await until('all answers are there', () => answers === count, 30_000)
}, 60_000)
