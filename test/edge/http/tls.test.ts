/** The beginning of TLS connections: greetings of every kind, names that do not fit, and an authority's challenges. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { challengeContext } from '#src/drivers/acme/challenges.ts'
import { createAuthority, type EgressAuthority } from '#src/drivers/compute/egress/authority.ts'
import { openSession, openWorld, textOf, type World } from './ingress-world.ts'

const proof = Buffer.alloc(32, 7).toString('base64url')
let world: World
let folder: string
let authority: EgressAuthority
let ca: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tls-'))
  authority = createAuthority(folder, 'databases')
  ca = await authority.certificate()
  const wildcard = await authority.contextFor('*.many.test')
  world = await openWorld({
    limits: { unprovenPerAddress: 2000, connectionsPerAddress: 2000 },
    secureContextOf: async (name) =>
      world.routes.hasHost(name) ? (name.endsWith('.many.test') ? wildcard : authority.contextFor(name)) : null,
    challengeContextOf: async (name) => (world.routes.hasHost(name) ? challengeContext(name, proof) : null),
  })
  for (const host of ['a.test', 'one.many.test', 'two.many.test'])
    await world.serve(host, (_, response) => void response.end(host))
  world.route('db.test', await world.serve('unused.test', () => undefined), { access: 'database' })
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true })
})

const get = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

/** Asks over TLS, on a connection whose client writes as it likes. */
async function askOver(socket: Duplex, options: ConnectionOptions = {}): Promise<string> {
  const secured = connectTls({ socket, servername: 'a.test', ca, ALPNProtocols: ['http/1.1'], ...options })
  secured.on('error', () => undefined)
  secured.write(get('a.test'))
  return textOf(secured)
}

function dial(): Socket {
  const socket = connect({ host: '127.0.0.1', port: world.ingress.securePort, noDelay: true })
  return socket.on('error', () => undefined)
}

/** A connection on which everything is sent in pieces of so many bytes, each in a packet of its own. */
function dialInPieces(sizeBytes: number): Duplex {
  const socket = dial()
  const duplex = new Duplex({
    read: () => void socket.resume(),
    write(bytes: Buffer, _, done) {
      const next = (at: number): void => {
        if (at >= bytes.length) return done()
        socket.write(bytes.subarray(at, at + sizeBytes), () => setImmediate(next, at + sizeBytes))
      }
      next(0)
    },
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (bytes) => duplex.push(bytes) || socket.pause()).on('end', () => duplex.push(null))
  return duplex
}

describe('a greeting', () => {
  test.each([1, 3, 64])('that comes in pieces of %i bytes is understood', async (sizeBytes) => {
    expect(await askOver(dialInPieces(sizeBytes))).toMatch(/^HTTP\/1\.1 200 [^]*a\.test$/)
  })

  test('of 12 KiB is understood, and one that is larger than 16 KiB is not', async () => {
    const protocols = (count: number): string[] => [
      'http/1.1',
      ...Array.from({ length: count }, (_, at) => `${at}`.padEnd(199, 'x')),
    ]
    expect(await askOver(dial(), { ALPNProtocols: protocols(60) })).toMatch(/^HTTP\/1\.1 200 /)
    expect(await askOver(dial(), { ALPNProtocols: protocols(90) })).toBe('')
  })

  test.each([
    ['no name', ''],
    ['a name that nothing has', 'unknown.test'],
    ['an address', '127.0.0.1'],
    ['the beginning of a name', 'a.tes'],
    ['a name behind a dot', '.a.test'],
    ['a name with a star', '*.test'],
  ])('with %s gets the alert for it', async (_, name) => {
    const hello = await greetingFor('x'.repeat(name.length || 1))
    const socket = dial()
    socket.write(name === '' ? await greetingFor('') : renamed(hello, name))
    expect(Buffer.from(await textOf(socket), 'latin1').toString('hex')).toBe('15030100020270') // fatal, unrecognized_name
  })

  test('of an old version of TLS gets none', async () => {
    const socket = connectTls({
      host: '127.0.0.1',
      port: world.ingress.securePort,
      servername: 'a.test',
      ca,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    })
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toMatch(/protocol version|unsupported protocol/i)
  })

  test('of which a thousand come by half keeps nobody else waiting', async () => {
    const half = (await greetingFor('a.test')).subarray(0, 100)
    const halves = Array.from({ length: 1000 }, () => dial())
    for (const socket of halves) socket.write(half)
    await Promise.all(halves.map((socket) => once(socket, 'connect')))
    expect(await askOver(dial())).toMatch(/^HTTP\/1\.1 200 /)
    for (const socket of halves) socket.destroy()
  })
})

test('a client that negotiates again is cut, and a neighbour goes on', async () => {
  const socket = await world.dialTls('a.test', { ca, ALPNProtocols: ['http/1.1'], maxVersion: 'TLSv1.2' })
  const cut = textOf(socket)
  socket.renegotiate({}, () => undefined)
  expect(await cut).toMatch(/^(?:HTTP\/1\.1 400 |$)/)
  expect(await askOver(dial())).toMatch(/^HTTP\/1\.1 200 /)
})

test('a client that uses its connection for another host of the same certificate is told to open one for that', async () => {
  const session = await openSession(
    { ...world, dialTls: (name, more) => world.dialTls(name, { ...more, ca }) },
    'one.many.test',
  )
  const statusOf = async (authority: string): Promise<unknown> => {
    const stream = session.request({ ':authority': authority, ':path': '/' })
    const [headers] = (await once(stream.resume(), 'response')) as [Record<string, unknown>]
    return headers[':status']
  }
  expect([await statusOf('one.many.test'), await statusOf('two.many.test'), await statusOf('one.many.test')]).toEqual([
    200, 421, 200,
  ])
  session.destroy()
  const socket = await world.dialTls('one.many.test', { ca, ALPNProtocols: ['http/1.1'] })
  socket.write(get('two.many.test'))
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 421 /)
})

describe('an authority', () => {
  test.each(['a.test', 'db.test'])('that proves %s is shown the challenge, and nothing is passed on', async (host) => {
    const before = world.reached()
    const socket = connectTls({
      host: '127.0.0.1',
      port: world.ingress.securePort,
      servername: host,
      rejectUnauthorized: false,
      ALPNProtocols: ['acme-tls/1'],
    })
    await once(socket, 'secureConnect')
    expect([socket.alpnProtocol, socket.getPeerCertificate().subjectaltname]).toEqual(['acme-tls/1', `DNS:${host}`])
    await textOf(socket)
    expect(world.reached()).toBe(before)
  })

  test('is not whoever offers other protocols too', async () => {
    const socket = await world.dialTls('a.test', { ca, ALPNProtocols: ['acme-tls/1', 'http/1.1'] })
    expect(socket.alpnProtocol).toBe('http/1.1')
    socket.destroy()
  })
})

test('a client whose encryption breaks in the middle is cut at once', async () => {
  const socket = dial()
  const secured = connectTls({ socket, servername: 'a.test', ca, ALPNProtocols: ['http/1.1'] })
  secured.on('error', () => undefined)
  await once(secured, 'secureConnect')
  const cut = textOf(secured)
  socket.write(Buffer.concat([Buffer.from('1703030040', 'hex'), Buffer.alloc(64, 1)]))
  expect(await cut).toBe('')
})

/** The bytes with which Node greets for this name. */
async function greetingFor(servername: string): Promise<Buffer> {
  const greeted = Promise.withResolvers<Buffer>()
  const socket = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer, _, done) => {
      greeted.resolve(bytes)
      done()
    },
  })
  const client = connectTls({ socket, servername, ca })
  client.on('error', () => undefined)
  const bytes = await greeted.promise
  client.destroy()
  return bytes
}

/** The same with another name of the same length, which Node might not take. */
function renamed(hello: Buffer, name: string): Buffer {
  const at = hello.indexOf('x'.repeat(name.length))
  return Buffer.concat([hello.subarray(0, at), Buffer.from(name), hello.subarray(at + name.length)])
}
