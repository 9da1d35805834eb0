/** What passes through the ingress, both ways: requests and answers of each kind, unchanged where they are to be. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { ask, openSession, openWorld, textOf, type World } from './ingress-world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ trustedProxies: [] })
})
afterAll(() => world.close())

const mebibyte = 1024 ** 2

describe('an answer', () => {
  test('comes with its status, headers and body, and the next one on the same connection to the target', async () => {
    await world.serve('a.test', (request, response) => {
      response.setHeader('x-one', ['1', '2'])
      response.writeHead(201, 'Made So', { 'content-type': 'text/x-y' }).end(`${request.method} ${request.url}`)
    })
    const before = world.reached()
    const first = await ask(world, 'a.test', '/x?y=%2F')
    expect([first.status, first.text, first.headers['content-type']]).toEqual([201, 'GET /x?y=%2F', 'text/x-y'])
    expect(first.raw.filter((_, at) => first.raw[at - 1] === 'x-one')).toEqual(['1', '2'])
    expect((await ask(world, 'a.test', '/again')).text).toBe('GET /again')
    expect(world.reached() - before).toBe(1)
  })

  test.each([
    ['HEAD', 200, { 'content-length': '5' }, ''],
    ['GET', 204, {}, ''],
    ['GET', 304, { etag: '"x"' }, ''],
    ['GET', 200, { 'content-length': '0' }, ''],
  ])('to %s with %i has no body, and the connection goes on', async (method, status, headers, text) => {
    const host = `bare-${method}-${status}-${Object.keys(headers).length}.test`.toLowerCase()
    await world.serve(host, (_, response) => void response.writeHead(status, headers).end())
    const answer = await ask(world, host, '/', { method })
    expect([answer.status, answer.text]).toEqual([status, text])
    expect(answer.headers).toMatchObject(headers)
    expect((await ask(world, host, '/', { method })).status).toBe(status)
  })

  test('of an old server, which ends with its connection, is passed on in chunks', async () => {
    await world.serveRaw('old.test', (socket) => {
      socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\nto the end'))
    })
    const answer = await ask(world, 'old.test')
    expect([answer.text, answer.headers['x-old'], answer.headers['transfer-encoding']]).toEqual([
      'to the end',
      'yes',
      'chunked',
    ])
  })

  test('in chunks with extensions and trailers loses these, and keeps its bytes', async () => {
    await world.serveRaw('chunks.test', (socket) => {
      socket.on('data', () => {
        for (const piece of 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n5;a=b\r\nhello\r\n06\r\n world\r\n0\r\nx: y\r\n\r\n')
          socket.write(piece) // in pieces of one byte
      })
    })
    const answer = await ask(world, 'chunks.test')
    expect([answer.text, answer.headers.trailer]).toEqual(['hello world', undefined])
    expect((await ask(world, 'chunks.test')).text).toBe('hello world')
  })

  test('comes piece by piece, as a stream of events does, and its end ends the request at the target', async () => {
    const gone = Promise.withResolvers<void>()
    let send = (_text: string): void => undefined
    await world.serve('events.test', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      send = (text) => void response.write(text)
      response.on('close', () => gone.resolve())
    })
    const request = httpRequest({
      host: '127.0.0.1',
      port: world.ingress.port,
      headers: { host: 'events.test' },
      agent: false,
    }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      send(text)
      const [piece] = (await once(response, 'data')) as [Buffer]
      expect(String(piece)).toBe(text)
    }
    response.destroy()
    await gone.promise
  })

  test('that nobody reads holds the target back', async () => {
    let written = 0
    await world.serve('large.test', (_, response) => {
      const write = (): void => {
        while (written < 200 * mebibyte && !response.destroyed) {
          written += mebibyte
          if (!response.write(Buffer.alloc(mebibyte))) return void response.once('drain', write)
        }
      }
      write()
    })
    const socket = world.dial()
    socket.write('GET / HTTP/1.1\r\nHost: large.test\r\n\r\n')
    await once(socket, 'readable')
    let before = -1
    await until('the target is held', () => written === before || ((before = written), false), 20_000, 200)
    expect(written).toBeLessThan(50 * mebibyte)
    socket.destroy()
  })
})

describe('a request', () => {
  test('comes with its headers but those of the connection, and what we say of its origin', async () => {
    await world.serve('headers.test', (request, response) => void response.end(JSON.stringify(request.rawHeaders)))
    const { text } = await ask(world, 'headers.test', '/', {
      headers: {
        'x-kept': 'ÿ',
        'x-dropped': 'yes',
        connection: 'X-Dropped, host, content-length',
        te: 'trailers',
        'keep-alive': 'timeout=5',
        'proxy-connection': 'keep-alive',
        'x-forwarded-for': '1.2.3.4',
        X_Forwarded_For: '1.2.3.4',
        forwarded: 'for=1.2.3.4',
        'x-real-ip': '1.2.3.4',
      },
    })
    const raw = JSON.parse(Buffer.from(text, 'latin1').toString()) as string[]
    const sent = Object.fromEntries(
      raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1]]] : [])),
    )
    expect(sent).toEqual({
      host: 'headers.test',
      'x-kept': 'ÿ',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'headers.test',
      forwarded: 'for=127.0.0.1;host="headers.test";proto=http',
    })
  })

  test('of a trusted proxy keeps what that says of its own client', async () => {
    const trusting = await openWorld({ trustedProxies: ['127.0.0.0/8'] })
    try {
      await trusting.serve('trusted.test', (request, response) => void response.end(JSON.stringify(request.headers)))
      const given = { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'real.test' }
      const { text } = await ask(trusting, 'trusted.test', '/', { headers: { ...given, 'x-real-ip': '1.2.3.4' } })
      const sent = JSON.parse(text) as Record<string, string>
      expect(sent).toMatchObject({ ...given, 'x-forwarded-for': '1.2.3.4, 127.0.0.1' })
      expect(sent['x-real-ip']).toBeUndefined()
    } finally {
      await trusting.close()
    }
  })

  test.each(['length', 'chunked'])('with a body of 40 MB (%s) arrives whole', async (how) => {
    let received = 0
    await world.serve(`upload-${how}.test`, (request, response) => {
      request.on('data', (piece: Buffer) => {
        received += piece.length
      })
      request.on('end', () => response.end(`${received} ${request.headers['content-length'] ?? 'chunked'}`))
    })
    const sizeBytes = 40 * mebibyte
    const request = httpRequest({
      host: '127.0.0.1',
      port: world.ingress.port,
      method: 'PUT',
      headers: { host: `upload-${how}.test`, ...(how === 'length' ? { 'content-length': sizeBytes } : {}) },
      agent: false,
    })
    const answer = once(request, 'response') as Promise<[IncomingMessage]>
    for (let sent = 0; sent < sizeBytes; sent += mebibyte)
      if (!request.write(Buffer.alloc(mebibyte, 1))) await once(request, 'drain')
    request.end()
    expect(await textOf((await answer)[0])).toBe(`${sizeBytes} ${how === 'length' ? sizeBytes : 'chunked'}`)
  })

  test('that waits for 100 Continue gets it from the target, or its refusal without sending the body', async () => {
    await world.serveRaw('continue.test', (socket) => {
      let got = ''
      socket.on('data', (piece) => {
        got += String(piece)
        if (got.includes('refuse')) return void socket.end('HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno')
        if (got.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
        if (got.endsWith('body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const begin = (path: string): ReturnType<typeof world.dial> => {
      const socket = world.dial()
      socket.write(`PUT ${path} HTTP/1.1\r\nHost: continue.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`)
      return socket
    }
    const socket = begin('/')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 100 /)
    socket.write('body')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200 [^]*ok$/)
    socket.destroy()
    expect(await textOf(begin('/refuse'))).toMatch(/^HTTP\/1.1 413 No\r\n[^]*no$/)
  })

  test('that is answered before its body has ended gets the answer, and then the connection ends', async () => {
    await world.serve('early.test', (_, response) => void response.writeHead(413).end('too large'))
    const socket = world.dial()
    socket.write('POST / HTTP/1.1\r\nHost: early.test\r\nContent-Length: 1000000000\r\n\r\nbegin')
    const text = await textOf(socket)
    expect(text).toMatch(/^HTTP\/1.1 413 /)
    expect(text).toMatch(/Connection: close/i)
    expect(text).toContain('too large')
    socket.destroy()
  })

  test('that breaks off in its body ends at the target too, and the next one is answered', async () => {
    const cut = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    await world.serve('broken.test', (request, response) => {
      if (request.method === 'GET') return void response.end('fine')
      arrived.resolve()
      request.on('error', () => cut.resolve())
      request.resume()
    })
    const socket = world.dial()
    socket.write('POST / HTTP/1.1\r\nHost: broken.test\r\nContent-Length: 1000\r\n\r\nbegin')
    await arrived.promise
    socket.destroy()
    await cut.promise
    expect((await ask(world, 'broken.test')).text).toBe('fine')
  })

  test('is sent once more, where its target closed the connection meanwhile; one that changes something is not', async () => {
    const seen: string[] = []
    await world.serveRaw('stale.test', (socket) => {
      let requests = 0
      socket.on('data', (piece) => {
        seen.push(String(piece).slice(0, 4).trim())
        if (++requests > 1) return void socket.destroy() // as one whose time was over
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    for (const status of [200, 200]) expect((await ask(world, 'stale.test')).status).toBe(status)
    expect(seen).toEqual(['GET', 'GET', 'GET'])
    expect((await ask(world, 'stale.test', '/', { method: 'POST' })).status).toBe(502)
    expect(seen.slice(3)).toEqual(['POST'])
  })
})

describe('by HTTP/2', () => {
  test('requests pass with their bodies and cookies, and answers with theirs', async () => {
    await world.serve('two.test', (request, response) => {
      response.setHeader('set-cookie', ['a=1', 'b=2'])
      void textOf(request).then((body) => response.end(JSON.stringify({ body, url: request.url, ...request.headers })))
    })
    const session = await openSession(world, 'two.test')
    const ask = (
      headers: Record<string, string | string[]>,
      body?: string,
    ): Promise<[Record<string, unknown>, Record<string, unknown>]> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':authority': 'two.test', ...headers }, { endStream: body === undefined })
        let told: Record<string, unknown> = {}
        let text = ''
        stream.on('response', (given) => (told = given))
        stream.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        stream.on('end', () => resolve([told, JSON.parse(text || '{}') as Record<string, unknown>])).on('error', reject)
        if (body !== undefined) stream.end(body)
      })
    const [told, sent] = await ask({ ':path': '/p?q', cookie: ['x=1', 'y=2'] })
    expect(told).toMatchObject({ ':status': 200, 'set-cookie': ['a=1', 'b=2'] })
    expect(sent).toMatchObject({
      url: '/p?q',
      host: 'two.test',
      cookie: 'x=1; y=2',
      'x-forwarded-proto': 'https',
      body: '',
    })
    const [, posted] = await ask({ ':method': 'POST', ':path': '/' }, 'a body')
    expect(posted).toMatchObject({ body: 'a body', 'transfer-encoding': 'chunked' })
    const several = await Promise.all(Array.from({ length: 20 }, (_, at) => ask({ ':path': `/${at}` })))
    expect(several.map(([, { url }]) => url)).toEqual(Array.from({ length: 20 }, (_, at) => `/${at}`))
    session.close()
  })

  test('and by HTTPS with HTTP/1.1 they pass too', async () => {
    await world.serve(
      'secure.test',
      (request, response) => void response.end(String(request.headers['x-forwarded-proto'])),
    )
    const socket = await world.dialTls('secure.test', { ALPNProtocols: ['http/1.1'] })
    socket.write('GET / HTTP/1.1\r\nHost: secure.test\r\nConnection: close\r\n\r\n')
    expect(await textOf(socket)).toMatch(/^HTTP\/1.1 200 [^]*https/)
  })

  test('a request for another host than the connection’s is misdirected', async () => {
    await world.serve('one.test', (_, response) => void response.end())
    await world.serve('other.test', (_, response) => void response.end())
    const socket = await world.dialTls('one.test', { ALPNProtocols: ['http/1.1'] })
    socket.write('GET / HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n')
    expect(await textOf(socket)).toMatch(/^HTTP\/1.1 421 /)
    const session = await openSession(world, 'one.test')
    const stream = session.request({ ':authority': 'other.test', ':path': '/' })
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(headers[':status']).toBe(421)
    session.destroy()
  })
})
