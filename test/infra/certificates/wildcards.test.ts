/** Certificates of wildcards: the owner points a name to the edge’s own DNS, and a real authority looks there by a real resolver. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openChallengeDns, openConfiguredDns, type ChallengeDns } from '#src/edge/challenge-dns.ts'
import type { EdgeCertificates } from '#src/edge/certificates.ts'
import { newUuid, encodeId } from '#src/platform/ids.ts'
import { shownNames, startFront } from '../../support/acme/front.ts'
import { startDnsmasq, startPebble, type Pebble } from '../../support/acme/pebble.ts'
import { startUnbound } from '../../support/acme/unbound.ts'
import { startCertificateWorld, type CertificateWorld } from '../../support/acme/world.ts'
import { until } from '../../support/until.ts'

const zone = 'acme.berth.test'
const ended: (() => unknown)[] = []
let world: CertificateWorld
let pebble: Pebble
let edge: EdgeCertificates
let dns: ChallengeDns
const domainId = newUuid()
const label = encodeId('domain', domainId).slice('dom_'.length)
beforeAll(async () => {
  let texts: EdgeCertificates['challengeTexts'] | undefined
  dns = await openChallengeDns({
    host: '127.0.0.1',
    port: 0,
    zone,
    answersOf: async (name) => (await texts?.(name)) ?? null,
  })
  const owners = await startDnsmasq([
    '--auth-zone=example.test',
    '--auth-server=ns.example.test',
    `--auth-peer=127.0.0.1`,
    `--cname=_acme-challenge.example.test,${label}.${zone}`,
  ])
  const resolver = await startUnbound({ 'example.test': owners.port, [zone]: dns.port })
  const front = await startFront()
  pebble = await startPebble({ ...front, dnsPort: resolver.port })
  world = await startCertificateWorld({ BERTH_ACME_DIRECTORY: pebble.directory, BERTH_ACME_CA_FILE: pebble.caFile })
  await world.startWorker()
  edge = await world.startEdge()
  texts = edge.challengeTexts
  ended.push(
    () => front.close(),
    world.stop,
    pebble.stop,
    resolver.stop,
    owners.stop,
    () => dns.close(),
  )
})
afterAll(async () => {
  for (const end of ended) await end()
})

test('a wildcard is proven by the name that its owner points to the edge, and shown for all names one level below', async () => {
  const ordered = await world.order(await world.organization(), '*.example.test', domainId)
  await world.becomes(ordered, ({ status }) => status === 'issued')
  await until('the edge has heard of it', async () => (await edge.contextOf('a.example.test')) !== null)
  expect(await shownNames(edge, 'any.example.test', await pebble.root())).toBe('DNS:*.example.test')
  expect(await edge.contextOf('example.test')).toBeNull()
  expect(await edge.contextOf('a.b.example.test')).toBeNull()
  expect(edge.isServed('any.example.test')).toBe(true)
})

test('it answers for its zone, and for nothing else', async () => {
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${dns.port}`])
  await expect(resolver.resolveNs(zone)).resolves.toEqual([zone])
  await expect(resolver.resolveSoa(zone)).resolves.toMatchObject({ nsname: zone })
  await expect(resolver.resolveTxt(`${label}.${zone}`)).rejects.toMatchObject({ code: 'ENODATA' })
  await expect(resolver.resolveTxt(`nobody.${zone}`)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  await expect(resolver.resolveTxt('example.org')).rejects.toMatchObject({ code: 'EREFUSED' })
})

test('whatever else is sent to its port gets no answer, and the next question one', async () => {
  const socket = createSocket('udp4')
  const answers: Buffer[] = []
  socket.on('message', (answer) => answers.push(answer))
  const question = Buffer.from(`00010100000100000000000006${Buffer.from('nobody').toString('hex')}0000100001`, 'hex')
  const pointerLoop = Buffer.from('000101000001000000000000c00c00100001', 'hex')
  const response = Buffer.from(question)
  response[2] = 0x80
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(5000, 255), pointerLoop, response, question])
    socket.send(bytes, dns.port, '127.0.0.1')
  await once(socket, 'message')
  expect(answers.map((answer) => answer.readUInt16BE(2) & 0xf)).toEqual([5])
  socket.close()
})

test('a port that is taken is said, and the edge goes on', async () => {
  const config = { host: '127.0.0.1', dnsPort: dns.port, domain: 'berth.test' }
  expect(await openConfiguredDns(config, async () => null)).toBeNull()
  expect(await openConfiguredDns({ ...config, dnsPort: null }, async () => null)).toBeNull()
})
