/** Requests that are read without Node's server, those that are left to it, and the way from the one to the other. */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SimpleReader } from '#src/edge/http/simple/requests.ts'
import { until } from '../../support/until.ts'
import { openWorld, textOf, type World } from './ingress-world.ts'

const read = (text: string): ReturnType<SimpleReader['read']> => new SimpleReader().read(Buffer.from(text, 'latin1'))

describe('a reader of simple requests', () => {
  test('reads method, path and headers, without the blanks around a value', () => {
    expect(read('GET /a?b=%20 HTTP/1.1\r\nHost: a.test\r\nX-Y:\t 1 2 \t\r\nempty:\r\nÿ-is: not\r\n\r\n')).toBeNull()
    const request = read('HEAD /a?b=%20 HTTP/1.1\r\nHost: a.test\r\nX-Y:\t 1\t2 \t\r\naccept:\r\nz: \xff\r\n\r\n')
    expect(request).toMatchObject({ method: 'HEAD', url: '/a?b=%20' })
    expect(request?.rawHeaders).toEqual(['Host', 'a.test', 'X-Y', '1\t2', 'accept', '', 'z', '\xff'])
    expect(request?.headers.accept).toBe('')
  })

  test('reads further requests with the same headers, and with others', () => {
    const reader = new SimpleReader()
    const ask = (path: string, name: string): unknown =>
      reader.read(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${name}\r\n\r\n`))
    for (const [path, name] of [
      ['/1', 'a.test'],
      ['/2', 'a.test'],
      ['/3', 'b.test'],
    ] as const)
      expect(ask(path, name)).toMatchObject({ url: path, rawHeaders: ['Host', name] })
    expect(ask('/4 ', 'b.test')).toBeNull()
  })

  test.each([
    ['a method with a body', 'POST / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an older version', 'GET / HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['a newer version', 'GET / HTTP/1.10\r\nHost: a\r\n\r\n'],
    ['no version', 'GET /\r\nHost: a\r\n\r\n'],
    ['a whole address', 'GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['two blanks', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a blank in the path', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a control in the path', 'GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a path that is not ASCII', 'GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an empty line before it', '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a part only', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['bytes behind it', 'GET / HTTP/1.1\r\nHost: a\r\n\r\nG'],
    ['another request behind it', 'GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a length', 'GET / HTTP/1.1\r\nHost: a\r\nCONTENT-LENGTH: 0\r\n\r\n'],
    ['an encoding', 'GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['an encoding with a blank', 'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n'],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n'],
    ['an expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n'],
    ['the end of the connection', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['headers for the connection', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2: 3\r\n\r\n'],
    ['a line without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n'],
    ['a line without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n'],
    ['a bare carriage return', 'GET / HTTP/1.1\r\nHost: a\rX: 1\r\n\r\n'],
    ['a null in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n'],
    ['a name that is no token', 'GET / HTTP/1.1\r\nHost: a\r\nX(: 1\r\n\r\n'],
    ['a head that is large', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'1'.repeat(9000)}\r\n\r\n`],
  ])('leaves %s to others', (_, text) => {
    expect(read(text)).toBeNull()
  })
})

describe('a connection', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
    await world.serve('simple.test', (request, response) => {
      let body = ''
      request.on('data', (piece) => (body += String(piece)))
      request.on('end', () => response.end(`<${request.method} ${request.url} ${body}>`))
    })
  })
  afterAll(() => world.close())
  const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: simple.test\r\n${more}\r\n`

  test('goes on from simple requests to others, and every one is answered', async () => {
    const socket = world.dial()
    let text = ''
    socket.on('data', (piece) => (text += String(piece)))
    for (const [request, answer] of [
      [get('/1'), '<GET /1 >'],
      [get('/2', 'Accept: */*\r\n'), '<GET /2 >'],
      ['POST /3 HTTP/1.1\r\nHost: simple.test\r\nContent-Length: 2\r\n\r\nhi', '<POST /3 hi>'],
      [get('/4'), '<GET /4 >'],
      [get('/5') + get('/6'), '<GET /6 >'],
    ] as const) {
      socket.write(request)
      await until('it is answered', () => text.endsWith(answer) || text.includes(answer))
    }
    expect(text.match(/<GET \/[12456] >/g)?.length).toBe(5)
    expect(text.match(/HTTP\/1.1 200 OK\r\n/g)?.length).toBe(6)
    socket.destroy()
  })

  test('gets the answers to requests that come byte by byte, and while one is under way', async () => {
    const socket = world.dial()
    const all = textOf(socket)
    for (const letter of get('/slow')) {
      socket.write(letter)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const second = world.dial()
    const ofSecond = textOf(second)
    second.write(get('/a'))
    await once(second, 'ready')
    await new Promise((resolve) => setImmediate(resolve))
    second.write(get('/b'))
    second.write(get('/c', 'Connection: close\r\n'))
    expect((await ofSecond).match(/<[^>]*>/g)).toEqual(['<GET /a >', '<GET /b >', '<GET /c >'])
    socket.write(get('/last', 'Connection: close\r\n'))
    expect((await all).match(/<[^>]*>/g)).toEqual(['<GET /slow >', '<GET /last >'])
  })

  test('that says nothing is told so, and one that rests is closed', async () => {
    const hasty = await openWorld({ limits: { headSeconds: 0.3, idleSeconds: 0.3 } })
    try {
      await hasty.serve('simple.test', (_, response) => void response.end('fine'))
      expect(await textOf(hasty.dial())).toMatch(/^HTTP\/1.1 408 /)
      const socket = hasty.dial()
      socket.write(get('/'))
      expect(await textOf(socket)).toMatch(/fine$/)
    } finally {
      await hasty.close()
    }
  })

  test('whose client reads slowly, but reads, is not cut', async () => {
    const strict = await openWorld({ limits: { stalledSeconds: 0.4 } })
    try {
      await strict.serve('large.test', (_, response) => {
        const write = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
          response.once('drain', write)
        }
        write()
      })
      const socket = strict.dial()
      socket.write('GET / HTTP/1.1\r\nHost: large.test\r\n\r\n')
      let isCut = false
      socket.once('close', () => (isCut = true))
      const untilMs = performance.now() + 1_500
      while (performance.now() < untilMs && !isCut) {
        socket.resume()
        await once(socket, 'data')
        socket.pause()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      expect(isCut).toBe(false)
      socket.destroy()
    } finally {
      await strict.close()
    }
  })

  test('ends behind a request that cannot be understood, and what follows is not read', async () => {
    const text = await world.raw('GET / HTTP/1.1\r\nHost: simple.test\r\nHost: other.test\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1.1 400 [^]*\r\nConnection: close\r\n/)
  })

  test('gets a head without a body to HEAD, in chunks what has no length, and the time', async () => {
    await world.serveRaw('raw.test', (socket) => {
      socket.on('data', (piece) =>
        socket.write(
          String(piece).startsWith('HEAD')
            ? 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'
            : 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
        ),
      )
    })
    const socket = world.dial()
    let text = ''
    socket.on('data', (piece) => (text += String(piece)))
    socket.write('HEAD / HTTP/1.1\r\nHost: raw.test\r\n\r\n')
    await until('the head is there', () => text.endsWith('\r\n\r\n'))
    expect(text).toMatch(
      /^HTTP\/1.1 200 OK\r\nContent-Length: 5\r\nDate: \w{3}, [^\r]* GMT\r\nConnection: keep-alive\r\n/,
    )
    text = ''
    socket.write('GET / HTTP/1.1\r\nHost: raw.test\r\n\r\n')
    await until('the end is there', () => text.endsWith('\r\n\r\n2\r\nhi\r\n0\r\n\r\n'))
    expect(text).toContain('\r\nTransfer-Encoding: chunked\r\n')
    socket.destroy()
  })
})
