/** Requests that two servers could read in two ways are refused, and answers of targets that are no proper HTTP pass to nobody. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, openSession, openWorld, textOf, type World } from './ingress-world.ts'

let world: World
let seen: string[]
beforeAll(async () => {
  world = await openWorld({ limits: { answerSeconds: 1, silenceSeconds: 1 } })
  seen = []
  await world.serve('a.test', (request, response) => {
    seen.push(request.url ?? '')
    request.resume()
    response.end('fine')
  })
  await world.serve('b.test', (_, response) => void response.end('other'))
})
afterAll(() => world.close())

const close = 'Connection: close\r\n'
const after = 'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'
const webSocket = `GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
const post = (headers: string, body = ''): string => `POST / HTTP/1.1\r\nHost: a.test\r\n${headers}\r\n${body}`

describe('a request is refused', () => {
  test.each([
    ['with length and chunks', post(`Content-Length: 4\r\n${chunked}`, `0\r\n\r\n${after}`)],
    ['with chunks and length', post(`${chunked}Content-Length: 4\r\n`, `0\r\n\r\n${after}`)],
    ['with two lengths', post('Content-Length: 0\r\nContent-Length: 44\r\n', after)],
    ['with the same length twice', post('Content-Length: 0\r\nContent-Length: 0\r\n', after)],
    ['with a list of lengths', post('Content-Length: 0, 44\r\n', after)],
    ['with a signed length', post('Content-Length: +0\r\n', after)],
    ['with a negative length', post('Content-Length: -1\r\n', after)],
    ['with a length in hex', post('Content-Length: 0x2c\r\n', after)],
    ['with an endless length', post(`Content-Length: ${'9'.repeat(40)}\r\n`, after)],
    ['with another transfer encoding', post('Transfer-Encoding: gzip\r\n', after)],
    ['with two transfer encodings', post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${after}`)],
    ['with chunked twice', post(`${chunked}${chunked}`, `0\r\n\r\n${after}`)],
    ['with chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${after}`)],
    ['with xchunked', post('Transfer-Encoding: xchunked\r\n', after)],
    ['with a space before the colon', post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${after}`)],
    ['with a space before a length’s colon', post('Content-Length : 44\r\n', after)],
    ['with a folded header', post('X-Fold: a\r\n b\r\n', after)],
    ['with a folded transfer encoding', post('Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${after}`)],
    ['with a header without a colon', post('Nonsense\r\n', after)],
    ['with a NUL in a header', post('X-Nul: a\0b\r\n', after)],
    ['with a lone CR in a header', post('X-Cr: a\rTransfer-Encoding: chunked\r\n', after)],
    ['with lines that end with LF alone', `POST / HTTP/1.1\nHost: a.test\nContent-Length: 0\n\n${after}`],
    ['with one header that ends with LF alone', post(`X-A: b\n${chunked}`, `0\r\n\r\n${after}`)],
    ['with a chunk that is no number', post(chunked, `zz\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with a chunk that is longer than it says', post(chunked, `1\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with a chunk of endless size', post(chunked, `ffffffffffffffffff\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with a chunk size that ends with LF alone', post(chunked, `5\nhello\r\n0\r\n\r\n${after}`)],
    ['with a signed chunk', post(chunked, `+5\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with two hosts', `GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n${after}`],
    ['without a host', `GET / HTTP/1.1\r\n\r\n${after}`],
    ['with an empty host', `GET / HTTP/1.1\r\nHost:\r\n\r\n${after}`],
    ['with a host that has a path', `GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n${after}`],
    ['with a host that has a user', `GET / HTTP/1.1\r\nHost: x@a.test\r\n\r\n${after}`],
    ['with a host with spaces', `GET / HTTP/1.1\r\nHost: a.test b.test\r\n\r\n${after}`],
    ['with a host and a list', `GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n${after}`],
    ['with another host in its first line', `GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with a user in its first line', `GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with another scheme', `GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['without a path', `GET x HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with a tabulator in its first line', `GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with another version', `GET / HTTP/3.7\r\nHost: a.test\r\n\r\n${after}`],
    ['of the old protocol with chunks', `POST / HTTP/1.0\r\nHost: a.test\r\n${chunked}\r\n0\r\n\r\n${after}`],
    ['to tunnel', `CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with headers that are too large', `GET / HTTP/1.1\r\nHost: a.test\r\nX: ${'x'.repeat(40_000)}\r\n\r\n${after}`],
    ['with too many headers', `GET / HTTP/1.1\r\nHost: a.test\r\n${'X: y\r\n'.repeat(300)}${close}\r\n`],
    ['with two lengths in one', post('Content-Length: 0 44\r\n', after)],
    ['with a parameter of its encoding', post('Transfer-Encoding: chunked;q=1\r\n', `0\r\n\r\n${after}`)],
    ['with chunked and again', post('Transfer-Encoding: chunked, chunked\r\n', `0\r\n\r\n${after}`)],
    ['with a vertical tabulator before chunked', post('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${after}`)],
    ['with a first header that is folded', `GET / HTTP/1.1\r\n Host: a.test\r\nX: y\r\n\r\n${after}`],
    ['with a chunk extension that ends with LF alone', post(chunked, `0;a\nb: c\r\n\r\n${after}`)],
    ['with a chunk size that ends with CR alone', post(chunked, `5\rhello\r\n0\r\n\r\n${after}`)],
    ['with a space in a chunk size', post(chunked, `1 0\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with a chunk size in hex with its sign', post(chunked, `0x5\r\nhello\r\n0\r\n\r\n${after}`)],
    ['with a chunk extension without an end', post(chunked, `5;${'x'.repeat(100_000)}`)],
    ['with a trailer that is none', post(chunked, `0\r\nX y\r\n\r\n${after}`)],
    ['with trailers without an end', post(chunked, `0\r\n${'X: y\r\n'.repeat(20_000)}`)],
    ['with a fragment', `GET /#x HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with NUL in its first line', `GET /\0 HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['with a method in small letters', `get / HTTP/1.1\r\nHost: a.test\r\n\r\n${after}`],
    ['for a web socket with a length', `${webSocket}Content-Length: ${after.length}\r\n\r\n${after}`],
    ['for a web socket with chunks', `${webSocket}${chunked}\r\n0\r\n\r\n${after}`],
    ['with an unknown expectation', post('Expect: the-unexpected\r\nContent-Length: 2\r\n', 'hi')],
    ['as TLS at the port without it', Buffer.from('160301', 'hex').toString('latin1').padEnd(200, '\x01')],
  ])('%s', async (_, text) => {
    seen = []
    const answer = await refusedAnswer(Buffer.from(text, 'latin1'))
    // One refusal and nothing behind it; and what was hidden there is not taken for a request.
    expect(answer).toMatch(/^HTTP\/1\.1 (?:4\d\d|501) /)
    expect(answer.match(/HTTP\/1\.[01] \d{3}/g)).toHaveLength(1)
    expect(seen).not.toContain('/smuggled')
    expect((await ask(world, 'a.test')).text).toBe('fine')
  })

  test('to tunnel, with the documented 405', async () => {
    const answer = await refusedAnswer(Buffer.from('CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n'))
    expect(answer).toMatch(/^HTTP\/1\.1 405 [^]*No tunnels are opened here\./)
  })

  test('with a wrong chunk behind the beginning of its answer, which is cut and not written into', async () => {
    await world.serve('early.test', (request, response) => {
      request.resume()
      response.writeHead(200, { 'content-length': '1000' })
      response.write('the beginning')
    })
    const socket = world.dial()
    socket.setEncoding('latin1').write(`POST / HTTP/1.1\r\nHost: early.test\r\n${chunked}\r\n5\r\nhello\r\n`)
    let text = ''
    for await (const piece of socket as AsyncIterable<string>) {
      if (text.endsWith('the beginning')) break
      text += piece
      if (text.endsWith('the beginning')) socket.write('zz\r\n')
    }
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*the beginning$/)
  })

  test('where an upgrade to HTTP/2 is hidden in it, the upgrade is left out', async () => {
    const upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'
    seen = []
    const answer = await world.raw(`GET /h2c HTTP/1.1\r\nHost: a.test\r\n${upgrade}\r\n${after}`)
    expect(answer).toMatch(/^HTTP\/1.1 200 [^]*fine$/)
    expect(answer).toMatch(/connection: close/i)
    expect(seen).toEqual(['/h2c'])
  })
})

describe('what is proper is served', () => {
  test.each([
    ['a host with a port', 'GET / HTTP/1.1\r\nHost: a.test:8080\r\n'],
    ['a host in capitals with a dot', 'GET / HTTP/1.1\r\nHost: A.TEST.\r\n'],
    ['the same host in the first line', 'GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n'],
    ['the old protocol with a host', 'GET / HTTP/1.0\r\nHost: a.test\r\n'],
    ['OPTIONS for everything', 'OPTIONS * HTTP/1.1\r\nHost: a.test\r\n'],
  ])('%s', async (_, text) => {
    expect(await world.raw(`${text}${close}\r\n`)).toMatch(/^HTTP\/1.1 200 [^]*fine$/)
  })
})

describe('by HTTP/2', () => {
  test.each([
    ['a transfer encoding', { 'transfer-encoding': 'chunked' }],
    ['another host beside the authority', { host: 'b.test' }],
    ['a line end in its path', { ':path': '/x\r\nX-Evil: yes' }],
    ['a space in its path', { ':path': '/x HTTP/1.1' }],
    ['no path', { ':path': 'x' }],
    ['a method of two words', { ':method': 'GET /smuggled HTTP/1.1\r\nX:' }],
  ])('a request with %s is refused', async (_, headers) => {
    seen = []
    const session = await openSession(world, 'a.test')
    const status = await new Promise((resolve) => {
      try {
        const stream = session.request({ ':authority': 'a.test', ':path': '/', ...headers })
        stream.on('response', (given) => resolve(given[':status']))
        stream.on('error', () => resolve(400)).on('close', () => resolve(400))
      } catch {
        resolve(400) // the client of the test would not send it
      }
    })
    expect([400, 405, 421, 501]).toContain(status)
    expect(seen).toEqual([])
    session.destroy()
  })
})

describe('a target', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  test.each([
    ['answers garbage', 'SSH-2.0-dropbear\r\n\r\n'],
    ['says its length and chunks', `${ok}Content-Length: 2\r\n${chunked}\r\n0\r\n\r\n`],
    ['says two lengths', `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!`],
    ['says a length that is no number', `${ok}Content-Length: -2\r\n\r\nhi`],
    ['has another transfer encoding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunks in the old protocol', `HTTP/1.0 200 OK\r\n${chunked}\r\n0\r\n\r\n`],
    ['has headers that are too large', `${ok}X: ${'x'.repeat(70_000)}\r\n\r\n`],
    ['has headers without an end', `${ok}${'X: y\r\n'.repeat(20_000)}`],
    ['has too many headers', `${ok}${'X: y\r\n'.repeat(600)}\r\n`],
    ['folds a header', `${ok}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    ['ends lines with LF alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi'],
    ['hides a line in a header', `${ok}X: a\nSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`],
    ['has a space before a colon', `${ok}Content-Length : 2\r\n\r\nhi`],
    ['changes the protocol without being asked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['has an unknown status', 'HTTP/1.1 999 What\r\n\r\n'],
    ['sends notices without an end', 'HTTP/1.1 102 Wait\r\n\r\n'.repeat(100)],
    ['ends before its answer', 'HTTP/1.1 20'],
    ['says nothing and ends', ''],
  ])('that %s is said to be failing', async (name, text) => {
    const host = `${name.replaceAll(/[^a-z]/g, '')}.test`
    await world.serveRaw(host, (socket) => void socket.once('data', () => socket.end(text)))
    const answer = await ask(world, host)
    expect([answer.status, answer.headers['x-request-id']]).toEqual([502, expect.stringMatching(/^req_/)])
    expect(answer.text).not.toMatch(/127\.0\.0\.1|Error|chunk|header/)
  })

  test.each([
    ['its length', `${ok}Content-Length: 10\r\n\r\nhalf`],
    ['a chunk', `${ok}${chunked}\r\nff\r\nhalf`],
    ['its chunks', `${ok}${chunked}\r\n4\r\nhalf\r\n`],
    ['a chunk that is none', `${ok}${chunked}\r\n4\r\nhalf\r\nxx\r\n`],
    ['a chunk that is too long', `${ok}${chunked}\r\n4\r\nhalf!\r\n0\r\n\r\n`],
  ])('that breaks off in %s has its client’s connection cut, so that it is not taken for whole', async (name, text) => {
    const host = `half-${name.replaceAll(/[^a-z]/g, '')}.test`
    await world.serveRaw(host, (socket) => void socket.once('data', () => socket.end(text)))
    const socket = world.dial()
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const answer = await textOf(socket)
    expect(answer).toMatch(/half|^$/)
    expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
  })

  test('that never answers, or stops in the middle, is given up', async () => {
    const open: Socket[] = []
    await world.serveRaw('never.test', (socket) => void open.push(socket))
    expect((await ask(world, 'never.test')).status).toBe(504)
    await world.serveRaw(
      'stops.test',
      (socket) => void socket.once('data', () => socket.write(`${ok}Content-Length: 10\r\n\r\nhalf`)),
    )
    const socket = world.dial()
    socket.write('GET / HTTP/1.1\r\nHost: stops.test\r\n\r\n')
    expect(await textOf(socket)).toMatch(/half$/)
  })

  test('that answers twice gives the second answer to nobody', async () => {
    const answer = (text: string): string => `${ok}Content-Length: ${text.length}\r\n\r\n${text}`
    let connections = 0
    await world.serveRaw('twice.test', (socket) => {
      connections++
      socket.once('data', () => socket.write(answer('mine') + answer('poison')))
    })
    for (let asked = 0; asked < 3; asked++) expect((await ask(world, 'twice.test')).text).toBe('mine')
    expect(connections).toBe(3)
  })
})

/** What comes until the ingress closes the connection, or an answer is whole. */
async function refusedAnswer(bytes: Buffer): Promise<string> {
  const socket = world.dial()
  socket.write(bytes)
  let text = ''
  socket.setEncoding('latin1')
  await new Promise<void>((resolve) => {
    socket.on('data', (piece: string) => {
      text += piece
    })
    socket
      .on('end', resolve)
      .on('close', resolve)
      .on('error', () => resolve())
    // Whoever waits for more of a body gets no answer: then there is no other request either.
    socket.setTimeout(300, resolve)
  })
  socket.destroy()
  return text
}
