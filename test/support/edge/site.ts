/**
 * A program for a guest, which runs it without its types: a web server at the port of its first argument, with a page with a web socket, streams of events, and bodies of any size.
 * It listens on loopback only, as many servers of developers do.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const page = `<!doctype html><title>Shop</title><h1>Shop</h1><p id="said"></p><script>
const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket')
socket.onopen = () => socket.send('from the page')
socket.onmessage = ({ data }) => { document.getElementById('said').textContent = data }
</script>`
const piece = Buffer.alloc(65_536, 'b')

/** Of all answers to `/down` together. */
let sentBytes = 0

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
  if (pathname === '/down') void sendDown(response, Number(searchParams.get('bytes')))
  else if (pathname === '/up') void takeUp(request, response)
  else if (pathname === '/never') request.pause()
  else if (pathname === '/sent') response.end(String(sentBytes))
  else if (pathname === '/events') void sendEvents(response)
  else if (pathname === '/told') response.end(JSON.stringify(request.headers))
  else response.writeHead(200, { 'content-type': 'text/html' }).end(page)
})

async function sendDown(response: ServerResponse, bytes: number): Promise<void> {
  response.writeHead(200, { 'content-length': bytes })
  for (let left = bytes; left > 0 && !response.destroyed; left -= piece.length) {
    const next = piece.subarray(0, Math.min(left, piece.length))
    sentBytes += next.length
    const isTaken = response.write(next)
    if (!isTaken) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}

async function takeUp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) bytes += part.length
  response.end(String(bytes))
}

async function sendEvents(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let number = 1; number <= 3; number++) {
    response.write(`data: event ${number}\n\n`)
    await pause(200) // so that whoever holds pieces back is seen
  }
  response.end()
}

// Messages of up to 125 bytes, which come in one piece, are said back: more is not needed here.
server.on('upgrade', ({ headers }, socket) => {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}\r\n\r\n`,
  )
  socket.on('data', (frame: Buffer) => {
    const length = frame.readUInt8(1) & 0x7f
    if ((frame.readUInt8(0) & 0x0f) !== 1 || length > 125) return void socket.end()
    const mask = frame.subarray(2, 6)
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ mask.readUInt8(at % 4)))
    const said = `said back: ${text.toString()}`
    socket.write(Buffer.concat([Buffer.from([0x81, said.length]), Buffer.from(said)]))
  })
  socket.on('error', () => undefined)
})
server.listen(Number(process.argv[2]), '127.0.0.1')
