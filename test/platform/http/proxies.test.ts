/** Who a request comes from behind a proxy that the operator trusts, and that nobody else is believed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createProxies, networkOf } from '#src/platform/http/proxies.ts'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

const clientOf = (networks: string[], remoteAddress: string, said?: string): string =>
  createProxies(networks).clientOf({
    headers: said === undefined ? {} : { 'x-forwarded-for': said },
    socket: { remoteAddress } as never,
  })
const office = ['10.0.0.0/8', 'fd00::/8', '127.0.0.1']

test.each([
  ['who connects, without a proxy', [], '127.0.0.1', '203.0.113.7', '127.0.0.1'],
  ['who connects and is no proxy', office, '198.51.100.1', '203.0.113.7', '198.51.100.1'],
  ['whom a proxy says', office, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['whom a proxy says, that comes as IPv6', office, '::ffff:10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
  ['whom a proxy says in IPv6', office, 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ['the last that a proxy saw, whatever that one said', office, '10.0.0.1', '192.0.2.1, 203.0.113.7', '203.0.113.7'],
  ['whom the first of two proxies says', office, '10.0.0.1', '192.0.2.1, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
  ['the first of all, where all are proxies', office, '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['the proxy, where it says nothing', office, '10.0.0.1', undefined, '10.0.0.1'],
  ['the proxy, where it says what is no address', office, '10.0.0.1', `203.0.113.7, ${'x'.repeat(9_000)}`, '10.0.0.1'],
  ['the proxy, where it says an address with a port', office, '10.0.0.1', '203.0.113.7:1234', '10.0.0.1'],
])('it comes from %s', (_what, networks, remoteAddress, said, expected) => {
  expect(clientOf(networks, remoteAddress, said)).toBe(expected)
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::198.51.100.1', '64:ff9b:0:0::/64'],
  ['', ''],
])('what is limited for each customer counts %s as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

let trusting: Berth
let wary: Berth
beforeAll(async () => {
  trusting = await startBerth({ settings: { BERTH_TRUSTED_PROXIES: '127.0.0.0/8' } })
  wary = await startBerth()
})
afterAll(async () => {
  await trusting?.stop()
  await wary?.stop()
})

/** A request with a credential that nobody has: a page would be told 429 for the 61st in a minute. */
const refused = async ({ url }: Berth, address: string): Promise<number> => {
  const headers = { authorization: 'Bearer no', 'content-type': 'application/json', 'x-forwarded-for': address }
  return (await fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ viewer { id } }"}' })).status
}
async function auditedAddress(berth: Berth, address: string): Promise<unknown> {
  const token = await berth.token()
  const call = (query: string) =>
    fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'x-forwarded-for': address },
      body: JSON.stringify({ query }),
    }).then((answer) => answer.json() as Promise<{ data: { auditEvents: { nodes: { address: string }[] } } }>)
  await call('mutation { createVault(input: { displayName: "v" }) { vault { id } } }')
  return (await call('{ auditEvents(first: 1) { nodes { address } } }')).data.auditEvents.nodes[0]?.address
}

test('the audit has who a trusted proxy says, and otherwise who connected', async () => {
  expect(await auditedAddress(trusting, '203.0.113.7')).toBe('203.0.113.7')
  expect(await auditedAddress(wary, '203.0.113.7')).toBe('127.0.0.1')
})

test('clients of one proxy have a limit each, over HTTP and over sockets', async () => {
  const answers: number[] = []
  for (let sent = 0; sent < limits.anonymousPerMinute * 2; sent++) answers.push(await refused(trusting, '203.0.113.8'))
  expect(answers).toContain(429)
  expect(await refused(trusting, '203.0.113.9')).toBe(401)
  const greet = (address: string): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(trusting.url.replace('http', 'ws') + '/graphql', 'graphql-transport-ws', {
        headers: { 'x-forwarded-for': address },
      })
      socket.on('open', () => socket.send('{"type":"connection_init","payload":{"authorization":"Bearer no"}}'))
      socket.on('close', (code) => resolve(code))
    })
  expect([await greet('203.0.113.8'), await greet('203.0.113.9')]).toEqual([1013, 4403]) // try again later, and refused
})
