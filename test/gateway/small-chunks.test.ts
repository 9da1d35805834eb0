/** What chunks of one byte cost: a hundred bytes for each piece that is kept, and turns of those who send them, and of nobody else. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { readInParts } from '#src/drivers/parted-reads.ts'
import { createPieceTurns, joinPieces } from '#src/drivers/small-pieces.ts'
import { smallPieceLimits } from '#src/platform/limits/small-pieces.ts'

test('a body of a hundred thousand chunks is read as a few pieces, and is whole', async () => {
  const chunks = 100_000
  const server = createServer((request, response) => {
    joinPieces(request)
    let [pieces, text] = [0, '']
    request.setEncoding('latin1').on('data', (piece: string) => {
      pieces++
      text += piece
    })
    request.once('end', () => response.end(JSON.stringify({ pieces, isWhole: text === 'x'.repeat(chunks) })))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n')
  socket.write(`${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`)
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
  await once(socket, 'close')
  server.close()
  const { pieces, isWhole } = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) as {
    pieces: number
    isWhole: boolean
  }
  expect(isWhole).toBe(true)
  expect(pieces).toBeLessThan(100)
})

test.each([
  ['lines of a body whose length is known wait for nobody', false],
  ['as many small chunks do', true],
])('%s', async (_what, isChunked) => {
  const turns = createPieceTurns(smallPieceLimits)
  let waits = 0
  const counted = { ...turns, wait: (one: Parameters<typeof turns.wait>[0]) => (waits++, turns.wait(one)) }
  let bytes = 0
  const server = createServer((request, response) => {
    if (isChunked) turns.watch(request)
    request.on('data', (piece: Buffer) => (bytes += piece.length)).once('end', () => response.end())
  }).listen(0, '127.0.0.1')
  server.on('connection', (socket) => readInParts(socket, counted, smallPieceLimits.smallPiecesAtOnce))
  await once(server, 'listening')
  const content = '1\n'.repeat(20_000)
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume()
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`)
  if (isChunked) socket.write(`Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(20_000)}0\r\n\r\n`)
  else socket.write(`Content-Length: ${content.length}\r\n\r\n${content}`)
  await once(socket, 'close')
  server.close()
  expect(bytes).toBe(isChunked ? 20_000 : content.length)
  expect(waits > 0).toBe(isChunked)
})
