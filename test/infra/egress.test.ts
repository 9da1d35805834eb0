import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EgressPolicy } from '#src/drivers/compute/egress.ts'
import { closed, EgressWorld, openAddress, packageHost, vm } from '../support/egress-world.ts'
import { forbiddenHosts } from '../support/forbidden-hosts.ts'

let world: EgressWorld

beforeEach(async () => {
  world = await EgressWorld.start()
})
afterEach(() => world.close())

describe('what a guest can do', () => {
  test('curl fetches an http:// page, twice over one connection', async () => {
    world.handler = (req, res) => res.end(`${req.method} ${req.url} ${req.headers.host};`)
    const { body } = await world.curl([
      `http://open.test:${world.originPort}/a?b=c%20d`,
      `http://open.test:${world.originPort}/%2e%2e/x`,
      '--path-as-is',
    ])
    expect(body).toBe(`GET /a?b=c%20d open.test:${world.originPort};GET /%2e%2e/x open.test:${world.originPort};`)
    expect(world.proxyConnections).toBe(1)
  })

  test('curl sends and receives 20 MB, chunked and with a length, unchanged', async () => {
    world.handler = (req, res) => void req.pipe(res)
    const sent = randomBytes(10 * 1024 * 1024).toString('hex')
    const url = `http://open.test:${world.originPort}/`
    for (const args of [['-H', 'Transfer-Encoding: chunked', url], [url], ['-p', url]]) {
      const { body } = await world.curl(
        ['--data-binary', '@-', '-H', 'Content-Type: application/octet-stream', ...args],
        sent,
      )
      expect(body === sent).toBe(true) // not toBe(sent): a difference would print 20 MB
    }
  })

  test('a HEAD request keeps the length of the body that is not sent', async () => {
    world.handler = (_req, res) => res.writeHead(200, { 'content-length': '1234', 'x-one': '1' }).end()
    expect((await world.curl(['-I', `http://open.test:${world.originPort}/`])).body).toMatch(
      /^HTTP\/1\.1 200 OK\r\n(?=[^]*content-length: 1234\r\n)(?=[^]*x-one: 1\r\n)/,
    )
  })

  test('a tunnel carries bytes, and each side ends on its own', async () => {
    const socket = await world.openTunnel(`open.test:${world.echoPort}`)
    const sent = randomBytes(3 * 1024 * 1024)
    socket.end(sent) // the echo ends only after it has read our end
    expect((await buffer(socket)).equals(sent)).toBe(true)
    expect(world.egress.reached(vm)).toEqual([
      expect.objectContaining({ host: 'open.test', port: world.echoPort, verdict: 'allowed', count: 1 }),
    ])
  })

  test('bytes sent together with the CONNECT request are not lost', async () => {
    const socket = await world.guestSocket()
    socket.end(`CONNECT open.test:${world.echoPort} HTTP/1.1\r\n\r\nearly`)
    expect(await text(socket)).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly')
  })

  test('a guest that does not read slows the sender down', async () => {
    let sent = 0
    const chunk = Buffer.alloc(64 * 1024)
    world.handler = (_req, res) => {
      const pump = (): void => {
        while (sent < 256 * 1024 * 1024) {
          sent += chunk.length
          if (!res.write(chunk)) break
        }
      }
      res.on('drain', pump)
      pump()
    }
    const socket = await world.guestSocket()
    socket.pause()
    socket.write(`GET http://open.test:${world.originPort}/ HTTP/1.1\r\n\r\n`)
    let before = -1
    await expect
      .poll(() => [before, (before = sent)].every((bytes) => bytes > 0 && bytes === sent), {
        interval: 200,
        timeout: 10_000,
      })
      .toBe(true)
    expect(sent).toBeLessThan(64 * 1024 * 1024)
    socket.destroy()
  })

  test('curl works through the reverse forward of a real SSH connection, both ways and in bulk', async () => {
    await world.overSsh()
    world.handler = (req, res) => void req.pipe(res)
    const sent = randomBytes(2 * 1024 * 1024).toString('hex')
    const url = `http://open.test:${world.originPort}/`
    for (const args of [[url], ['-p', url]])
      expect((await world.curl(['--data-binary', '@-', ...args], sent)).body === sent).toBe(true)
    const socket = await world.openTunnel(`open.test:${world.echoPort}`)
    socket.write('one word')
    expect(String((await once(socket, 'data'))[0])).toBe('one word')
    socket.end() // ssh2's server closes a channel whole, so what follows the end is tried without it
    await closed(socket)
    await expect.poll(() => world.openChannels).toBe(0)
    expect((await world.curl([`http://private.test/`])).body).toBe('Private addresses may not be reached.\n')
  })

  test('a response that is cut off is not taken for complete', async () => {
    world.handler = (_req, res) => {
      res.write('half', () => res.socket?.destroy())
    }
    expect((await world.curl([`http://open.test:${world.originPort}/`])).code).not.toBe(0)
  })
})

describe('what a guest cannot reach', () => {
  test('nothing in the corpus of forbidden hosts reaches the canary, by tunnel or by request', async () => {
    expect(forbiddenHosts.length).toBeGreaterThanOrEqual(120)
    const ports = world.canaryPort + 1 // host.berth.internal may reach world.canaryPort; nothing else may reach any
    for (const host of forbiddenHosts) {
      for (const port of [world.canaryPort, ports]) {
        const wire = Buffer.from(host).toString('latin1')
        for (const request of [
          `CONNECT ${wire}:${port} HTTP/1.1\r\n\r\n`,
          `GET http://${wire}:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
          `GET http://good.example@${wire}:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
        ]) {
          expect([host, (await world.exchange(request)).slice(0, 12)]).toEqual([
            host,
            expect.stringMatching(/^HTTP\/1\.1 40[03]/),
          ])
        }
      }
    }
    expect(world.canaryConnections).toBe(0)
  })

  test('a name that answers differently the second time is refused then', async () => {
    expect((await world.curl([`http://rebinding.test:${world.originPort}/`])).body).toBe('hello')
    expect((await world.curl([`http://rebinding.test:${world.canaryPort}/`])).body).toBe(
      'Loopback addresses may not be reached.\n',
    )
    expect(world.canaryConnections).toBe(0)
  })

  test('a refusal names its rule, in the body and where curl shows it for a tunnel, and no address', async () => {
    expect((await world.curl(['-i', `http://private.test:${world.originPort}/`])).body).toMatch(
      /^HTTP\/1\.1 403 Forbidden \(Berth: private address\)\r\n[^]*Private addresses may not be reached\.\n$/,
    )
    const tunnel = await world.curl(['-v', `https://private.test:${world.originPort}/`])
    expect(tunnel.code).toBe(56)
    expect(tunnel.error).toContain('403 Forbidden (Berth: private address)')
    expect(tunnel.error).not.toContain('10.0.0.1')
  })

  test('a host that does not exist answers 502, a silent one 504', async () => {
    expect((await world.curl(['-i', 'http://silent.test/'])).body).toMatch(
      /^HTTP\/1\.1 504 [^]*The host did not answer in time\.\n$/,
    )
    expect((await world.curl(['-i', 'http://absent.test/'])).body).toMatch(
      /^HTTP\/1\.1 502 [^]*The name does not resolve\. [^]*\n$/,
    )
    expect((await world.curl(['-i', 'http://open.test:1/'])).body).toMatch(
      /^HTTP\/1\.1 502 [^]*The host could not be reached on this port\.\n$/,
    )
    expect(await world.exchange('CONNECT open.test:1 HTTP/1.1\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 502 Bad Gateway \(Berth: unreachable\)\r\n/,
    )
    world.handler = (_req, res) => res.socket?.destroy()
    expect((await world.curl(['-i', `http://open.test:${world.originPort}/`])).body).toMatch(/^HTTP\/1\.1 502 /)
  })

  test('mail cannot be sent straight to a mail server, and git over ssh can be tunnelled', async () => {
    expect(await world.exchange('CONNECT open.test:25 HTTP/1.1\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 Forbidden \(Berth: port 25\)/,
    )
    expect(await world.exchange('CONNECT open.test:22 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 502 /) // let through; nothing listens there
  })

  test('the host is reached by its own name, on the ports that the operator opened', async () => {
    expect((await world.curl([`http://host.berth.internal:${world.canaryPort}/`])).body).toBe('canary')
    expect((await world.curl(['-p', `http://HOST.berth.internal.:${world.canaryPort}/`])).body).toBe('canary')
    expect((await world.curl([`http://host.berth.internal:${world.originPort}/`])).body).toBe(
      `Port ${world.originPort} of the host is not open to VMs; the operator opens it with BERTH_VM_HOST_PORTS.\n`,
    )
    expect(world.canaryConnections).toBe(2)
  })
})

describe('policies', () => {
  const verdict = async (host: string): Promise<string> =>
    (await world.exchange(`CONNECT ${host}:${world.echoPort} HTTP/1.1\r\n\r\n`)).slice(9, 12)
  const allows = async (host: string): Promise<boolean> => {
    const socket = await world.guestSocket()
    socket.write(`CONNECT ${host}:${world.echoPort} HTTP/1.1\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString().startsWith('HTTP/1.1 200')
  }

  test.each<[EgressPolicy, Record<string, boolean>]>([
    [{ type: 'none' }, { 'open.test': false, 'host.berth.internal': false }],
    [
      { type: 'limited', allowedHosts: [], allowPackageManagers: false },
      { 'open.test': false, [packageHost]: false, 'host.berth.internal': false },
    ],
    [
      { type: 'limited', allowedHosts: ['OPEN.test.'], allowPackageManagers: false },
      { 'open.test': true, 'www.open.test': false, [packageHost]: false },
    ],
    [
      { type: 'limited', allowedHosts: ['*.open.test'], allowPackageManagers: false },
      { 'open.test': false, 'www.open.test': true, [openAddress]: false },
    ],
    [
      { type: 'limited', allowedHosts: [openAddress], allowPackageManagers: true },
      { 'open.test': false, [packageHost]: true, [openAddress]: true },
    ],
    [
      { type: 'limited', allowedHosts: ['loopback.test', '127.0.0.1', 'localhost'], allowPackageManagers: false },
      { 'loopback.test': false, '127.0.0.1': false, localhost: false },
    ],
  ])('%o lets through %o', async (policy, hosts) => {
    world.egress.setPolicy(vm, policy)
    for (const [host, allowed] of Object.entries(hosts)) expect([host, await allows(host)]).toEqual([host, allowed])
  })

  test('a host that the policy refuses is not resolved', async () => {
    world.egress.setPolicy(vm, { type: 'limited', allowedHosts: ['open.test'], allowPackageManagers: false })
    expect(await verdict('secret-data.www.open.test')).toBe('403')
    expect([...world.names.asked.keys()]).toEqual([])
  })

  test('a policy with something that is not a host is refused and changes nothing', async () => {
    for (const entry of [
      'https://open.test',
      'open.test:443',
      'open.test/path',
      '*',
      '*.',
      '*.127.0.0.1',
      'a.*.test',
      '',
    ]) {
      expect(() =>
        world.egress.setPolicy(vm, { type: 'limited', allowedHosts: [entry], allowPackageManagers: false }),
      ).toThrow(/allowed_hosts\[0\] must be a host/)
    }
    expect(await allows('open.test')).toBe(true)
  })

  test('a new policy closes the open tunnels that it refuses and leaves the others', async () => {
    const kept = await world.openTunnel(`www.open.test:${world.echoPort}`)
    const cut = await world.openTunnel(`open.test:${world.echoPort}`)
    const cutDownload = await world.guestSocket()
    world.handler = (_req, res) => void res.write('endless')
    cutDownload.write(`GET http://open.test:${world.originPort}/ HTTP/1.1\r\n\r\n`)
    await once(cutDownload, 'data')
    const waiting = world.exchange('CONNECT silent.test:443 HTTP/1.1\r\n\r\n')
    await expect.poll(() => world.names.asked.get('A silent.test')).toBe(1)
    world.egress.setPolicy(vm, { type: 'limited', allowedHosts: ['www.open.test'], allowPackageManagers: false })
    await Promise.all([closed(cut), closed(cutDownload)])
    expect(await waiting).toMatch(/^HTTP\/1\.1 403 Forbidden \(Berth: host not allowed\)/)
    kept.write('still here')
    expect(String((await once(kept, 'data'))[0])).toBe('still here')
    expect(await verdict('open.test')).toBe('403')
  })

  test('a machine without a policy, or dropped, reaches nothing; dropping closes what was open', async () => {
    const open = await world.openTunnel(`open.test:${world.echoPort}`)
    world.egress.dropMachine(vm)
    await closed(open)
    expect(await world.exchange(`CONNECT open.test:${world.echoPort} HTTP/1.1\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403 Forbidden \(Berth: unknown VM\)/,
    )
    expect(world.egress.reached(vm)).toEqual([])
  })
})
