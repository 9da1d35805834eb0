/** Answers in many small chunks are paid for, however they come: their targets wait for their turns. */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import * as pieces from '#src/drivers/small-pieces.ts'
import { ingressLimits } from '#src/edge/http/limits.ts'
import { TargetFlow } from '#src/edge/http/target-flow.ts'
import { openWorld, type World } from './ingress-world.ts'

vi.mock('#src/drivers/small-pieces.ts', { spy: true })

const chunks = 2 * ingressLimits.smallPiecesAtOnce
const whole = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`
let world: World
let paid: number[]
beforeAll(async () => {
  vi.mocked(pieces.createPieceTurns).mockImplementation((limits) => {
    const turns = made(limits)
    return {
      ...turns,
      pay(count, one) {
        paid.push(count)
        turns.pay(count, one)
      },
    }
  })
  world = await openWorld()
  await world.serveRaw('small.test', (socket) => void socket.on('data', () => socket.write(whole)))
})
afterAll(() => world.close())
beforeEach(() => {
  paid = []
})
const { createPieceTurns: made } = await vi.importActual<typeof pieces>('#src/drivers/small-pieces.ts')

test.each([
  ['an answer that ends in what is read at once', ''],
  ['an answer to a request for a web socket', 'Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n'],
])('%s is paid for', async (_, headers) => {
  const connection = headers === '' ? 'close' : 'upgrade'
  const answered = await world.raw(`GET / HTTP/1.1\r\nHost: small.test\r\nConnection: ${connection}\r\n${headers}\r\n`)
  expect(answered.match(/x/g)?.length).toBeGreaterThanOrEqual(chunks)
  expect(paid.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(ingressLimits.smallPiecesAtOnce)
})

test('a connection that is gone before its turn gets none', async () => {
  const turns = made({ ...ingressLimits, smallPiecesPerSecond: 1_000_000 })
  const bytes = Buffer.from(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}`)
  const [gone, there] = [new PassThrough(), new PassThrough()]
  const read: string[] = []
  turns.begin(gone, bytes, () => read.push('gone'))
  const isRead = new Promise<void>((resolve) => turns.begin(there, bytes, () => (read.push('there'), resolve())))
  gone.destroy()
  await isRead
  expect(read).toEqual(['there'])
})

test('a connection whose answer ended while its client took no more is read again after its turn', () => {
  const stream = new PassThrough()
  const turns: pieces.Waiting[] = []
  const flow = new TargetFlow(stream, { pay: (_, one) => void turns.push(one) })
  flow.took(false, { isDone: true, smallChunks: chunks })
  expect(stream.isPaused()).toBe(true)
  turns[0]?.onTurn()
  expect(stream.isPaused()).toBe(false)
})

test('one whose client takes no more is read when that has changed and it has had its turn', () => {
  const stream = new PassThrough()
  const turns: pieces.Waiting[] = []
  const flow = new TargetFlow(stream, { pay: (_, one) => void turns.push(one) })
  flow.took(false, { isDone: false, smallChunks: chunks })
  turns[0]?.onTurn()
  expect(stream.isPaused()).toBe(true)
  flow.took(false, { isDone: false, smallChunks: chunks })
  flow.resume()
  expect(stream.isPaused()).toBe(true)
  turns[1]?.onTurn()
  expect(stream.isPaused()).toBe(false)
})
