/** Bodies in chunks of one byte are kept as few large pieces: each piece takes a hundred bytes besides its content. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { joinPieces } from '#src/drivers/small-pieces.ts'

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
