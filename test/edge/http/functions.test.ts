/** Functions behind the ingress: their connections when they move, and who uses which. The functions are servers of the test. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createReportedUse } from '#src/platform/caches/reported-use.ts'
import { TargetRefusal, type Target } from '#src/edge/http/targets.ts'
import { newUuid } from '#src/platform/ids.ts'
import { until } from '../../support/until.ts'
import { ask, openSession, openWorld, textOf, type World } from './ingress-world.ts'

const functionId = newUuid()
const host = 'hello.test'
let world: World
let servers: Server[]
/** Where the function is now; who wants to get there waits for it. */
let place: Promise<number>
let reached: number
let move: (functionId: string | null) => void
let open: Map<string, number>
beforeEach(async () => {
  servers = []
  reached = 0
  open = new Map()
  const count = (id: string, more: number): void => void open.set(id, (open.get(id) ?? 0) + more)
  world = await openWorld({
    limits: { connectionsPerTarget: 4, waitingPerTarget: 20 },
    async reach(target: Target): Promise<Duplex> {
      if (target.kind !== 'function') throw new TargetRefusal('gone', 'It is no function.')
      reached++
      const socket = connect({ host: '127.0.0.1', port: await place, allowHalfOpen: true })
      await once(socket, 'connect')
      return socket
    },
    functions: {
      onMoved: (then) => void (move = then),
      use: { begin: (id) => count(id, 1), end: (id) => count(id, -1) },
    },
  })
  world.route(host, 1, { vmId: null, vmPort: null, functionId })
})
afterEach(async () => {
  for (const server of servers) server.closeAllConnections()
  await world.close()
  for (const server of servers) server.close()
})

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
const saying = (text: string) => serve((_, response) => void response.end(text))
/** A server whose answers begin and go on until `end` is called. */
async function streaming(text: string): Promise<{ port: Promise<number>; end: () => void; begun: () => number }> {
  const answers: (() => void)[] = []
  const port = await serve((_, response) => {
    response.write(text)
    answers.push(() => response.end(' end'))
  })
  return {
    port: Promise.resolve(port),
    end: () => {
      for (const end of answers.splice(0)) end()
    },
    begun: () => answers.length,
  }
}
const textAt = async (path = '/'): Promise<string> => (await ask(world, host, path)).text

test('a function answers over HTTP/1.1 and HTTP/2, on connections that are kept', async () => {
  place = saying('one')
  expect(await textAt()).toBe('one')
  const session = await openSession(world, host)
  expect(await textOf(session.request({ ':path': '/' }) as Duplex)).toBe('one')
  session.destroy()
  expect(reached).toBe(1)
})

test.each([
  ['that function', functionId],
  ['all of them, after notices were missed', null],
])(
  'when it moves, as is said of %s, new requests go there, also those on connections that were kept',
  async (_, said) => {
    place = saying('one')
    expect(await textAt()).toBe('one')
    place = saying('two')
    expect(await textAt()).toBe('one')
    move(said)
    expect(await textAt()).toBe('two')
    expect(world.ingress.counts().targetConnections).toBe(1)
  },
)

test('another function’s move changes nothing', async () => {
  place = saying('one')
  await textAt()
  move(newUuid())
  await textAt()
  expect(reached).toBe(1)
})

test('what is under way when it moves is finished, however much of it there is, and keeps nobody out', async () => {
  const before = await streaming('begun')
  place = before.port
  const old = Array.from({ length: 4 }, () => textAt())
  await until('as many have begun as there may be', () => before.begun() === 4)
  const waiting = textAt()
  place = saying('two')
  move(functionId)
  expect(await waiting).toBe('two')
  expect(await textAt()).toBe('two')
  before.end()
  expect(await Promise.all(old)).toEqual(Array.from({ length: 4 }, () => 'begun end'))
  expect(await textAt()).toBe('two')
  await until('their connections are gone', () => world.ingress.counts().targetConnections === 1)
})

test('a connection that was being opened when it moved takes no request', async () => {
  const slow = Promise.withResolvers<number>()
  place = slow.promise
  const asked = textAt()
  await until('it is being reached', () => reached === 1)
  place = saying('two')
  move(functionId)
  slow.resolve(await saying('one'))
  expect(await asked).toBe('two')
})

test('those who wait hear it when it cannot be reached any more, though others are still being answered', async () => {
  const before = await streaming('begun')
  place = before.port
  const old = textAt()
  await until('it has begun', () => before.begun() === 1)
  place = Promise.reject(new TargetRefusal('crashed', 'It failed to start.', 7))
  place.catch(() => undefined)
  move(functionId)
  expect(await ask(world, host)).toMatchObject({ status: 503, headers: { 'retry-after': '7' }, text: /crashed/ })
  before.end()
  expect(await old).toBe('begun end')
})

test('of thousands that wait for it to wake so many wait, and the others are told to come again', async () => {
  const waking = Promise.withResolvers<number>()
  place = waking.promise
  let told = 0
  const asked = Array.from({ length: 50 }, async () => {
    const answer = await ask(world, host)
    told++
    return answer
  })
  await until('the others were told', () => told === 30 && world.ingress.counts().waiting === 20)
  waking.resolve(await saying('awake'))
  const statuses = (await Promise.all(asked)).map(({ status, headers }) => [status, headers['retry-after']])
  expect(statuses.filter(([status]) => status === 200)).toHaveLength(20)
  expect(statuses.filter(([status, retry]) => status === 503 && retry === '1')).toHaveLength(30)
  expect(reached).toBeLessThanOrEqual(4)
})

test('a function is in use while a request, a stream or a web socket is open, and not longer', async () => {
  const stream = await streaming('begun')
  place = stream.port
  const asked = textAt()
  await until('it has begun', () => stream.begun() === 1)
  expect(open.get(functionId)).toBe(1)
  stream.end()
  await asked
  await until('it is over', () => open.get(functionId) === 0)
  place = (async () => {
    const port = await serve(() => undefined)
    servers.at(-1)?.on('upgrade', (_, socket: Socket) => {
      socket.resume().once('end', () => socket.end())
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
      )
    })
    return port
  })()
  move(functionId)
  const socket = world.dial()
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  )
  const [said] = (await once(socket, 'data')) as [Buffer]
  expect(String(said)).toMatch(/^HTTP\/1\.1 101 /)
  move(functionId) // what is open on it goes on
  expect(open.get(functionId)).toBe(1)
  expect(socket.destroyed).toBe(false)
  socket.destroy()
  await until('it is over', () => open.get(functionId) === 0)
})

test('use is told at once when it begins, and then as long as it lasts', async () => {
  const told: string[][] = []
  const use = createReportedUse((ids) => void told.push([...ids].sort()), 200)
  use.begin('a')
  use.begin('a')
  use.begin('b')
  await until('it was told', () => told.length === 1)
  use.end('b')
  use.end('a')
  await until('it was told again', () => told.length === 3)
  use.end('a')
  const count = told.length
  use.begin('c')
  use.end('c')
  await until('another was told', () => told.length > count)
  expect(told.slice(0, count)).toEqual([['a', 'b'], ['a', 'b'], ['a']])
  expect(told[count]).toEqual(['c'])
  use.close()
})
