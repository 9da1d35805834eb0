/** Domains and their certificates: ordered with the proof, awaited by activation, shown to their owner only, and gone with them. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openCertificates, type EdgeCertificates } from '#src/edge/certificates.ts'
import { shiftClock } from '#src/platform/clock.ts'
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { sql } from '#src/platform/postgres.ts'
import { sweepCertificates } from '#src/resources/infra/certificates/claims.ts'
import type { Certificate } from '#src/resources/infra/certificates/rows.ts'
import { handleCertificates } from '#workers/infra/certificates.ts'
import { createDomainChecks } from '#workers/infra/domains.ts'
import { startFront, type Front } from '../../support/acme/front.ts'
import { startPebble, type Pebble } from '../../support/acme/pebble.ts'
import type { Process } from '../../support/acme/world.ts'
import { startDnsServer, type DnsServer } from '../../support/dns/knot.ts'
import { until } from '../../support/until.ts'
import { startDomainWorld, type DomainWorld } from '../domains/domain-world.ts'

let front: Front
let names: DnsServer
let pebble: Pebble
let world: DomainWorld
let worker: Process
let edge: EdgeCertificates
beforeAll(async () => {
  front = await startFront()
  names = await startDnsServer(['example.test'])
  pebble = await startPebble({ ...front, dnsPort: names.port })
  const settings = {
    BERTH_ACME_DIRECTORY: pebble.directory,
    BERTH_ACME_CA_FILE: pebble.caFile,
    BERTH_INGRESS_IPV4: '127.0.0.1',
  }
  world = await startDomainWorld(settings)
  const { config, database } = world.berth.services
  worker = await openServices(
    readConfig({ BERTH_DATA_DIR: config.dataDir, BERTH_DNS_SERVERS: world.dns.address, ...settings }),
    database.url,
    'worker',
  )
  await handleCertificates(worker)
  edge = openCertificates({ services: world.berth.services, given: null, hasRoute: () => false })
  await edge.ready
  front.certificates = edge
})
afterEach(() => shiftClock(0))
afterAll(async () => {
  front?.close()
  edge?.close()
  await worker?.close()
  await world?.stop()
  await pebble?.stop()
  await names?.stop()
})

type Shown = { status: string; reason: string | null; isPublic: boolean | null; notAfter: string | null }
const certificateOf = async (id: string, as?: string): Promise<Shown | null> => {
  const { data } = await world.ask(
    'query ($id: ID!) { node(id: $id) { ... on Domain { certificate { status reason isPublic notAfter nextAttemptAt } } } }',
    { id },
    as,
  )
  return (data as { node: { certificate: Shown | null } | null } | null)?.node?.certificate ?? null
}
const prove = async (name: string, as?: string) => {
  const claimed = await world.claim(name, as)
  await world.prove(name, claimed)
  await names.set(name, 'A', '127.0.0.1')
  return world.show(name, as)
}
const activate = (name: string, as?: string) => world.call('POST', 'domains/activate', { domain: name }, as)

test('activating a domain waits for its certificate, which its owner sees', async () => {
  const name = world.name()
  const { id } = await prove(name)
  expect(await certificateOf(id)).toBeNull()
  expect(await activate(name)).toMatchObject({ status: 200, body: { verification_status: 'active' } })
  expect(await certificateOf(id)).toMatchObject({ status: 'ISSUED', reason: null, isPublic: true })
  await until('the edge has it', async () => (await edge.contextOf(name)) !== null)
  const { data } = await world.ask('query ($id: ID!) { node(id: $id) { ... on Domain { eventCursor } } }', { id })
  expect(Number((data as { node: { eventCursor: string } } | null)?.node.eventCursor)).toBeGreaterThanOrEqual(4) // claimed, verified, certified, active
})

test('it is ordered as soon as the records are there, and challenges are answered before the domain is active', async () => {
  const name = world.name()
  const { id } = await prove(name)
  expect(await world.call('GET', `domains/${name}`)).toMatchObject({ body: { verification_status: 'pending' } })
  const checks = createDomainChecks(worker)
  await checks.begin()
  await until('the certificate is there', async () => (await certificateOf(id))?.status === 'ISSUED')
  expect(await world.show(name)).toMatchObject({ verification_status: 'verified' })
  expect(await world.route(name)).toBeUndefined()
  await checks.settle()
  checks.stop()
})

test('where the authority refuses, activating says so in its words, and the next attempt succeeds', async () => {
  const name = world.name()
  const { id } = await prove(name)
  front.silent.add(name)
  const refused = await activate(name)
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_domain' } })
  expect(refused.body.message).toMatch(
    /is proved, but has no certificate yet\. The certificate authority refused: .*404/,
  )
  expect(await certificateOf(id)).toMatchObject({ status: 'FAILED', isPublic: null, notAfter: null })
  expect(await world.show(name)).toMatchObject({ verification_status: 'verified' })
  expect(await activate(name)).toMatchObject({ status: 200, body: { verification_status: 'active' } })
})

test('another organization that claims the name sees no certificate, and asks for none', async () => {
  const name = world.name()
  const { id } = await prove(name)
  await activate(name)
  const claimed = await world.claim(name, world.other).catch((error: Error) => error.message)
  expect(claimed).toMatch(/is taken already/)
  expect(await certificateOf(id, world.other)).toBeNull()
  const taken = world.name()
  const theirs = await world.claim(taken, world.other)
  const ours = await prove(taken)
  await activate(taken)
  expect(await certificateOf(ours.id)).toMatchObject({ status: 'ISSUED' })
  expect(await certificateOf((await world.show(taken, world.other)).id, world.other)).toBeNull()
  expect(theirs.message ?? null).toBeNull()
})

test('a domain whose certificate ends and is not renewed fails, and its certificate goes with it', async () => {
  const name = world.name()
  const { id } = await prove(name)
  await activate(name)
  const notAfter = Date.parse((await certificateOf(id))?.notAfter ?? '')
  front.certificates = null
  shiftClock(notAfter - Date.now() - 2 * 86_400_000) // tokens have ended by then
  const rowOf = async () =>
    (await sql<Certificate>`select status, reason from certificates where host = ${name}`.execute(worker.db)).rows[0]
  await sweepCertificates(worker)
  await until('the renewal has failed', async () => (await rowOf())?.reason !== null)
  expect(await rowOf()).toMatchObject({ status: 'issued' })
  await sql`update domains set next_check_at = now() - interval '1 hour' where name = ${name}`.execute(worker.db)
  const checks = createDomainChecks(worker)
  await checks.begin()
  await checks.settle()
  checks.stop()
  front.certificates = edge
  shiftClock(0)
  expect(await world.show(name)).toMatchObject({ verification_status: 'failed' })
  const { data } = await world.ask('query ($id: ID!) { node(id: $id) { ... on Domain { statusReason } } }', { id })
  expect(JSON.stringify(data)).toContain('Its certificate could not be renewed. The certificate authority')
  expect(await certificateOf(id)).toBeNull()
})

test('a deleted domain leaves no key behind', async () => {
  const name = world.name()
  await prove(name)
  await activate(name)
  expect((await world.call('DELETE', `domains/${name}`)).status).toBe(204)
  const { rows } = await sql<Certificate>`select * from certificates where host = ${name}`.execute(worker.db)
  expect(rows).toEqual([])
  await until('the edge has forgotten it', () => !edge.isServed(name))
})
