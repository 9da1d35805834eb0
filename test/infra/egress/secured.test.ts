/** TLS towards the hosts of a machine's secrets: opened, read, and sealed again. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { closed, vm, type EgressWorld } from '../../support/egress-world.ts'
import { heard, heardUntil, securedWorldForEach, type SecuredWorld } from '../../support/secured-world.ts'

let secured: SecuredWorld
let world: EgressWorld
const restart = securedWorldForEach((fresh) => {
  secured = fresh
  world = fresh.world
})

describe('towards the host of a secret', () => {
  test('it is replaced in a header, in a JSON body and in basic authorization', async () => {
    const [one, inBody] = [
      world.give(),
      world.give({ inBody: true, secret: 'a longer secret than its placeholder, by a few letters' }),
    ]
    const sent = await secured.send(
      [
        '-H',
        `Authorization: Bearer ${one}`,
        '-H',
        'Content-Type: application/json',
        '-d',
        `{"key":"${inBody}","left":"${one}"}`,
      ],
      `${secured.url()}a?b=${one}`,
    )
    expect(sent).toMatchObject({
      path: `/a?b=${one}`,
      headers: { authorization: 'Bearer the-secret', host: `open.test:${secured.port}` },
      body: `{"key":"a longer secret than its placeholder, by a few letters","left":"${one}"}`,
    })
    const { headers } = await secured.send(['-u', `me:${one}`])
    expect(Buffer.from(headers['authorization']!.slice('Basic '.length), 'base64').toString()).toBe('me:the-secret')
  })

  test('a guest that would speak HTTP/2 is offered HTTP/1.1, and so is the host', async () => {
    const offered: (string | false | null)[] = []
    secured.server.on('secureConnection', ({ alpnProtocol }: TLSSocket) => offered.push(alpnProtocol))
    world.give()
    const { body, error } = await secured.curl([
      '-v',
      '--http2',
      '-o',
      '/dev/null',
      '-w',
      '%{http_version}',
      secured.url(),
    ])
    expect(body).toBe('1.1')
    expect(error).toContain('ALPN: server accepted http/1.1')
    expect(offered).toEqual(['http/1.1'])
  })

  test('requests of one connection follow each other on one connection to the host', async () => {
    const placeholder = world.give()
    const inside = await secured.inside()
    for (const path of ['/1', '/2', '/3']) {
      inside.write(secured.ask(placeholder, path))
      expect(await heard(inside)).toMatch(new RegExp(`^HTTP/1\\.1 200 [^]*"path":"${path}"[^]*\\*{10}`))
      expect(secured.seen.at(-1)?.headers['x-key']).toBe('the-secret')
    }
    inside.write(secured.ask(placeholder, '/4') + secured.ask(placeholder, '/5')) // at once
    const both = await heardUntil(inside, '"/5"')
    expect(both.indexOf('"/4"')).toBeLessThan(both.indexOf('"/5"'))
    expect(secured.connections).toBe(1)
    expect(world.egress.reached(vm)).toEqual([
      expect.objectContaining({ host: 'open.test', port: secured.port, verdict: 'allowed', count: 1 }),
    ])
  })

  test('when the host ends a connection, the guest’s ends too, after its answer', async () => {
    const placeholder = world.give()
    secured.handler = (_req, res) => void res.writeHead(200, { connection: 'close' }).end('last')
    const inside = await secured.inside()
    inside.write(secured.ask(placeholder))
    const answer = await text(inside)
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n[^]*last/i)
    secured.handler = (_req, res) => void res.end('ok', () => setImmediate(() => res.socket?.destroy()))
    const { body } = await secured.curl([secured.url(), secured.url()]) // curl asks again where its kept connection is gone
    expect(body).toBe('okok')
  })

  test('an answer is streamed as it comes', async () => {
    const placeholder = world.give()
    let next: (event: string) => void = () => undefined
    secured.handler = (req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`data: ${String(req.headers['x-key'])}\n\n`)
      next = (event) => res.write(event)
    }
    const inside = await secured.inside()
    inside.write(secured.ask(placeholder))
    await heardUntil(inside, 'data: **********\n\n')
    next('data: second\n\n')
    expect(await heard(inside)).toContain('data: second\n\n')
    inside.destroy()
  })

  test('20 MB go out and come back unchanged, chunked and with a length', async () => {
    world.give({ inBody: true })
    secured.handler = (req, res) => void req.pipe(res)
    const sent = randomBytes(10 * 1024 * 1024).toString('hex')
    for (const args of [['-H', 'Transfer-Encoding: chunked'], []]) {
      const { body, error } = await secured.curl(['--data-binary', '@-', ...args, secured.url()], sent)
      expect(body === sent, error).toBe(true) // not toBe(sent): a difference would print 20 MB
    }
  })

  test('it works the same through the reverse forward of a real SSH connection', async () => {
    const placeholder = world.give()
    await world.overSsh()
    expect((await secured.send(['-H', `X-Key: ${placeholder}`])).headers['x-key']).toBe('the-secret')
    await expect.poll(() => world.openChannels).toBe(0)
  })
})

describe('web sockets', () => {
  const upgrade = (placeholder: string): string =>
    `GET /socket HTTP/1.1\r\nHost: open.test:${secured.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nAuthorization: Bearer ${placeholder}\r\n\r\n`
  /** A frame as a host sends it; one that is not the last of its message, or no message but a ping. */
  const frame = (
    payload: string | Buffer,
    { isLast = true, opcode = 1 }: { isLast?: boolean; opcode?: number } = {},
  ): Buffer => {
    const length = Buffer.byteLength(payload)
    const size =
      length < 126
        ? Buffer.of(length)
        : length < 65_536
          ? Buffer.of(126, length >> 8, length & 255)
          : Buffer.concat([Buffer.of(127), Buffer.from(length.toString(16).padStart(16, '0'), 'hex')])
    return Buffer.concat([Buffer.of((isLast ? 0x80 : 0) | opcode), size, Buffer.from(payload)])
  }
  /** Opens one to a host that answers with these bytes; what the host was sent first is told too. */
  async function open(
    placeholder: string,
    answer: string,
    says: readonly Buffer[],
  ): Promise<{ inside: TLSSocket; heardAtHost: Promise<string>; headers: Record<string, unknown> }> {
    const taken = Promise.withResolvers<{ heardAtHost: Promise<string>; headers: Record<string, unknown> }>()
    secured.server.on('upgrade', (req, socket: TLSSocket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${answer}\r\n`)
      for (const one of says) socket.write(one)
      taken.resolve({ heardAtHost: heard(socket), headers: req.headers })
    })
    const inside = await secured.inside()
    inside.write(upgrade(placeholder))
    return { inside, ...(await taken.promise) }
  }
  /** So many bytes behind the header of the answer. */
  const bytesBehind = async (inside: TLSSocket, count: number): Promise<{ header: string; bytes: Buffer }> => {
    let all = Buffer.alloc(0)
    const begin = (): number => all.indexOf('\r\n\r\n') + 4
    while (begin() < 4 || all.length < begin() + count)
      all = Buffer.concat([all, (await once(inside, 'data'))[0] as Buffer])
    return { header: all.subarray(0, begin()).toString('latin1'), bytes: all.subarray(begin()) }
  }

  test('its request carries the secret, no compression is offered, and the guest’s messages are unchanged', async () => {
    const placeholder = world.give({ inBody: true })
    const hello = frame('hello')
    const { inside, heardAtHost, headers } = await open(placeholder, '', [hello])
    expect(headers).toMatchObject({ authorization: 'Bearer the-secret' })
    expect(headers).not.toHaveProperty('sec-websocket-extensions')
    const { header, bytes } = await bytesBehind(inside, hello.length)
    expect(header).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\nUpgrade: websocket\r\n/)
    expect(bytes).toEqual(hello)
    inside.write(placeholder)
    expect(await heardAtHost).toBe(placeholder)
    inside.end()
    await closed(inside)
  })

  test('a secret in the host’s messages is masked, across frames and parts of them, and nothing else waits or changes', async () => {
    const placeholder = world.give()
    const long = 'x'.repeat(70_000)
    const said = [
      frame('it is the-secret.'),
      frame('ends with the-sec'),
      frame('the-sec', { isLast: false }),
      frame('the-secret', { opcode: 9 }),
      frame('', { isLast: false, opcode: 0 }),
      frame('ret and more', { opcode: 0 }),
      frame(Buffer.from([0, 255, 116]), { opcode: 2 }),
      frame(`${long}the-secret`),
      frame(''),
      frame('the-sec', { isLast: false }),
      frame('ond', { opcode: 0 }),
    ]
    const shown = Buffer.concat([
      frame('it is **********.'),
      frame('ends with the-sec'),
      frame('*******', { isLast: false }),
      frame('**********', { opcode: 9 }),
      frame('', { isLast: false, opcode: 0 }),
      frame('*** and more', { opcode: 0 }),
      frame(Buffer.from([0, 255, 116]), { opcode: 2 }),
      frame(`${long}**********`),
      frame(''),
      frame('the-sec', { isLast: false }),
      frame('ond', { opcode: 0 }),
    ])
    const bytes = Buffer.concat(said)
    for (const pieces of [
      [bytes],
      Array.from(bytes.subarray(0, 120), (byte) => Buffer.of(byte)).concat(bytes.subarray(120)),
    ]) {
      secured.server.removeAllListeners('upgrade')
      const { inside } = await open(placeholder, 'X-Echo: the-secret\r\n', pieces)
      const back = await bytesBehind(inside, shown.length)
      expect(back.header).toContain('X-Echo: ***\r\n')
      expect(back.bytes.equals(shown)).toBe(true)
      inside.destroy()
    }
  })

  test('a host that compresses its messages all the same, or sends invalid frames, is cut', async () => {
    const placeholder = world.give()
    const packing = await open(placeholder, 'Sec-WebSocket-Extensions: permessage-deflate\r\n', [])
    expect(await text(packing.inside)).toMatch(/^HTTP\/1\.1 502 [^]*a web socket extension that it was not offered/)
    secured.server.removeAllListeners('upgrade')
    const masking = await open(placeholder, '', [Buffer.from([0x81, 0x85, 1, 2, 3, 4, 5, 6, 7, 8, 9])])
    await closed(masking.inside)
  })

  test('a host that declines answers the guest', async () => {
    secured.server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'))
    const placeholder = world.give()
    const inside = await secured.inside()
    inside.write(upgrade(placeholder))
    expect(await text(inside)).toMatch(/^HTTP\/1\.1 403 [^]*\r\n\r\nno$/)
  })
})

describe('when it ends', () => {
  test('a guest that disconnects in the middle ends its connection to the host', async () => {
    const placeholder = world.give()
    const gone = Promise.withResolvers<void>()
    secured.handler = (req, res) => {
      req.socket.once('close', () => gone.resolve())
      res.write('begun')
    }
    const inside = await secured.inside()
    inside.write(secured.ask(placeholder))
    await heard(inside)
    inside.destroy()
    await gone.promise
  })

  test('a guest that leaves before anything was sent, or sends no valid HTTP, leaves nothing behind', async () => {
    world.give()
    const inside = await secured.inside()
    inside.write('garbage\r\n\r\n')
    expect(await text(inside)).toMatch(/^HTTP\/1\.1 400 /)
    for (const bytes of ['', '\u0016\u0003', '\u0016\u0003\u0001\u0000\u0005\u0001']) {
      const socket = await world.openTunnel(`open.test:${secured.port}`)
      socket.write(bytes)
      socket.destroy()
    }
    expect((await secured.send([])).body).toBe('') // the log of errors would have failed the test
    await expect
      .poll(() => new Promise((resolve) => secured.server.getConnections((_error, count) => resolve(count))))
      .toBe(0)
  })

  test('a host that closes without an answer, or in the middle of one, is not taken for one that answered', async () => {
    const placeholder = world.give()
    secured.handler = (req) => void req.socket.destroy()
    expect((await secured.curl(['-i', '-H', `X-Key: ${placeholder}`, secured.url()])).body).toMatch(
      /^HTTP\/1\.1 502 [^]*closed the connection before it answered/,
    )
    secured.handler = (req, res) => void res.write('half', () => req.socket.destroy())
    expect((await secured.curl(['-H', `X-Key: ${placeholder}`, secured.url()])).code).not.toBe(0)
  })

  test('a silent connection is closed after its time, and a new policy closes at once', async () => {
    await restart({ limits: { idleMs: 300 } })
    const placeholder = world.give()
    secured.handler = (_req, res) => void res.write('begun')
    const silent = await secured.inside()
    silent.write(secured.ask(placeholder))
    await closed(silent)
    await restart()
    world.give()
    const refused = await secured.inside()
    world.egress.setPolicy(vm, { type: 'none' })
    await closed(refused)
  })

  test('while secrets cannot be read, the last known ones are used, and a machine that was never looked up is told to try again', async () => {
    let broken = true
    const errors: object[] = []
    await restart({
      findSecretHosts: async () => (broken ? Promise.reject(new Error('no database')) : [['open.test']]),
      onError: (fields) => errors.push(fields),
    })
    const placeholder = world.give()
    const connect = `CONNECT open.test:${secured.port} HTTP/1.1\r\n\r\n`
    expect(await world.exchange(connect)).toMatch(
      /^HTTP\/1\.1 503 Service Unavailable \(Berth: secrets unknown\)\r\n[^]*Try again in a few seconds\.\n$/,
    )
    broken = false
    await secured.send([])
    broken = true
    expect((await secured.send(['-H', `X-Key: ${placeholder}`])).headers['x-key']).toBe('the-secret')
    expect(errors).toHaveLength(2)
  })
})
