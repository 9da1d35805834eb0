/** What passes through tunnels, to programs of this host behind the node's real agent. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Berth as Client } from '#src/client/berth.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { startTerminalNode, type TerminalNode } from '../terminals/clients.ts'
import { startListening, TunnelClient, type Listening } from './clients.ts'

let berth: Berth
let node: TerminalNode
let token: string
let vm: string
let echo: Listening
let silent: Listening
const clients: TunnelClient[] = []
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await startTerminalNode(berth.services)
  vm = await makeVmRow(berth.services.db, token, node.id)
  echo = await startListening((socket) => void socket.pipe(socket))
  silent = await startListening((socket) => void socket.pause())
})
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.terminate()
  await until('no tunnel is open', () => node.inUse() === 0)
})
afterAll(async () => {
  await Promise.all([echo.stop(), silent.stop()])
  await node.stop([])
  await berth.stop()
})

async function ticketFor(port: number): Promise<string> {
  const query = `mutation { createTunnelTicket(input: { vmId: "${vm}", port: ${port} }) { ticket } }`
  const { body } = await berth.ask(query, { token })
  expect(body.errors).toBeUndefined()
  const made = body.data?.['createTunnelTicket'] as { ticket: string }
  return made.ticket
}
async function opened(port: number): Promise<TunnelClient> {
  const client = new TunnelClient(berth.url)
  clients.push(client)
  await client.open(await ticketFor(port))
  expect(client.told[0]).toEqual({ type: 'opened' })
  return client
}

test('bytes pass both ways as they are, and the VM is in use meanwhile', async () => {
  const client = await opened(echo.port)
  expect(node.inUse()).toBe(1)
  const bytes = randomBytes(60_000)
  client.send(bytes)
  await until('it is back', () => client.receivedBytes === bytes.length)
  expect(client.received.equals(bytes)).toBe(true)
  await until('all is acknowledged', () => client.passedOn === bytes.length)
  client.say({ type: 'end' })
  expect((await client.closed).code).toBe(1000)
  expect(client.told).toEqual([{ type: 'opened' }, { type: 'end' }])
})

test('each direction ends by itself', async () => {
  const first = await opened(silent.port)
  const program = await silent.next()
  program.end('all that it says')
  await until('its end is told', () => first.told.some(({ type }) => type === 'end'))
  expect(first.text).toBe('all that it says')
  first.send('still heard')
  program.resume()
  const [heard] = (await once(program, 'data')) as [Buffer]
  expect(heard.toString()).toBe('still heard')
  first.say({ type: 'end' })
  expect((await first.closed).code).toBe(1000)

  const second = await opened(silent.port)
  const other = await silent.next()
  other.resume()
  second.say({ type: 'end' })
  await once(other, 'end')
  other.end('an answer behind the end')
  expect((await second.closed).code).toBe(1000)
  expect(second.text).toBe('an answer behind the end')
  second.send('more') // its socket is closed
})

test('an empty message is no end, and as many as one likes are nothing to keep', async () => {
  const client = await opened(echo.port)
  for (let at = 0; at < 1000; at++) client.send('')
  client.send('after them')
  await until('it is back', () => client.text === 'after them')
  client.say({ type: 'end' })
  expect((await client.closed).code).toBe(1000)
})

test('many small messages to a program that reads late come whole and in order, with the end behind them', async () => {
  const client = await opened(silent.port)
  const program = await silent.next()
  const text = Array.from({ length: 50_000 }, (_, at) => String(at % 10)).join('')
  for (const letter of text) client.send(letter)
  client.say({ type: 'end' })
  const heard: Buffer[] = []
  program.on('data', (piece: Buffer) => heard.push(piece))
  program.resume()
  await once(program, 'end')
  expect(Buffer.concat(heard).toString()).toBe(text)
  expect(client.passedOn).toBe(text.length)
  program.end()
  expect((await client.closed).code).toBe(1000)
})

test('nothing listens at a port: that is said, with the port', async () => {
  const gone = await startListening(() => undefined)
  await gone.stop()
  const client = new TunnelClient(berth.url)
  clients.push(client)
  await client.open(await ticketFor(gone.port))
  expect(client.told).toEqual([
    { type: 'error', code: 'upstream_error', message: `Nothing in the VM listens at port ${gone.port}.` },
  ])
  expect(await client.closed).toMatchObject({
    code: 4502,
    reason: expect.stringContaining(String(gone.port)) as string,
  })
})

test('a client that reads nothing holds the program back, and gets all of it in order later', async () => {
  const client = await opened(silent.port)
  client.acknowledges = false
  const program = await silent.next()
  const bytes = randomBytes(32 * 1024 * 1024)
  program.end(bytes)
  const most = tunnelLimits.unacknowledgedBytes
  await until('a window full has come', () => client.receivedBytes >= most)
  expect(client.receivedBytes).toBeLessThan(most + 2 * tunnelLimits.messageBytes)
  expect(program.writableLength).toBeGreaterThan(bytes.length / 2) // the rest waits where it came from
  client.acknowledges = true
  client.acknowledge()
  await until('all has come', () => client.receivedBytes === bytes.length, 60_000)
  expect(client.received.equals(bytes)).toBe(true)
}, 90_000)

test('a program that reads nothing holds the client back, and a client that does not wait is cut', async () => {
  const client = await opened(silent.port)
  await silent.next()
  const piece = Buffer.alloc(tunnelLimits.messageBytes, 'x')
  for (let at = 0; at < 1024 && client.socket.readyState === client.socket.OPEN; at++) client.send(piece)
  expect(await client.closed).toMatchObject({ code: 4429 })
  expect(client.told.at(-1)).toMatchObject({ type: 'error', code: 'rate_limited' })
  expect(client.passedOn).toBeLessThan(client.sent / 2)
})

test('the worker that starts again cuts tunnels, which says so and never looks like an end; the next one is open', async () => {
  const client = await opened(echo.port)
  client.send('before')
  await until('it is back', () => client.text === 'before')
  await node.restart()
  expect(await client.closed).toMatchObject({
    code: 1013,
    reason: expect.stringMatching(/^The connection was cut/) as string,
  })
  expect(client.told.map(({ type }) => type)).toEqual(['opened', 'error'])
  const again = await opened(echo.port)
  again.send('after')
  await until('it is back', () => again.text === 'after')
})

test('a program that resets the connection cuts the tunnel', async () => {
  const client = await opened(silent.port)
  const program = await silent.next()
  program.resetAndDestroy()
  expect(await client.closed).toMatchObject({ code: 1013 })
})

test('the TypeScript client sends and receives megabytes at once, and waits for a program that reads slowly', async () => {
  const { vms } = new Client({ url: berth.url, token })
  const bytes = randomBytes(8 * 1024 * 1024)
  const pieces: Buffer[] = []
  let hasEnded = false
  const tunnel = await vms.tunnels.open(vm, echo.port, {
    write: async (piece) => void pieces.push(Buffer.from(piece)),
    end: () => void (hasEnded = true),
  })
  for (let at = 0; at < bytes.length; at += 100_000) await tunnel.write(bytes.subarray(at, at + 100_000))
  tunnel.end()
  await tunnel.ended
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
  expect(hasEnded).toBe(true)

  const slow = await vms.tunnels.open(vm, silent.port, { write: () => undefined, end: () => undefined })
  const program = await silent.next()
  let count = 0
  program.on('data', (piece: Buffer) => (count += piece.length))
  program.pause()
  let written = 0
  const writing = (async () => {
    for (let at = 0; at < bytes.length; at += 100_000) {
      await slow.write(bytes.subarray(at, at + 100_000))
      written = at + 100_000
    }
    slow.end()
  })()
  program.resume()
  await writing
  await once(program, 'end')
  expect(count).toBe(bytes.length)
  expect(written).toBeGreaterThanOrEqual(bytes.length)
  program.end()
  await slow.ended
})

test('the TypeScript client sends all in order when nobody waits between, with the end behind it', async () => {
  const { vms } = new Client({ url: berth.url, token })
  const tunnel = await vms.tunnels.open(vm, silent.port, { write: () => undefined, end: () => undefined })
  const program = await silent.next()
  const pieces = Array.from({ length: 8 }, () => randomBytes(300_000))
  const written = Promise.all(pieces.map((piece) => tunnel.write(piece)))
  tunnel.end()
  const heard: Buffer[] = []
  program.on('data', (piece: Buffer) => heard.push(piece))
  program.resume()
  await once(program, 'end')
  await written
  expect(Buffer.concat(heard).equals(Buffer.concat(pieces))).toBe(true)
  program.end()
  await tunnel.ended
})

test('the TypeScript client says why a tunnel could not be opened, and that one was cut', async () => {
  const { vms } = new Client({ url: berth.url, token })
  const gone = await startListening(() => undefined)
  await gone.stop()
  const receiver = { write: () => undefined, end: () => undefined }
  await expect(vms.tunnels.open(vm, gone.port, receiver)).rejects.toMatchObject({
    code: 'UPSTREAM_ERROR',
    status: 502,
    message: `Nothing in the VM listens at port ${gone.port}.`,
  })
  const tunnel = await vms.tunnels.open(vm, silent.port, receiver)
  const program = await silent.next()
  program.resetAndDestroy()
  await expect(tunnel.ended).rejects.toMatchObject({
    message: expect.stringMatching(/^The connection was cut/) as string,
  })
  await expect(tunnel.write(Buffer.from('x'))).rejects.toMatchObject({ name: 'BerthError' })
})
