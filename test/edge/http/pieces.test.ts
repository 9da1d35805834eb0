/**
 * Bodies in pieces of one byte, in both directions, as fast as they can be sent: the ingress, in a process of its own, goes on
 * answering the others. What is measured is the processor time of its thread between two turns of its loop, and its work.
 */
import { once } from 'node:events'
import { connect as connectTcp, createServer, type Server, type AddressInfo } from 'node:net'
import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { stallMsMax, startWatched, type WatchedProcess } from '../../support/stalls/watched-process.ts'
import { endHeaders, frame, number32, requestBlock, types } from './http2-frames.ts'

type Ready = { port: number; securePort: number; ca: string }

const triesMax = 3
const neighbourAsks = 60
/** Of the ingress's thread for each answer to the neighbour, attackers' pieces included; undisturbed it is less than one. */
const workMsPerAnswerMax = 50
/** The same beside a target that answers in small chunks: read as fast as they come, they take 28. */
const workMsBesideAnswersMax = 10
const pieces = Buffer.from('1\r\nx\r\n'.repeat(10_000))
const frames = Buffer.concat(Array.from({ length: 5000 }, () => frame(types.data, 0, 1, 'x')))
const windows = Buffer.concat(Array.from({ length: 5000 }, () => frame(types.window, 0, 0, number32(1))))
const servers: Server[] = []
const sockets = new Set<Duplex>()
let ingress: WatchedProcess<Ready>
let ready: Ready

beforeAll(async () => {
  const listen = async (server: Server): Promise<number> => {
    servers.push(server)
    server.on('connection', keep).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const fine = createHttpServer((_request, response) => response.end('fine'))
  const sink = createHttpServer((request, response) => request.resume().once('end', () => response.end()))
  const spout = createServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      pour(socket, pieces)
    })
  })
  const [finePort, sinkPort, spoutPort] = [await listen(fine), await listen(sink), await listen(spout)]
  ingress = await startWatched<Ready>(new URL('./ingress-child.ts', import.meta.url), [
    `fine.test=${finePort}`,
    `sink.test=${sinkPort}`,
    `spout.test=${spoutPort}`,
  ])
  ready = ingress.ready
  for (let time = 0; time < neighbourAsks; time++) await askNeighbour()
  await once(secured('http/1.1'), 'secureConnect') // its certificate is made once
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})
afterAll(async () => {
  for (const server of servers) server.close()
  await ingress?.stop()
})

function keep<Kept extends Duplex>(socket: Kept): Kept {
  sockets.add(socket)
  socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  return socket
}

/** Writes this again and again, as long as anybody takes it. */
function pour(socket: Duplex, bytes: Buffer): void {
  const more = (): void => {
    while (socket.writable && socket.write(bytes));
  }
  socket.on('drain', more)
  more()
}

async function askNeighbour(): Promise<void> {
  const asked = httpRequest({ host: '127.0.0.1', port: ready.port, headers: { host: 'fine.test' }, agent: false })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  await once(answer.resume(), 'end')
}

const secured = (protocol: string): Duplex =>
  keep(
    connectTls({
      host: '127.0.0.1',
      port: ready.securePort,
      servername: 'sink.test',
      ca: ready.ca,
      ALPNProtocols: [protocol],
    }),
  )
const plain = (): Duplex => keep(connectTcp(ready.port, '127.0.0.1'))
const chunkedHead = (host: string): string => `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`

/** One client that does its worst; where it is cut, it comes back. */
const attackers: Readonly<Record<string, () => Duplex>> = {
  'uploads in chunks of one byte': () => upload(plain(), 'sink.test'),
  'uploads of one byte to a host that is not there': () => upload(plain(), 'unknown.test'),
  'uploads in chunks of one byte over TLS': () => upload(secured('http/1.1'), 'sink.test'),
  'DATA frames of one byte': () => {
    const socket = secured('h2').resume()
    const head = requestBlock('sink.test', [[':method', 'POST']])
    socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    socket.write(Buffer.concat([frame(types.settings, 0, 0), frame(types.headers, endHeaders, 1, head)]))
    pour(socket, frames)
    return socket
  },
  'openings of a window by one byte': () => {
    const socket = secured('h2').resume()
    socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    socket.write(frame(types.settings, 0, 0))
    pour(socket, windows)
    return socket
  },
  'answers in chunks of one byte': () => {
    const socket = plain().resume()
    socket.write('GET / HTTP/1.1\r\nHost: spout.test\r\n\r\n')
    return socket
  },
}
function upload(socket: Duplex, host: string): Duplex {
  socket.resume().write(chunkedHead(host))
  pour(socket, pieces)
  return socket
}

test.each([
  ['uploads in chunks of one byte', 8],
  ['uploads in chunks of one byte', 40],
  ['uploads of one byte to a host that is not there', 8],
  ['uploads in chunks of one byte over TLS', 8],
  ['DATA frames of one byte', 8],
  ['openings of a window by one byte', 8],
  ['answers in chunks of one byte', 1],
  ['answers in chunks of one byte', 8],
])(
  '%s, from %i clients, hold nobody else up',
  async (name, clients) => {
    let isOver = false
    const attack = (): void => {
      if (!isOver) attackers[name]?.().once('close', attack)
    }
    for (let client = 0; client < clients; client++) attack()
    // What holds the thread does so each time; code that is cold, or memory that is tidied up, does not.
    let [longestMs, workMsPerAnswer] = [Infinity, Infinity]
    const workMsMax = name.startsWith('answers') ? workMsBesideAnswersMax : workMsPerAnswerMax
    const isHeld = (): boolean => longestMs > stallMsMax || workMsPerAnswer > workMsMax
    for (let tries = 0; tries < triesMax && isHeld(); tries++) {
      const before = await ingress.measure()
      for (let time = 0; time < neighbourAsks; time++) await askNeighbour()
      const after = await ingress.measure()
      longestMs = Math.min(longestMs, after.longestMs)
      workMsPerAnswer = Math.min(workMsPerAnswer, (after.workedMs - before.workedMs) / neighbourAsks)
    }
    isOver = true
    expect(longestMs).toBeLessThanOrEqual(stallMsMax)
    expect(workMsPerAnswer).toBeLessThanOrEqual(workMsMax)
  },
  60_000,
)

/** Has all of them send this, and waits until each has an answer. */
async function sendAll(crowd: readonly Duplex[], bytes: string): Promise<{ longestMs: number; workedMs: number }> {
  const before = await ingress.measure()
  for (const socket of crowd) socket.write(bytes)
  await Promise.all(crowd.map((socket) => once(socket, 'data')))
  const after = await ingress.measure()
  return { longestMs: after.longestMs, workedMs: after.workedMs - before.workedMs }
}
const withLength = 'POST / HTTP/1.1\r\nHost: sink.test\r\nContent-Length: 5\r\n\r\nhello'

test('many uploads in chunks at once hold nobody, and cost about what others do', async () => {
  const [clients, shareMax] = [900, 3]
  const crowd: Duplex[] = []
  while (crowd.length < clients) {
    // Of connections without a request yet an address has fewer.
    const more = Array.from({ length: 100 }, plain)
    await sendAll(more, withLength)
    crowd.push(...more)
  }
  let [longestMs, share] = [Infinity, Infinity]
  for (let tries = 0; tries < triesMax && (longestMs > stallMsMax || share > shareMax); tries++) {
    const usual = await sendAll(crowd, withLength)
    const chunked = await sendAll(crowd, `${chunkedHead('sink.test')}5\r\nhello\r\n0\r\n\r\n`)
    longestMs = Math.min(longestMs, chunked.longestMs)
    share = Math.min(share, chunked.workedMs / usual.workedMs)
  }
  expect(longestMs).toBeLessThanOrEqual(stallMsMax)
  expect(share).toBeLessThanOrEqual(shareMax)
}, 60_000)

test('uploads in chunks of one byte that are read together, each behind another one, hold nobody', async () => {
  const clients = 20
  let longestMs = Infinity
  for (let tries = 0; tries < triesMax && longestMs > stallMsMax; tries++) {
    const crowd = Array.from({ length: clients }, plain)
    await sendAll(crowd, withLength)
    longestMs = (await sendAll(crowd, `${chunkedHead('sink.test')}${String(pieces)}0\r\n\r\n`)).longestMs
  }
  expect(longestMs).toBeLessThanOrEqual(stallMsMax)
}, 60_000)
