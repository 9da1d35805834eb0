/**
 * No message on the web socket of GraphQL holds the web process: at the largest allowed size, in the shapes that take longest
 * to read, as what begins a connection and as variables of an operation; nor one in many small frames.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { jsonShapes, within } from '../../support/stalls/shapes.ts'
import { pour } from '../../support/stalls/pour.ts'
import { findHolds, stallMsMax } from '../../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from '../attacked-web.ts'

const spareBytes = 4096
const messageBytes = limits.graphqlBodyBytes - spareBytes
const protocol = 'graphql-transport-ws'

let berth: Berth
let web: AttackedWeb
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000000' } })
  token = await berth.token()
  web = await startAttackedWeb(berth)
}, 60_000)
afterAll(async () => {
  await web?.stop()
  await berth?.stop()
})

const address = (): string => `${web.url.replace('http', 'ws')}/graphql`

/** Sends messages, and waits until the last of them is answered, or the socket is closed. */
async function say(messages: readonly string[]): Promise<void> {
  const socket = new WebSocket(address(), protocol)
  socket.on('error', () => undefined) // it may be cut
  await once(socket, 'open')
  const closed = once(socket, 'close') // an error of this kind of socket is heard above
  for (const message of messages) {
    const answered = once(socket, 'message')
    socket.send(message)
    await Promise.race([answered, closed])
  }
  socket.terminate()
  await closed
}
const begin = (): string => JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } })
const shapes = Object.entries(jsonShapes).flatMap(([name, shape]) => [
  [name, shape(messageBytes)] as const,
  [
    `${name}, as many as may be`,
    within(shape, messageBytes, { parts: limits.socketMessageParts / 2, numbers: limits.socketMessageParts }),
  ] as const,
])

test.each<[string, (shape: string) => string[]]>([
  ['what begins a connection', (shape) => [`{"type":"connection_init","payload":${shape}}`]],
  [
    'a filter',
    (shape) => [
      begin(),
      `{"id":"1","type":"subscribe","payload":{"query":"query ($f: VmFilter) { vms(filter: $f) { nodes { id } } }","variables":{"f":${shape}}}}`,
    ],
  ],
  [
    'ids',
    (shape) => [
      begin(),
      `{"id":"1","type":"subscribe","payload":{"query":"query ($f: [ID!]!) { nodes(ids: $f) { id } }","variables":{"f":${shape}}}}`,
    ],
  ],
  [
    'extensions',
    (shape) => [begin(), `{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","extensions":${shape}}}`],
  ],
  ['the content of a ping', (shape) => [begin(), `{"type":"ping","payload":${shape}}`]],
  ['an id', (shape) => [begin(), `{"id":${shape},"type":"subscribe","payload":{"query":"{ __typename }"}}`]],
])(
  'no message holds the process: %s',
  async (_, messages) => {
    const works = Object.fromEntries(shapes.map(([name, shape]) => [name, () => say(messages(shape))]))
    expect(await findHolds(web, works)).toEqual({})
  },
  120_000,
)

/** A frame from a client, masked with zeros. */
function frame(opcode: number, isLast: boolean, content: string): Buffer {
  return Buffer.concat([
    Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | content.length, 0, 0, 0, 0]),
    Buffer.from(content),
  ])
}
const [more, whole, ping] = [0, 1, 9]

/** A socket on which frames may be sent as they are. */
async function open(): Promise<Socket> {
  const { hostname, port } = new URL(web.url)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  socket.write(
    `GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  )
  const [answer] = (await once(socket, 'data')) as [Buffer] // no encoding is set
  expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /)
  return socket.resume()
}

test.each<[string, Buffer]>([
  ['a message in frames of one byte', frame(more, false, ' ')],
  ['a message in frames of nothing', frame(more, false, '')],
  ['pings', frame(ping, true, '')],
  ['pings of a byte', frame(ping, true, 'x')],
])(
  'no small frames hold the process: %s',
  async (_name, one) => {
    const clients = 8
    const many = Buffer.concat(Array.from({ length: 10_000 }, () => one))
    const held = await web.heldMs(async () => {
      const sockets = await Promise.all(Array.from({ length: clients }, open))
      await Promise.all(
        sockets.map(async (socket) => {
          socket.write(frame(whole, false, ' '))
          expect(await pour(socket, many, 40)).toBeGreaterThan(0)
          socket.destroy()
        }),
      )
    })
    expect(held).toBeLessThanOrEqual(stallMsMax)
  },
  60_000,
)

test('the process takes clients as before', async () => {
  const client = createClient({
    url: address(),
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${token}` },
  })
  const events = client.iterate({ query: '{ __typename }' })
  expect(await events.next()).toMatchObject({ value: { data: { __typename: 'Query' } } })
  await client.dispose()
})
