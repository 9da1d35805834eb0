/** Web sockets through the ingress: their beginning, what is said on them, how many there may be, and how they end. */
import { once } from 'node:events'
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { openWorld, textOf, type World } from './ingress-world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld({ limits: { webSocketsPerTarget: 3, answerSeconds: 1, webSocketIdleSeconds: 2 } })
})
afterEach(() => world.close())

const key = 'dGhlIHNhbXBsZSBub25jZQ=='
const asking = (host: string, more = ''): string =>
  `GET /socket?x=1 HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n${more}\r\n`

/** A target that takes web sockets and says everything back. */
async function serveEcho(host: string): Promise<{ asked: string[]; sockets: Duplex[] }> {
  const kept = { asked: [] as string[], sockets: [] as Duplex[] }
  await world.serveRaw(host, (socket) => {
    kept.sockets.push(socket)
    socket.once('data', (head: Buffer) => {
      kept.asked.push(String(head))
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\nhello`,
      )
      socket.pipe(socket)
    })
  })
  return kept
}

async function begun(socket: Socket, host = 'echo.test'): Promise<string> {
  socket.write(asking(host))
  const [piece] = (await once(socket, 'data')) as [Buffer]
  return String(piece)
}

test('one begins with the target’s answer, and passes bytes both ways until either end closes', async () => {
  const { asked, sockets } = await serveEcho('echo.test')
  const socket = world.dial()
  let text = await begun(socket)
  socket.on('data', (piece) => (text += String(piece)))
  await until('the target has spoken', () => text.endsWith('\r\n\r\nhello'))
  expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
  expect(text).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n')
  expect(asked[0]).toMatch(/^GET \/socket\?x=1 HTTP\/1.1\r\nHost: echo.test\r\n/)
  expect(asked[0]).toContain('Connection: Upgrade\r\nUpgrade: websocket\r\n')
  expect(asked[0]).toContain('X-Forwarded-For: 127.0.0.1\r\n')
  socket.write('ping')
  await until('it is said back', () => text.endsWith('helloping'))
  const closed = once(sockets[0]!.resume(), 'close') // one was opened
  socket.end()
  await closed
  await until('it counts no more', () => world.ingress.counts().webSockets === 0)
})

test('one begins by HTTPS too', async () => {
  await serveEcho('echo.test')
  const socket = await world.dialTls('echo.test', { ALPNProtocols: ['http/1.1'] })
  expect(await begun(socket)).toMatch(/^HTTP\/1\.1 101 /)
})

test('bytes that a client sent before the answer arrive', async () => {
  await serveEcho('echo.test')
  const socket = world.dial()
  let text = ''
  socket.on('data', (piece) => (text += String(piece)))
  socket.write(`${asking('echo.test')}early`)
  await until('they are said back', () => text.endsWith('helloearly'))
})

test('an ordinary answer of the target is passed on', async () => {
  await world.serve('no.test', (_, response) => void response.writeHead(403).end('no sockets'))
  const socket = world.dial()
  socket.write(asking('no.test'))
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*no sockets/)
})

test.each([
  ['garbage', 'garbage\r\n\r\n', 502],
  ['nothing', '', 502],
])('a target that answers %s is said to be failing', async (_, text, status) => {
  await world.serveRaw('bad.test', (socket) => void socket.once('data', () => socket.end(text)))
  const socket = world.dial()
  socket.write(asking('bad.test'))
  expect(await textOf(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a target that never answers is given up', async () => {
  await world.serveRaw('never.test', (socket) => void socket.resume())
  const socket = world.dial()
  socket.write(asking('never.test'))
  expect(await textOf(socket)).toMatch(/^HTTP\/1.1 502 /)
})

test.each([
  ['an unknown host', asking('unknown.test'), 404],
  ['two hosts', asking('echo.test', 'Host: other.test\r\n'), 400],
])('for %s there is none', async (_, text, status) => {
  await serveEcho('echo.test')
  const socket = world.dial()
  socket.write(text)
  expect(await textOf(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a target has so many, and one that ends makes room', async () => {
  await serveEcho('echo.test')
  const open = Array.from({ length: 3 }, () => world.dial())
  for (const socket of open) expect(await begun(socket)).toMatch(/ 101 /)
  const refused = world.dial()
  refused.write(asking('echo.test'))
  expect(await textOf(refused)).toMatch(/^HTTP\/1.1 503 /)
  open[0]?.destroy()
  await until('one is free', () => world.ingress.counts().webSockets === 2)
  expect(await begun(world.dial())).toMatch(/ 101 /)
})

test('one on which nothing is said is cut, and so are those of a route that is gone', async () => {
  await serveEcho('echo.test')
  const silent = world.dial()
  await begun(silent)
  await textOf(silent)
  const other = world.dial()
  await begun(other)
  const cut = textOf(other)
  world.routes.replace([])
  await cut
})
