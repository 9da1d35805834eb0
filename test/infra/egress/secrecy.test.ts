/** What is not opened though it is TLS, or not TLS at all; and who never gets a secret though it is opened. */
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { openAddress, otherVm, type EgressWorld, type Seen } from '../../support/egress-world.ts'
import {
  heard,
  heardUntil,
  securedWorldForEach,
  type Authorities,
  type SecuredWorld,
} from '../../support/secured-world.ts'

let authorities: Authorities
let secured: SecuredWorld
let world: EgressWorld
const restart = securedWorldForEach((fresh) => {
  secured = fresh
  authorities = fresh.authorities
  world = fresh.world
})

describe('what stays a tunnel', () => {
  test('a host without a secret shows the guest its own certificate, and gets its requests unchanged', async () => {
    const placeholder = world.give()
    const other = secured.url('www.open.test')
    expect((await secured.curl([other])).code).toBe(60) // not the node's certificate
    const { body } = await world.curl(['--cacert', authorities.world.file, '-H', `X-Key: ${placeholder}`, other])
    expect((JSON.parse(body) as Seen).headers['x-key']).toBe(placeholder)
  })

  test('the tunnels of a machine without a secret for the host are not intercepted', async () => {
    const placeholder = world.give()
    world.machine = otherVm
    const { body } = await world.curl([
      '--cacert',
      authorities.world.file,
      '-H',
      `X-Key: ${placeholder}`,
      secured.url(),
    ])
    expect((JSON.parse(body) as Seen).headers['x-key']).toBe(placeholder)
  })

  test('bytes that are not TLS pass unchanged, whoever speaks first', async () => {
    const placeholder = world.give()
    for (const words of [placeholder, '\u0016', '\u0016\u0003', 'GET / HTTP/1.1\r\n\r\n']) {
      const socket = await world.openTunnel(`open.test:${world.echoPort}`)
      socket.end(words)
      expect(await text(socket)).toBe(words)
    }
    const early = await world.guestSocket()
    early.end(`CONNECT open.test:${world.echoPort} HTTP/1.1\r\n\r\nearly`)
    expect(await text(early)).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly')
    const banner = await world.listen(
      createServer((socket) => {
        socket.write('220 ready\r\n')
        socket.pipe(socket)
      }),
      openAddress,
    )
    const patient = await world.guestSocket()
    patient.write(`CONNECT open.test:${banner} HTTP/1.1\r\n\r\n`)
    await heardUntil(patient, '220 ready\r\n')
    patient.write('\u0016\u0003\u0001\u0000\u0005\u0001now it does not matter')
    expect(await heard(patient)).toBe('\u0016\u0003\u0001\u0000\u0005\u0001now it does not matter')
  })
})

describe('what never gets the secret', () => {
  test.each([
    ['of another name', () => authorities.world.authority.contextFor('other.test'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'of an authority that nobody knows',
      (name: string) => authorities.node.authority.contextFor(name),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
  ])('a host with a certificate %s: the guest gets a 502 that says so', async (_what, certificateOf, word) => {
    let requests = 0
    await restart({ certificateOf })
    secured.handler = (_req, res) => {
      requests++
      res.end()
    }
    const { body, code } = await secured.curl(['-i', '-H', `X-Key: ${world.give()}`, secured.url()])
    expect(code).toBe(0)
    expect(body).toMatch(/^HTTP\/1\.1 502 Bad Gateway \(Berth: certificate not valid\)\r\n/)
    expect(body).toContain(`The certificate of this host is not valid (${word}), so nothing was sent to it.`)
    expect(requests).toBe(0)
  })

  test('a host that does not end the handshake answers 504, one that speaks no TLS 502', async () => {
    await restart({ limits: { handshakeMs: 200 } })
    const placeholder = world.give()
    const to = (port: number): string => `https://open.test:${port}/`
    const silent = await world.listen(
      createServer((socket) => socket.resume()),
      openAddress,
    )
    expect((await secured.curl(['-i', '-H', `X-Key: ${placeholder}`, to(silent)])).body).toMatch(
      /^HTTP\/1\.1 504 [^]*did not end the TLS handshake in time\.\n$/,
    )
    const plain = await world.listen(
      createServer((socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))),
      openAddress,
    )
    expect((await secured.curl(['-i', '-H', `X-Key: ${placeholder}`, to(plain)])).body).toMatch(
      /^HTTP\/1\.1 502 [^]*did not complete the TLS handshake/,
    )
  })

  test('another site of the same server: a request that names it goes on unchanged, one with an address in its request line is refused', async () => {
    const placeholder = world.give({ inBody: true })
    const sent = await secured.send(['-H', 'Host: evil.test', '-d', placeholder, '-H', `X-Key: ${placeholder}`])
    expect(sent).toMatchObject({ headers: { host: 'evil.test', 'x-key': placeholder }, body: placeholder })
    const inside = await secured.inside()
    inside.write(secured.ask(placeholder, 'https://evil.test/'))
    expect(await text(inside)).toMatch(/^HTTP\/1\.1 400 [^]*send the path alone/)
    expect(secured.connections).toBe(2) // and nothing was asked on the second
  })

  test('the host that an answer redirects to, when it is not one of the secret’s', async () => {
    const placeholder = world.give()
    secured.handler = (req, res) =>
      req.headers.host?.startsWith('www.')
        ? res.end(req.headers['x-key'])
        : res.writeHead(302, { location: secured.url('www.open.test') }).end()
    const { body } = await world.curl(['-L', '-k', '-H', `X-Key: ${placeholder}`, secured.url()])
    expect(body).toBe(placeholder)
  })

  test('another machine, for which the placeholder has no value', async () => {
    await restart({ findSecretHosts: async () => [null] })
    const placeholder = world.give()
    expect((await secured.send(['-H', `X-Key: ${placeholder}`])).headers['x-key']).toBe('the-secret')
    world.machine = otherVm
    expect((await secured.send(['-H', `X-Key: ${placeholder}`])).headers['x-key']).toBe(placeholder)
  })

  test('the log', async () => {
    const placeholder = world.give()
    await secured.send(['-H', `X-Key: ${placeholder}`])
    expect(world.logged.length).toBeGreaterThan(0)
    expect(JSON.stringify(world.logged)).not.toMatch(/the-secret|berth-secret/)
  })
})
