/**
 * Bodies in chunks of one byte, as fast as many clients can send them, do not hold the web process: JSON, forms and files.
 */
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { pour } from '../../support/stalls/pour.ts'
import { stallMsMax } from '../../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from '../attacked-web.ts'

const chunksAtOnce = 10_000
const times = 10
const chunks = (content: string): Buffer => Buffer.from(`1\r\n${content}\r\n`.repeat(chunksAtOnce))

let berth: Berth
let web: AttackedWeb
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000000' } })
  token = await berth.token()
  web = await startAttackedWeb(berth)
}, 60_000)
const open = new Set<Socket>()
afterEach(() => {
  for (const socket of open) socket.destroy()
})
afterAll(async () => {
  await web?.stop()
  await berth?.stop()
})

/** Begins a request whose body comes in chunks. */
function begin(path: string, type: string, beginning = ''): Socket {
  const { hostname, port } = new URL(web.url)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  open.add(socket)
  socket.once('close', () => open.delete(socket))
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  if (beginning !== '') socket.write(`${beginning.length.toString(16)}\r\n${beginning}\r\n`)
  return socket.resume()
}

const form = 'multipart/form-data; boundary=x'
const inForm = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
const inField = '--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n'
const bodies: Readonly<Record<string, () => Socket>> = {
  'variables of GraphQL': () => begin('/graphql', 'application/json'),
  'a VM': () => begin('/api/v1/vms', 'application/json'),
  'an agent': () => begin('/agents/v1/agents', 'application/json'),
  'a chat': () => begin('/llm/v1/chat/completions', 'application/json'),
  'a statement': () => begin('/sql', 'application/json'),
  'a file in a form': () => begin('/agents/v1/files', form, inForm),
  'a field of a form': () => begin('/agents/v1/files', form, inField),
  'a skill': () => begin('/agents/v1/skills', form, inForm),
  'what no path takes': () => begin('/nowhere', 'text/plain'),
}

test.each(Object.keys(bodies))(
  '%s, in chunks of one byte from 8 clients, holds nobody up',
  async (name) => {
    const bytes = chunks(' ')
    const heldMs = await web.heldMs(async () => {
      const sockets = Array.from({ length: 8 }, () => bodies[name]?.() as Socket) // it is one of its names
      const taken = await Promise.all(sockets.map((socket) => pour(socket, bytes, times)))
      expect(Math.min(...taken)).toBeGreaterThan(0)
      for (const socket of sockets) socket.destroy()
    })
    expect(heldMs).toBeLessThanOrEqual(stallMsMax)
  },
  60_000,
)
