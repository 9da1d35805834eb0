/** Certificates of a real ACME authority: by HTTP and by TLS, renewed, shared, and shown by the edge. */
import { X509Certificate } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { removeCertificate, whyNotCertified } from '#src/resources/infra/certificates.ts'
import { sweepCertificates } from '#src/resources/infra/certificates/claims.ts'
import type { EdgeCertificates } from '#src/edge/certificates.ts'
import { shownNames, startFront, type Front } from '../../support/acme/front.ts'
import { startPebble, type Pebble } from '../../support/acme/pebble.ts'
import { startCertificateWorld, type CertificateWorld, type Process } from '../../support/acme/world.ts'
import { startCommand } from '../../support/command.ts'
import { until } from '../../support/until.ts'
import { obtain } from '#workers/infra/certificates.ts'
import type { Certificate } from '#src/resources/infra/certificates/rows.ts'

const dayMs = 86_400_000
let front: Front
let pebble: Pebble
let world: CertificateWorld
let worker: Process
let edge: EdgeCertificates
beforeAll(async () => {
  front = await startFront()
  pebble = await startPebble(front)
  world = await startCertificateWorld({ BERTH_ACME_DIRECTORY: pebble.directory, BERTH_ACME_CA_FILE: pebble.caFile })
  ;[worker, edge] = [await world.startWorker(), await world.startEdge()]
  front.certificates = edge
})
afterEach(() => shiftClock(0))
afterAll(async () => {
  front?.close()
  await world?.stop()
  await pebble?.stop()
})

test('a certificate is issued by HTTP, and the edge shows it to clients that trust the authority', async () => {
  const organization = await world.organization()
  const ordered = await world.order(organization, 'shop.example.test')
  expect(ordered).toMatchObject({ status: 'pending', reason: null, notAfter: null })
  expect(await edge.contextOf('shop.example.test')).toBeNull()
  const issued = await world.becomes(ordered, ({ status }) => status === 'issued')
  expect(issued).toMatchObject({ issuer: pebble.directory, reason: null, attempts: 0, orderUrl: null, challenges: [] })
  await until('the edge has heard of it', async () => (await edge.contextOf('shop.example.test')) !== null)
  expect(await shownNames(edge, 'Shop.Example.Test.', await pebble.root())).toBe('DNS:shop.example.test')
  expect(edge.isServed('shop.example.test')).toBe(true)
  expect(edge.isServed('other.example.test')).toBe(false)
})

test('where port 80 does not lead here, the next attempt is by TLS', async () => {
  const organization = await world.organization()
  front.silent.add('tls.example.test')
  const ordered = await world.order(organization, 'tls.example.test')
  const failed = await world.becomes(ordered, ({ status }) => status === 'failed')
  expect(failed.reason).toMatch(/^The certificate authority refused: .*404/)
  expect(failed).toMatchObject({ attempts: 1, orderUrl: null, challenges: [], chain: null })
  await world.order(organization, 'tls.example.test') // as a domain does that is activated again
  const issued = await world.becomes(ordered, ({ status }) => status === 'issued')
  expect(issued).toMatchObject({ id: failed.id, reason: null, attempts: 0 })
})

test('it is renewed when a third of its life is left, and shown as long as the next one is not there', async () => {
  const organization = await world.organization()
  const ordered = await world.order(organization, 'renewed.example.test')
  const first = await world.becomes(ordered, ({ status }) => status === 'issued')
  const lifeMs = endMs(first) - Date.parse(first.notBefore ?? '')
  shiftClock(lifeMs * 0.6)
  await sweepCertificates(worker)
  expect((await world.find(organization, 'renewed.example.test'))?.queuedUntil).toBeNull()
  shiftClock(lifeMs * 0.7)
  await sweepCertificates(worker)
  const renewed = await world.becomes(ordered, ({ chain }) => chain !== first.chain)
  expect(renewed).toMatchObject({ status: 'issued', reason: null })
  expect(serialOf(renewed)).not.toBe(serialOf(first))
  await until('the edge shows the new one', async () => {
    await edge.contextOf('renewed.example.test')
    return (await shownNames(edge, 'renewed.example.test', await pebble.root())) === 'DNS:renewed.example.test'
  })
})

test('a renewal that fails leaves the certificate, and says why', async () => {
  const organization = await world.organization()
  const ordered = await world.order(organization, 'kept.example.test')
  const first = await world.becomes(ordered, ({ status }) => status === 'issued')
  front.silent.add('kept.example.test')
  shiftClock((endMs(first) - Date.parse(first.notBefore ?? '')) * 0.7)
  await sweepCertificates(worker)
  const kept = await world.becomes(ordered, ({ reason }) => reason !== null)
  expect(kept).toMatchObject({ status: 'issued', chain: first.chain, attempts: 1 })
  expect(whyNotCertified(kept)).toBeNull()
  front.certificates = null // before the clock moves on: the next attempt is due then
  shiftClock(endMs(first) - Date.now() - 2 * dayMs)
  expect(whyNotCertified(first)).toBeNull()
  expect(whyNotCertified(kept)).toBe(kept.reason)
  shiftClock(endMs(first) - Date.now() + 1000) // it has ended, and further attempts fail too
  await sweepCertificates(worker)
  expect(await world.becomes(ordered, ({ attempts }) => attempts === 2)).toMatchObject({ status: 'failed' })
  front.certificates = edge
})

test('two workers order each certificate once, with the account of both', async () => {
  const other = await world.startWorker()
  const hosts = ['a', 'b', 'c', 'd', 'e', 'f'].map((word) => `${word}.two.test`)
  const ordered = await Promise.all(hosts.map(async (host) => world.order(await world.organization(), host)))
  for (const one of ordered) await world.becomes(one, ({ status }) => status === 'issued')
  const orders = await sql<{ host: string }>`select host from certificate_orders where host like '%.two.test'`.execute(
    world.db,
  )
  expect(orders.rows.map(({ host }) => host).sort()).toEqual(hosts)
  expect((await sql`select * from acme_accounts`.execute(world.db)).rows).toHaveLength(1)
  await other.jobs.stop()
})

test('a worker that is killed in the middle leaves its order to the next one', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  front.gate = promise
  await worker.jobs.stop()
  const doomed = startCommand(['test/support/acme/worker.ts'], { ...world.settings, DATABASE_URL: world.databaseUrl })
  await doomed.line(/the worker is ready/)
  const ordered = await world.order(await world.organization(), 'killed.example.test')
  await until('the authority looks', () => front.asked.includes('killed.example.test'))
  const begun = await world.becomes(ordered, ({ challenges }) => challenges.length > 0)
  doomed.child.kill('SIGKILL')
  await doomed.ended
  resolve()
  front.gate = null
  await sql`update certificates set claimed_until = now() where id = ${begun.id}`.execute(world.db) // 15 s later
  worker = await world.startWorker()
  await sweepCertificates(worker)
  const issued = await world.becomes(ordered, ({ status }) => status === 'issued')
  expect(issued.claim).toBe(2)
  const orders = await sql`select 1 from certificate_orders where host = 'killed.example.test'`.execute(world.db)
  expect(orders.rows).toHaveLength(1)
})

test('a job that runs again changes nothing, and one of a removed certificate neither', async () => {
  const organization = await world.organization()
  const ordered = await world.order(organization, 'twice.example.test')
  const issued = await world.becomes(ordered, ({ status }) => status === 'issued')
  await obtain(worker, issued.id, AbortSignal.timeout(10_000))
  expect(await world.find(organization, 'twice.example.test')).toEqual(issued)
  await transaction(world.db, (tx) => removeCertificate(tx, issued))
  await obtain(worker, issued.id, AbortSignal.timeout(10_000))
  expect(await world.find(organization, 'twice.example.test')).toBeUndefined()
  await until('the edge has forgotten it', async () => (await edge.contextOf('twice.example.test')) === null)
  expect(edge.isServed('twice.example.test')).toBe(false)
})

test('a certificate that is removed while the authority looks is not stored', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  front.gate = promise
  const organization = await world.organization()
  const ordered = await world.order(organization, 'gone.example.test')
  await until('the authority looks', () => front.asked.includes('gone.example.test'))
  await transaction(world.db, (tx) => removeCertificate(tx, ordered))
  const again = await world.order(organization, 'gone.example.test')
  expect(again.id).not.toBe(ordered.id)
  resolve()
  front.gate = null
  await world.becomes(again, ({ status }) => status === 'issued')
})

test('no private key is in a row, a job or a line', async () => {
  const rows = await sql<{ text: string }>`
    select c::text as text from certificates c union all select a::text from acme_accounts a
    union all select j.data::text from pgboss.job j`.execute(world.db)
  expect(rows.rows.length).toBeGreaterThan(10)
  for (const { text } of rows.rows) {
    expect(text).not.toContain('PRIVATE')
    expect(text).not.toContain(Buffer.from('-----BEGIN PRIVATE KEY-----').toString('hex'))
  }
})

function serialOf({ chain }: Certificate): string {
  return new X509Certificate(chain ?? '').serialNumber
}
function endMs({ notAfter }: Certificate): number {
  return Date.parse(notAfter ?? '')
}
