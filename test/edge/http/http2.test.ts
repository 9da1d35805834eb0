/** Clients that attack by HTTP/2: they are cut, their neighbours go on, and no target sees what two servers could read in two ways. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { ask, openSession, openWorld, textOf, type World } from './ingress-world.ts'
import {
  block,
  endHeaders,
  endStream,
  frame,
  number32,
  openRawSession,
  requestBlock,
  setting,
  text,
  types,
  type RawSession,
} from './http2-frames.ts'

const { headers, data, continuation } = types
const padded = 8
const whole = endStream | endHeaders
const mebibyte = 1024 * 1024
let world: World
let seen: string[]
beforeAll(async () => {
  world = await openWorld({ limits: { stalledSeconds: 0.5, lingerSeconds: 0.3, http2IdleSeconds: 2 } })
  await world.serve('a.test', (request, response) => {
    seen.push(JSON.stringify([request.method, request.url, request.rawHeaders]))
    void textOf(request.on('error', () => undefined)).then((body) => response.end(`fine ${body}`))
  })
  await world.serve('hangs.test', (request) => {
    seen.push('')
    request.on('error', () => undefined).resume()
  })
})
afterAll(() => world.close())
beforeEach(() => {
  seen = []
})
const soon = (what: string, isSo: () => boolean): Promise<void> => until(what, isSo, 10_000, 5)
afterEach(() => soon('nothing is left', () => world.ingress.counts().connections === 0))

const isServed = async (): Promise<void> => expect((await ask(world, 'a.test')).text).toBe('fine ')
const streamOf = (at: number): number => 2 * at + 1
const posted = (host: string): Buffer => frame(headers, endHeaders, 1, requestBlock(host, [[':method', 'POST']]))

/** Sends frames until the session is cut. @returns how many */
async function flood(session: RawSession, make: (at: number) => Buffer, most: number): Promise<number> {
  let sent = 0
  while (sent < most && !session.socket.destroyed && session.socket.writable) {
    session.send(...Array.from({ length: 100 }, () => make(sent++)))
    await new Promise(setImmediate)
  }
  return sent
}

describe('a client is cut that', () => {
  const most = 100_000 // an ended stream leaves credit for some 25,000 of the smallest
  test.each<[string, string, (at: number) => Buffer]>([
    [
      'asks and takes it back, again and again',
      'a.test',
      (at) =>
        Buffer.concat([
          frame(headers, whole, streamOf(at), requestBlock('a.test')),
          frame(types.reset, 0, streamOf(at), number32(8)),
        ]),
    ],
    ['sends settings without an end', 'a.test', () => frame(types.settings, 0, 0, setting(3, 100))],
    ['sends empty settings without an end', 'a.test', () => frame(types.settings, 0, 0)],
    ['pings without an end', 'a.test', () => frame(types.ping, 0, 0, '12345678')],
    ['answers pings that nobody sent', 'a.test', () => frame(types.ping, 1, 0, '12345678')],
    ['sends priorities without an end', 'a.test', (at) => frame(types.priority, 0, streamOf(at), Buffer.alloc(5, 1))],
    ['sends unknown frames without an end', 'a.test', () => frame(99, 0, 0, 'x')],
    ['sends empty pieces of a body', 'hangs.test', (at) => (at === 0 ? posted('hangs.test') : frame(data, 0, 1))],
    [
      'sends padding without a body',
      'hangs.test',
      (at) => (at === 0 ? posted('hangs.test') : frame(data, padded, 1, Buffer.alloc(256, 255).fill(0, 1))),
    ],
    ['opens the window of its session without an end', 'a.test', () => frame(types.window, 0, 0, number32(1))],
    [
      'opens the window of a stream without an end',
      'hangs.test',
      (at) => (at === 0 ? posted('hangs.test') : frame(types.window, 0, 1, number32(1))),
    ],
    [
      'opens the windows of streams that are over',
      'a.test',
      (at) => (at === 0 ? frame(headers, whole, 1, requestBlock('a.test')) : frame(types.window, 0, 1, number32(1))),
    ],
    [
      'takes back what is over, without an end',
      'a.test',
      (at) => (at === 0 ? frame(headers, whole, 1, requestBlock('a.test')) : frame(types.reset, 0, 1, number32(8))),
    ],
    ['sends requests without headers', 'a.test', (at) => frame(headers, whole, streamOf(at))],
    [
      'sends requests that nobody could serve',
      'a.test',
      (at) => frame(headers, whole, streamOf(at), block([['x', 'y']])),
    ],
    [
      'sends headers without an end',
      'a.test',
      (at) =>
        at === 0
          ? frame(headers, endStream, 1, requestBlock('a.test'))
          : frame(continuation, 0, 1, block([['x', 'y'.repeat(1000)]])),
    ],
    [
      'sends empty headers without an end',
      'a.test',
      (at) => (at === 0 ? frame(headers, endStream, 1, requestBlock('a.test')) : frame(continuation, 0, 1)),
    ],
    [
      'opens more streams than it may',
      'hangs.test',
      (at) => frame(headers, endHeaders, streamOf(at), requestBlock('hangs.test', [[':method', 'POST']])),
    ],
  ])('%s, and its neighbour is served', async (_, host, make) => {
    const neighbour = await openSession(world, 'a.test')
    const session = await openRawSession(world, host)
    const [sent] = await Promise.all([flood(session, make, most), isServed()])
    await session.closed
    expect(sent).toBeLessThan(most)
    expect(seen.length).toBeLessThanOrEqual(500) // it may ask for 200 at once, and 20 a second
    const [answered] = (await once(neighbour.request({ ':path': '/' }).resume(), 'response')) as [
      Record<string, unknown>,
    ]
    expect(answered[':status']).toBe(200)
    neighbour.close()
    session.socket.destroy()
  })

  test('opens many streams and lets no byte of their answers pass; and its targets are let go', async () => {
    await world.serve('large.test', (_, response) => void response.write(Buffer.alloc(mebibyte)))
    const session = await openRawSession(world, 'large.test', setting(4, 0))
    session.send(
      ...Array.from({ length: 100 }, (_, at) => frame(headers, whole, streamOf(at), requestBlock('large.test'))),
    )
    await soon('they are under way', () => world.ingress.counts().targetConnections >= 100)
    await isServed()
    await soon('the targets are let go', () => world.ingress.counts().targetConnections < 100)
    expect(session.frames.some(({ type }) => type === data)).toBe(false)
    session.socket.destroy()
  })

  test('asks for small answers and lets none pass', async () => {
    const session = await openRawSession(world, 'a.test', setting(4, 0))
    session.send(frame(headers, whole, 1, requestBlock('a.test')))
    await session.closed
  })

  test('never closes its side of a session that has ended', async () => {
    const socket = await world.dialTls('a.test', { ALPNProtocols: ['h2'], allowHalfOpen: true } as object)
    socket.resume().write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(types.settings, 0, 0)]))
    await once(socket, 'end')
    await soon('it is gone', () => world.ingress.counts().connections === 0)
    socket.destroy()
  })
})

describe('an ordinary client is not cut that', () => {
  const large = 100 * mebibyte
  const folder = mkdtempSync(join(tmpdir(), 'berth-http2-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const sum = async (stream: Readable): Promise<number> => {
    let bytes = 0
    for await (const piece of stream) bytes += (piece as Buffer).length // no encoding is set
    return bytes
  }
  /** What curl gives out of a request, without the body that it sends or reads. */
  async function curl(...words: string[]): Promise<string> {
    const ca = join(folder, 'ca.pem')
    writeFileSync(ca, world.ca)
    const address = `large.test:${world.ingress.securePort}`
    const usual = ['--silent', '--show-error', '--http2', '--cacert', ca, '--resolve', `${address}:127.0.0.1`]
    return (await promisify(execFile)('curl', [...usual, ...words, `https://${address}/`])).stdout
  }
  beforeAll(async () => {
    await world.serve('large.test', (request, response) => {
      if (request.method === 'PUT')
        sum(request).then(
          (bytes) => response.end(String(bytes)),
          () => undefined, // its client is gone
        )
      else
        Readable.from(
          (function* () {
            for (let at = 0; at < large; at += mebibyte) yield Buffer.alloc(mebibyte)
          })(),
        ).pipe(response)
    })
  })

  test('uploads or downloads 100 MiB, as fast as it can', async () => {
    const file = join(folder, 'large')
    writeFileSync(file, '')
    truncateSync(file, large)
    expect(await curl('--upload-file', file)).toBe(String(large))
    expect(await curl('--output', '/dev/null', '--write-out', '%{http_version} %{size_download}')).toBe(`2 ${large}`)
  }, 60_000)

  test('opens both windows after each frame, however small', async () => {
    const messages = 2000
    await world.serve('small.test', (_, response) => {
      let sent = 0
      const more = (): void => {
        if (sent++ === messages) return void response.end()
        response.write(Buffer.alloc(100))
        setImmediate(more)
      }
      more()
    })
    const session = await openRawSession(world, 'small.test')
    session.send(frame(headers, whole, 1, requestBlock('small.test')))
    let seenFrames = 0
    let isOver = false
    session.socket.on('data', () => {
      const opened: Buffer[] = []
      for (const { type, flags, payload } of session.frames.splice(0)) {
        if (type !== data) continue
        seenFrames++
        isOver ||= (flags & endStream) !== 0
        if (payload.length > 0)
          opened.push(...[0, 1].map((stream) => frame(types.window, 0, stream, number32(payload.length))))
      }
      if (opened.length > 0 && session.socket.writable) session.send(...opened)
    })
    await soon('the answer has ended', () => isOver || session.socket.destroyed)
    expect(isOver).toBe(true)
    expect(seenFrames).toBeGreaterThan(500)
    session.socket.destroy()
  }, 60_000)

  test('sends a body that is refused', async () => {
    await world.serve('refuses.test', (_, response) => void response.writeHead(413).end())
    const session = await openSession(world, 'refuses.test')
    for (let time = 0; time < 10; time++) {
      const stream = session
        .request({ ':method': 'POST', ':path': '/' })
        .resume()
        .on('error', () => undefined)
      stream.end(Buffer.alloc(4 * mebibyte))
      const [answered] = (await once(stream, 'response')) as [Record<string, unknown>]
      expect(answered[':status']).toBe(413)
      await new Promise((resolve) => stream.once('close', resolve))
    }
    expect(session.destroyed).toBe(false)
    session.destroy()
  }, 60_000)
})

describe('headers', () => {
  const answerOf = async (make: () => Buffer[]): Promise<RawSession> => {
    const session = await openRawSession(world, 'a.test')
    session.send(...make())
    await soon('it is answered', () => session.socket.destroyed || session.frames.some(({ stream }) => stream > 0))
    session.socket.destroy()
    return session
  }

  test.each<[string, [string, string][]]>([
    ['a name in capitals', [['X-Upper', 'a']]],
    ['Connection', [['connection', 'keep-alive']]],
    ['Keep-Alive', [['keep-alive', 'timeout=5']]],
    ['Proxy-Connection', [['proxy-connection', 'keep-alive']]],
    ['Upgrade', [['upgrade', 'h2c']]],
    ['TE', [['te', 'gzip']]],
    ['a transfer encoding', [['transfer-encoding', 'chunked']]],
    ['a host other than the authority', [['host', 'b.test']]],
    [
      'two hosts',
      [
        ['host', 'a.test'],
        ['host', 'b.test'],
      ],
    ],
    ['a line end in the path', [[':path', '/ HTTP/1.1\r\nX: y']]],
    [
      'two paths',
      [
        [':path', '/a'],
        [':path', '/b'],
      ],
    ],
    ['no path', [[':path', '']]],
    ['a path with NUL', [[':path', '/\0']]],
    ['a path with a fragment', [[':path', '/x#y']]],
    ['an address as its path', [[':path', 'http://b.test/']]],
    ['a line end in the method', [[':method', 'GET / HTTP/1.1\r\nX: y']]],
    ['a tunnel', [[':method', 'CONNECT']]],
    [
      'a web socket',
      [
        [':method', 'CONNECT'],
        [':protocol', 'websocket'],
      ],
    ],
    ['an unknown field of the protocol', [[':evil', 'x']]],
    ['a user in the authority', [[':authority', 'x@a.test']]],
    ['a line end in the authority', [[':authority', 'a.test\r\nX: y']]],
    [
      'two authorities',
      [
        [':authority', 'a.test'],
        [':authority', 'b.test'],
      ],
    ],
    ['a line end in the scheme', [[':scheme', 'x\r\ny']]],
    [
      'two lengths',
      [
        ['content-length', '0'],
        ['content-length', '5'],
      ],
    ],
    ['a length and no body', [['content-length', '5']]],
    ['a length that is none', [['content-length', '-1']]],
    ['an unknown expectation', [['expect', 'the-unexpected']]],
  ])('with %s are refused', async (_, more) => {
    await answerOf(() => [frame(headers, whole, 1, requestBlock('a.test', more))])
    expect(seen).toEqual([])
  })

  test.each([
    ['a value with a line end', 'x', 'a\r\nEvil: yes'],
    ['a value with NUL', 'x', 'a\0b'],
    ['a name with a space', 'x y', 'a'],
    ['a name with a colon', 'x:y', 'a'],
    ['a name with a line end', 'x\r\ny', 'a'],
    ['no name', '', 'a'],
  ])('with %s lose it', async (_, name, value) => {
    await answerOf(() => [frame(headers, whole, 1, requestBlock('a.test', [[name, value]]))])
    expect(seen.length).toBe(1)
    const names = (JSON.parse(seen[0] ?? '') as [string, string, string[]])[2].filter((_, at) => at % 2 === 0)
    expect(names).toEqual(['Host', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'Forwarded'])
  })

  test('that are larger than 32 KiB, or more than 200, are refused, however small they are sent', async () => {
    const remembered = Buffer.concat([Buffer.from([0x40]), text('x'), text('y'.repeat(4000))]) // HPACK's table takes it
    const bomb = Buffer.concat([requestBlock('a.test'), remembered, Buffer.alloc(4000, 0x80 + 62)])
    const many = Buffer.concat([
      requestBlock('a.test'),
      Buffer.concat(Array.from({ length: 300 }, () => block([['x', 'y']]))),
    ])
    for (const request of [bomb, many]) await answerOf(() => [frame(headers, whole, 1, request)])
    const long = Array.from({ length: 3 }, () => block([['x', 'y'.repeat(15_000)]]))
    await answerOf(() => [
      frame(headers, endStream, 1, requestBlock('a.test')),
      ...long.map((one, at) => frame(continuation, at === 2 ? endHeaders : 0, 1, one)),
    ])
    expect(seen).toEqual([])
  })
})

describe('a body', () => {
  const post = (more: [string, string][]): Buffer =>
    frame(headers, endHeaders, 1, requestBlock('a.test', [[':method', 'POST'], ...more]))

  test.each([
    ['longer than it says', '2', 'hello'],
    ['shorter than it says', '9', 'hello'],
  ])('that is %s reaches no target whole', async (_, length, body) => {
    const session = await openRawSession(world, 'a.test')
    session.send(post([['content-length', length]]), frame(data, endStream, 1, body))
    await soon('it is refused', () => session.frames.some(({ type }) => type === types.reset || type === types.goaway))
    session.socket.destroy()
    await isServed()
    expect(session.frames.filter(({ type }) => type === headers)).toEqual([])
  })

  test('has trailers, which are left out', async () => {
    const session = await openRawSession(world, 'a.test')
    session.send(
      post([['trailer', 'x-evil']]),
      frame(data, 0, 1, 'hello'),
      frame(headers, whole, 1, block([['x-evil', 'yes']])),
    )
    await soon('it is answered', () => session.frames.some(({ flags, type }) => type === data && flags === endStream))
    expect(String(session.frames.find(({ type }) => type === data)?.payload)).toBe('fine hello')
    expect(seen.join('')).not.toMatch(/evil|content-length/i)
    session.socket.destroy()
  })
})

test('the port without TLS does not speak it', async () => {
  expect(await world.raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 |^$/)
  await isServed()
})
