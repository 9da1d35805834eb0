import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { normalHost, parseAuthority } from '#src/drivers/addresses.ts'
import {
  connectGuarded,
  createResolve,
  guardedAgent,
  OutboundError,
  refusalOf,
  type OutboundOptions,
} from '#src/drivers/outbound.ts'
import { forbiddenHosts, forbiddenNames } from '../../support/forbidden-hosts.ts'
import { startNameServer, type NameServer } from '../../support/name-server.ts'

/** Stands for the open internet: the one loopback address that the tests' guard lets through. */
const openAddress = '127.0.0.9'
/** Judged open too, but nothing listens there. */
const deafAddress = '127.0.0.8'
const hostsFile = new URL('no-such-hosts-file', import.meta.url).pathname

let names: NameServer
let canary: Server
let canaryPort: number
let canaryConnections = 0
let open: Server
let options: OutboundOptions

async function listen(server: Server, host: string, port = 0): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

beforeAll(async () => {
  canary = createServer((socket) => {
    canaryConnections++
    socket.destroy()
  })
  canaryPort = await listen(canary, '::') // IPv4 loopback too
  open = createHttpServer((req, res) => {
    if (req.url === '/to-canary') res.writeHead(302, { location: `http://127.0.0.1:${canaryPort}/` }).end()
    else if (req.url === '/to-canary-name')
      res.writeHead(307, { location: `http://loopback.test:${canaryPort}/` }).end()
    else res.end(`host ${req.headers.host}`)
  })
  await listen(open, openAddress)
  names = await startNameServer({
    ...forbiddenNames,
    'open.test': [openAddress],
    'rebinding.test': (query) => (query === 0 ? [openAddress] : ['127.0.0.1']),
    'silent.test': 'silent',
    'empty.test': [],
    'second.test': [deafAddress, openAddress],
  })
  options = {
    resolve: createResolve({ servers: [names.address], hostsFile }),
    refuse: (address) => ([openAddress, deafAddress].includes(address) ? null : refusalOf(address)),
  }
})
afterAll(() => {
  names.close()
  canary.close()
  open.close()
})

const openPort = (): number => (open.address() as AddressInfo).port

async function failureOf(promise: Promise<Socket>): Promise<OutboundError> {
  const outcome = await promise.catch((error: unknown) => error)
  if (outcome instanceof OutboundError) return outcome
  if (!(outcome instanceof Error)) (outcome as Socket).destroy()
  throw new Error('expected an OutboundError', { cause: outcome })
}

describe('the addresses that may be reached', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['::127.0.0.1', 'reserved'],
    ['2002:7f00:1::', 'tunnel'],
    ['10.1.2.3', 'private'],
    ['fd00::1', 'private'],
    ['100.64.0.1', 'carrier'],
    ['169.254.169.254', 'metadata'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['fe80::1%lo', 'malformed'],
    ['example.com', 'malformed'],
  ])('%s is refused as %s', (address, rule) => expect(refusalOf(address)).toBe(rule))

  test.each([
    '192.0.2.77',
    '198.51.100.7',
    '203.0.113.80',
    '1.1.1.1',
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '11.0.0.1',
    '2606:4700::1',
    '2a00:1450::1',
    '::ffff:203.0.113.80',
    '64:ff9b::203.0.113.80',
  ])('%s is open', (address) => expect(refusalOf(address)).toBeNull())

  test("every address of this host's own interfaces is refused", () => {
    const own = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .map(({ address }) => address)
    expect(own).toContain('127.0.0.1')
    for (const address of own) expect([address, refusalOf(address)]).not.toEqual([address, null])
  })
})

describe('the parsing of a host', () => {
  test.each([
    ['Example.COM.', 'example.com'],
    ['0x7f.1', '127.0.0.1'],
    ['１２７.０.０.１', '127.0.0.1'],
    ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
    ['::1', '::1'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['a b', null],
    ['a/b', null],
    ['a@b', null],
    ['a:80', null],
    ['[::1%lo]', null],
    ['', null],
    ['*.example.com', null],
  ])('%s is %s', (text, host) => expect(normalHost(text)).toBe(host))

  test.each([
    ['example.com:443', { host: 'example.com', port: 443 }],
    ['[::1]:22', { host: '::1', port: 22 }],
    ['good.example@127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['example.com', null],
    ['example.com:0', null],
    ['example.com:65536', null],
    ['example.com:+80', null],
    ['::1:80', null],
    ['a:b@c.example:80', { host: 'c.example', port: 80 }],
  ])('the authority %s is %o', (text, target) => expect(parseAuthority(text)).toEqual(target))
})

describe('the guarded connector', () => {
  test('nothing in the corpus of forbidden hosts reaches the canary', async () => {
    expect(forbiddenHosts.length).toBeGreaterThanOrEqual(120)
    const before = canaryConnections
    for (const host of forbiddenHosts) {
      const failure = await failureOf(connectGuarded({ host, port: canaryPort }, options))
      expect([host, failure.problem]).toEqual([host, 'refused'])
      expect(failure.message).not.toMatch(/\d+\.\d+|::/)
    }
    expect(canaryConnections).toBe(before)
  })

  test('the canary works: the same names reach it without the guard', async () => {
    const before = canaryConnections
    const socket = await connectGuarded({ host: 'loopback.test', port: canaryPort }, { ...options, refuse: () => null })
    socket.resume()
    await once(socket, 'close')
    expect(canaryConnections).toBe(before + 1)
  })

  test('a name that resolves differently the second time is dialled at the address that was checked', async () => {
    const before = canaryConnections
    const socket = await connectGuarded({ host: 'rebinding.test', port: openPort() }, options)
    expect(socket.remoteAddress).toBe(openAddress)
    expect(names.asked.get('A rebinding.test')).toBe(1)
    socket.destroy()
    expect((await failureOf(connectGuarded({ host: 'rebinding.test', port: canaryPort }, options))).rule).toBe(
      'loopback',
    )
    expect(canaryConnections).toBe(before)
  })

  test('the next address of a name is tried when one does not answer', async () => {
    const socket = await connectGuarded({ host: 'second.test', port: openPort() }, options)
    expect(socket.remoteAddress).toBe(openAddress)
    socket.destroy()
  })

  test('a name without addresses, a host that refuses, a silent server and a cancelled call are different errors', async () => {
    expect((await failureOf(connectGuarded({ host: 'absent.test', port: 80 }, options))).problem).toBe('unresolved')
    expect((await failureOf(connectGuarded({ host: 'empty.test', port: 80 }, options))).problem).toBe('unresolved')
    expect((await failureOf(connectGuarded({ host: 'open.test', port: 1 }, options))).problem).toBe('unreachable')
    expect(
      (await failureOf(connectGuarded({ host: 'silent.test', port: 80 }, { ...options, limitMs: 150 }))).problem,
    ).toBe('timeout')
    const cancel = new AbortController()
    const pending = failureOf(connectGuarded({ host: 'silent.test', port: 80, signal: cancel.signal }, options))
    cancel.abort()
    expect((await pending).problem).toBe('cancelled')
  })

  test('a name in the hosts file is resolved there, and checked like any other', async () => {
    const resolve = createResolve({ servers: [names.address], hostsFile: '/etc/hosts' })
    expect(
      (await failureOf(connectGuarded({ host: 'localhost', port: canaryPort }, { ...options, resolve }))).rule,
    ).toBe('loopback')
    expect(await resolve('localhost', new AbortController().signal)).toContain('127.0.0.1')
  })
})

describe('the guarded agent of fetch', () => {
  test('fetches what is open, by name and without losing the Host header', async () => {
    const agent = guardedAgent(options)
    const response = await fetch(`http://open.test:${openPort()}/`, { dispatcher: agent })
    expect(await response.text()).toBe(`host open.test:${openPort()}`)
    await agent.close()
  })

  test('refuses addresses, names and redirects to what is not', async () => {
    const agent = guardedAgent(options)
    const before = canaryConnections
    const urls = [
      `http://127.0.0.1:${canaryPort}/`,
      `http://[::1]:${canaryPort}/`,
      `https://[::ffff:127.0.0.1]:${canaryPort}/`,
      `http://loopback.test:${canaryPort}/`,
      `http://2130706433:${canaryPort}/`,
      `http://open.test:${openPort()}/to-canary`,
      `http://open.test:${openPort()}/to-canary-name`,
    ]
    for (const url of urls) {
      const error = (await fetch(url, { dispatcher: agent }).catch((thrown: unknown) => thrown)) as Error
      expect([url, error.cause]).toEqual([url, expect.objectContaining({ problem: 'refused', rule: 'loopback' })])
    }
    for (const url of ['file:///etc/hostname', 'gopher://loopback.test/', 'unix:/var/run/x.sock'])
      await expect(fetch(url, { dispatcher: agent })).rejects.toThrow()
    expect(canaryConnections).toBe(before)
    await agent.close()
  })

  test('speaks TLS for https, with the name that was asked for', async () => {
    const hellos: Buffer[] = []
    const server = createServer((socket) =>
      socket
        .on('error', () => socket.destroy())
        .once('data', (hello: Buffer) => {
          hellos.push(hello)
          socket.destroy()
        }),
    )
    const port = await listen(server, openAddress)
    const agent = guardedAgent(options)
    await expect(fetch(`https://open.test:${port}/`, { dispatcher: agent })).rejects.toThrow()
    expect(hellos[0]?.[0]).toBe(0x16)
    expect(hellos[0]?.includes('open.test')).toBe(true)
    await agent.close()
    server.close()
  })
})
