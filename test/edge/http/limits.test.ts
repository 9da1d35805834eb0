/** Clients that are slow, many, silent or wild, and targets that are slow: what they take, and that others do not notice. */
import { once } from 'node:events'
import { request as httpRequest, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { IngressOptions } from '#src/edge/http/ingress.ts'
import { newUuid } from '#src/platform/ids.ts'
import { until } from '../../support/until.ts'
import { ask, openWorld, textOf, type World } from './ingress-world.ts'

let world: World
afterEach(() => world.close())

/** A world with a target that answers at once. */
async function open(limits: IngressOptions['limits'], more: Partial<IngressOptions> = {}): Promise<void> {
  world = await openWorld({ limits: { ...limits }, ...more })
  await world.serve('fast.test', (request, response) => {
    request.resume()
    response.end('fine')
  })
}
const isServed = async (): Promise<void> => expect((await ask(world, 'fast.test')).text).toBe('fine')
const head = (host: string, more = ''): string => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`

test('a thousand clients that are slow with their headers are cut, and others are served meanwhile', async () => {
  await open({ headSeconds: 2, unprovenPerAddress: 2000, connectionsPerAddress: 2000 })
  const slow = Array.from({ length: 1000 }, () => world.dial())
  const cut = Promise.all(slow.map(textOf))
  await Promise.all(slow.map((socket) => once(socket, 'connect')))
  for (const socket of slow) socket.write('GET / HTTP/1.1\r\nHost: fast.test\r\nX: ')
  await isServed()
  const answers = await cut
  expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 408 ')).length).toBe(slow.length)
  for (const socket of slow) socket.destroy()
  await isServed()
})

test('an address has so many connections without a request, and the oldest make room for new ones', async () => {
  await open({ unprovenPerAddress: 4 })
  const silent = Array.from({ length: 4 }, () => world.dial())
  await until('all are there', () => world.ingress.counts().connections === 4)
  const cut = textOf(silent[0]!) // there are four
  await isServed()
  await cut
  expect(silent.slice(1).every(({ readableEnded }) => !readableEnded)).toBe(true)
})

test('an address has so many connections; those that rest make room, and those with a request do not', async () => {
  await open({ connectionsPerAddress: 3 })
  let underWay = 0
  await world.serve('hangs.test', () => void underWay++)
  const busy = [world.dial(), world.dial()]
  for (const socket of busy) socket.write(head('hangs.test'))
  await until('they are under way', () => underWay === 2)
  const resting = world.dial()
  resting.write(head('fast.test'))
  await once(resting, 'data')
  const cut = textOf(resting)
  await isServed()
  await cut
  busy.push(world.dial())
  busy[2]?.write(head('hangs.test'))
  await until('it is under way', () => underWay === 3)
  await expect(ask(world, 'fast.test')).rejects.toThrow() // nobody rests
})

test('a body that comes too slowly ends with 408, and at the target too', async () => {
  await open({ uploadWindowSeconds: 0.2, lingerSeconds: 0.1 })
  const ended = Promise.withResolvers<void>()
  await world.serve('upload.test', (request) => {
    request.on('error', () => undefined).on('close', () => ended.resolve())
    request.resume()
  })
  const slow = Array.from({ length: 50 }, () => world.dial())
  for (const socket of slow) socket.write('POST / HTTP/1.1\r\nHost: upload.test\r\nContent-Length: 1000\r\n\r\nx')
  await isServed()
  for (const answer of await Promise.all(slow.map(textOf))) expect(answer).toMatch(/^HTTP\/1.1 408 /)
  await ended.promise
})

test('an answer that nobody reads is cut, and its target let go', async () => {
  await open({ stalledSeconds: 0.5 })
  const let_go = Promise.withResolvers<void>()
  await world.serve('large.test', (_, response) => {
    response.on('close', () => let_go.resolve())
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      response.once('drain', write)
    }
    write()
  })
  const socket = world.dial()
  socket.pause()
  socket.write(head('large.test'))
  await let_go.promise
  await until('nothing is left of it', () => world.ingress.counts().targetConnections === 0)
})

test('more than so many requests that are sent before their answers end the connection', async () => {
  await open({ pipelinedRequests: 4 })
  await world.serve('hangs.test', () => undefined)
  const socket = world.dial()
  socket.write(head('hangs.test').repeat(5))
  expect(await textOf(socket)).toBe('')
})

test('requests that are sent before the answers get them in their order', async () => {
  await open({})
  const held: (() => void)[] = []
  await world.serve('order.test', (request, response) => void held.push(() => response.end(`${request.url};`)))
  const socket = world.dial()
  for (const path of ['/1', '/2', '/3']) socket.write(`GET ${path} HTTP/1.1\r\nHost: order.test\r\n\r\n`)
  await until('all have come', () => held.length === 3)
  for (const answer of held.toReversed()) answer()
  let text = ''
  socket.on('data', (piece) => (text += String(piece)))
  await until('all are answered', () => text.includes('/3;'))
  expect(text.match(/\/\d;/g)).toEqual(['/1;', '/2;', '/3;'])
})

test('an organization has so many requests unanswered, which others do not notice', async () => {
  await open({ requestsPerOrganization: 2 })
  const port = await world.serve('hangs.test', () => undefined)
  world.route('hangs.test', port, { organizationId: newUuid() })
  const waiting = [world.dial(), world.dial()]
  for (const socket of waiting) socket.write(head('hangs.test'))
  await until('they are under way', () => world.ingress.counts().targetConnections === 2)
  const refused = await ask(world, 'hangs.test')
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  await isServed()
  for (const socket of waiting) socket.destroy()
  await until('they are over', () => world.ingress.counts().targetConnections <= 1)
})

test('a target has so many connections, and so many requests that wait for one', async () => {
  await open({ connectionsPerTarget: 2, waitingPerTarget: 3 })
  const held: ServerResponse[] = []
  await world.serve('slow.test', (_, response) => void held.push(response))
  const asked = Array.from({ length: 5 }, () => ask(world, 'slow.test'))
  await until('two are there, and three wait', () => held.length === 2 && world.ingress.counts().waiting === 3)
  expect((await ask(world, 'slow.test')).status).toBe(503)
  for (let answered = 0; answered < 5; answered++) {
    await until('the next one is there', () => held.length > 0)
    held.shift()?.end('ok')
  }
  expect((await Promise.all(asked)).map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => 'ok'))
  expect(world.reached()).toBe(2)
})

test('a target that wakes up is reached once, and all who wait are answered; or told, where it does not', async () => {
  const waking = Promise.withResolvers<void>()
  let reached = 0
  await open({ reachSeconds: 1 })
  const port = await world.serve('ready.test', (_, response) => void response.end('awake'))
  const sleepy = await openWorld({
    limits: { reachSeconds: 1 },
    reach: async (target) => {
      reached++
      if (target.kind === 'vm' && target.port === 81) return new Promise(() => undefined)
      await waking.promise
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
  })
  try {
    sleepy.route('sleeps.test', port)
    const asked = Array.from({ length: 20 }, () => ask(sleepy, 'sleeps.test'))
    await until('all wait', () => sleepy.ingress.counts().waiting === 20)
    expect(reached).toBe(1)
    waking.resolve()
    for (const { text } of await Promise.all(asked)) expect(text).toBe('awake')
    sleepy.route('dead.test', port, { vmPort: 81 })
    const dead = await Promise.all([ask(sleepy, 'dead.test'), ask(sleepy, 'dead.test')])
    expect(dead.map(({ status }) => status)).toEqual([502, 502])
  } finally {
    await sleepy.close()
  }
})

test('an upload that breaks off while its target does not read ends both sides', async () => {
  await open({})
  const cut = Promise.withResolvers<void>()
  await world.serveRaw('full.test', (socket) => {
    socket.pause()
    socket.on('error', () => cut.resolve()).on('close', () => cut.resolve())
    setImmediate(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'))
  })
  const request = httpRequest({
    host: '127.0.0.1',
    port: world.ingress.port,
    method: 'PUT',
    headers: { host: 'full.test' },
    agent: false,
  })
  request.on('error', () => undefined)
  while (request.write(Buffer.alloc(65_536)));
  await until('it is on its way', () => world.ingress.counts().targetConnections === 1)
  request.destroy()
  await until('nothing is left of it', () => world.ingress.counts().targetConnections === 0)
  await isServed()
})

test.each([
  ['says nothing', Buffer.alloc(0)],
  ['stops in its greeting', Buffer.from('1603010200010001fc0303', 'hex')],
  ['sends its greeting byte by byte', 'dribble'],
  ['announces a huge greeting', Buffer.from('160301ffff01', 'hex')],
  ['sends garbage', Buffer.alloc(70_000, 0x41)],
  ['sends a greeting of garbage', Buffer.concat([Buffer.from('1603010100', 'hex'), Buffer.alloc(256, 0xff)])],
  [
    'sends lengths that lead outside',
    Buffer.concat([Buffer.from('1603010030010000fc0303', 'hex'), Buffer.alloc(42, 0xff)]),
  ],
  ['speaks plain HTTP', Buffer.from(head('fast.test'))],
  ['is a client of Postgres that says nothing more', Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f])],
])('a client of the HTTPS port that %s is cut in time, and others are served', async (_, bytes) => {
  await open({ greetingSeconds: 0.5 })
  const clients = Array.from({ length: 20 }, () => dialSecure())
  const dribbling =
    bytes === 'dribble' ? setInterval(() => clients.map((socket) => socket.write('\x16')), 50) : undefined
  const cut = Promise.all(clients.map(textOf))
  for (const socket of clients) if (typeof bytes !== 'string') socket.write(bytes)
  const secured = await world.dialTls('fast.test', { ALPNProtocols: ['http/1.1'] })
  secured.write(head('fast.test', 'Connection: close\r\n'))
  expect(await textOf(secured)).toMatch(/fine$/)
  await cut
  clearInterval(dribbling)
})

test('a process that stops answers what is under way, and lets those go who rest', async () => {
  await open({})
  let answer = (): void => undefined
  await world.serve('slow.test', (_, response) => {
    answer = () => void response.end('done')
  })
  const resting = world.dial()
  resting.write(head('fast.test'))
  await once(resting, 'data')
  const asked = ask(world, 'slow.test')
  await until('it is under way', () => world.ingress.counts().targetConnections === 2)
  const closed = world.ingress.close(5_000)
  await textOf(resting)
  answer()
  expect((await asked).text).toBe('done')
  await closed
  await expect(ask(world, 'fast.test')).rejects.toThrow(/ECONNREFUSED/)
})

function dialSecure(): Socket {
  const socket = connect(world.ingress.securePort, '127.0.0.1')
  return socket.on('error', () => undefined)
}
