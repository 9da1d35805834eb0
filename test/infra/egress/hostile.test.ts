import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EgressLimits } from '#src/drivers/compute/egress.ts'
import { closed, EgressWorld, openAddress, vm } from '../../support/egress-world.ts'

let world: EgressWorld

beforeEach(async () => {
  world = await EgressWorld.start()
})
afterEach(() => world.close())

async function restart(limits: Partial<EgressLimits>): Promise<void> {
  world.close()
  world = await EgressWorld.start(limits)
}

describe('what a hostile guest or host is kept from', () => {
  test('headers for one hop end at the proxy, in both directions', async () => {
    let seen: string[] = []
    world.handler = (req, res) => {
      seen = req.rawHeaders
      res
        .writeHead(200, [
          'Connection',
          'X-Hop',
          'X-Hop',
          'secret',
          'Keep-Alive',
          'timeout=9',
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'Content-Length',
          '2',
        ])
        .end('ok')
    }
    const { body } = await world.curl([
      '-i',
      '-H',
      'Proxy-Authorization: Basic eA==',
      '-H',
      'Connection: X-Mine, content-length',
      '-H',
      'X-Mine: 1',
      '-H',
      'TE: trailers',
      '-H',
      'Host: other.test',
      '-H',
      'X-Kept: 1',
      '-d',
      'body',
      `http://open.test:${world.originPort}/`,
    ])
    expect(body).not.toMatch(/x-hop|timeout=9/i)
    expect(body).toMatch(/a=1\r\n[^]*b=2\r\n/)
    const names = seen.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    expect(names).toEqual(expect.arrayContaining(['x-kept', 'content-length']))
    for (const name of ['proxy-authorization', 'proxy-connection', 'x-mine', 'te']) expect(names).not.toContain(name)
    expect(seen.filter((_, at) => seen[at - 1]?.toLowerCase() === 'host')).toEqual([`open.test:${world.originPort}`])
  })

  test('a body cannot smuggle in a second request', async () => {
    const requests: string[] = []
    world.handler = (req, res) => {
      requests.push(`${req.method} ${req.url}`)
      req.resume().on('end', () => res.end('ok'))
    }
    const inner = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
    const url = `http://open.test:${world.originPort}/`
    expect(
      await world.exchange(
        `POST ${url} HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      ),
    ).toMatch(/^HTTP\/1\.1 400 /)
    await world.exchange(
      `GET ${url} HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    )
    await world.exchange(
      `GET ${url} HTTP/1.1\r\nConnection: close, content-length\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    )
    expect(requests).toEqual(['GET /', 'GET /'])
  })

  test('a request that is not for a proxy, or too long, is refused', async () => {
    expect(await world.exchange('GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 [^]*This is a proxy/,
    )
    expect(await world.exchange('GET https://open.test/ HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 /,
    )
    expect(await world.exchange('CONNECT open.test HTTP/1.1\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 [^]*CONNECT requires host:port\.\n$/,
    )
    expect(
      await world.exchange(`GET http://open.test:${world.originPort}/ HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 431 /)
    expect(await world.exchange('\u0016\u0003\u0001 garbage\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test.each([
    'HTTP/1.1 000 Nothing\r\n\r\n',
    'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n',
    'SSH-2.0-x\r\n',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
    'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  ])('a host that answers %j ends in a 502', async (answer) => {
    const port = await world.listen(
      createServer((socket) => socket.once('data', () => socket.end(answer))),
      openAddress,
    )
    expect((await world.curl(['-i', `http://open.test:${port}/`])).body).toMatch(/^HTTP\/1\.1 502 /)
  })

  test('a VM holds no more connections and requests than its limit, and gets them back', async () => {
    await restart({ connectionsPerVm: 3 })
    const held = [
      await world.openTunnel(`open.test:${world.echoPort}`),
      await world.openTunnel(`open.test:${world.echoPort}`),
      await world.openTunnel(`open.test:${world.echoPort}`),
    ]
    expect(await world.exchange(`CONNECT open.test:${world.echoPort} HTTP/1.1\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 503 [^]*This VM has 3 open connections, which is the limit. Close some\.\n$/,
    )
    held.forEach((socket) => socket.destroy())
    await expect.poll(async () => (await world.curl([`http://open.test:${world.originPort}/`])).body).toBe('hello')
    const waiting: ServerResponse[] = []
    world.handler = (_req, res) => {
      if (waiting.push(res) === 3) waiting.forEach((one) => one.end('hello'))
    }
    const request = `GET http://open.test:${world.originPort}/ HTTP/1.1\r\n`
    const answers = await world.exchange(`${`${request}\r\n`.repeat(40)}${request}Connection: close\r\n\r\n`) // one packet: all are read before one is answered
    expect([answers.split('HTTP/1.1 200').length - 1, answers.split('HTTP/1.1 503').length - 1]).toEqual([3, 38])
  })

  test('a connection that sends nothing, half a header, or nothing more is closed; an active one is not', async () => {
    await restart({ waitMs: 300 })
    const silent = await world.guestSocket()
    const slow = await world.guestSocket()
    slow.write('GET http://open.test/ HTTP/1.1\r\nX-')
    const done = await world.guestSocket()
    done.write(`GET http://open.test:${world.originPort}/ HTTP/1.1\r\n\r\n`)
    const busy = await world.openTunnel(`open.test:${world.echoPort}`)
    await Promise.all([closed(silent), closed(slow), closed(done)])
    busy.write('still here')
    expect(String((await once(busy, 'data'))[0])).toBe('still here')
  })

  test('a refused guest that does not close its connection frees its slot', async () => {
    await restart({ waitMs: 200, connectionsPerVm: 1 })
    const refused = await world.guestSocket()
    refused.write('CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n')
    await closed(refused)
    expect(await world.exchange('CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 503 /)
    await expect.poll(async () => (await world.curl([`http://open.test:${world.originPort}/`])).body).toBe('hello')
  })

  test('a tunnel without a byte for the idle time is closed', async () => {
    await restart({ idleMs: 200, waitMs: 200 })
    await closed(await world.openTunnel(`open.test:${world.echoPort}`))
    world.handler = () => undefined
    expect((await world.curl(['-i', `http://open.test:${world.originPort}/`])).body).toMatch(/^HTTP\/1\.1 502 /)
  })

  test('the log and the record contain host, port and verdict, never a path or a header', async () => {
    await world.curl([
      '-H',
      'X-Key: canary-key',
      `http://user:canary-password@open.test:${world.originPort}/canary-path?canary-query`,
    ])
    await world.curl(['http://10.0.0.1/canary-path'])
    expect(world.logged).toEqual([
      { machineId: vm, host: 'open.test', port: world.originPort, verdict: 'allowed' },
      { machineId: vm, host: '10.0.0.1', port: 80, verdict: 'refused' },
    ])
    expect(JSON.stringify(world.egress.reached(vm))).not.toContain('canary')
  })

  test('the record keeps the latest hosts and counts them', async () => {
    await restart({ reachedPerVm: 3 })
    for (const host of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.1', '10.0.0.4'])
      await world.exchange(`CONNECT ${host}:80 HTTP/1.1\r\n\r\n`)
    expect(world.egress.reached(vm).map(({ host, count }) => [host, count])).toEqual([
      ['10.0.0.4', 1],
      ['10.0.0.1', 2],
      ['10.0.0.3', 1],
    ])
  })
})
