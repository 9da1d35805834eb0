/** Certificates that are not issued: an authority that refuses, lies, or is away, and organizations that order too many. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { sql } from '#src/platform/postgres.ts'
import { checkAcme } from '#src/start/acme-checks.ts'
import { forgetCertificateOrders, sweepCertificates } from '#src/resources/infra/certificates/claims.ts'
import type { Certificate } from '#src/resources/infra/certificates/rows.ts'
import { handleCertificates, obtain } from '#workers/infra/certificates.ts'
import { startFront, type Front } from '../../support/acme/front.ts'
import { startPebble, type Pebble } from '../../support/acme/pebble.ts'
import { startCertificateWorld, type CertificateWorld, type Process } from '../../support/acme/world.ts'

let front: Front
let pebble: Pebble
let world: CertificateWorld
let worker: Process
beforeAll(async () => {
  front = await startFront()
  pebble = await startPebble(front)
  world = await startCertificateWorld({ BERTH_ACME_DIRECTORY: pebble.directory, BERTH_ACME_CA_FILE: pebble.caFile })
  ;[worker, front.certificates] = [await world.startWorker(), await world.startEdge()]
})
afterEach(() => shiftClock(0))
afterAll(async () => {
  front?.close()
  await world?.stop()
  await pebble?.stop()
})
const isDone = ({ reason, status }: Certificate): boolean => reason !== null || status !== 'pending'

/** An authority that answers orders like this. @returns the settings of Berth for it. */
async function startStubborn(answer: { status: number; headers?: Record<string, string>; body: unknown }) {
  const server = createServer((request, response) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
    const nonce = { 'replay-nonce': newUuid() }
    if (request.url === '/dir')
      response.end(JSON.stringify({ newNonce: `${url}/nonce`, newAccount: `${url}/account`, newOrder: `${url}/order` }))
    else if (request.url === '/nonce') response.writeHead(200, nonce).end()
    else if (request.url === '/account')
      response.writeHead(201, { ...nonce, location: `${url}/account/1`, 'content-type': 'application/json' }).end('{}')
    else
      response
        .writeHead(answer.status, { ...nonce, 'content-type': 'application/problem+json', ...answer.headers })
        .end(JSON.stringify(answer.body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return world.open('worker', {
    BERTH_ACME_DIRECTORY: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dir`,
  })
}

/** One attempt of another process, at a certificate that no other worker takes. */
async function attemptOf(process: Process, host: string): Promise<Certificate> {
  const organizationId = await world.organization()
  await worker.jobs.stop()
  const { id } = await world.order(organizationId, host)
  await obtain(process, id, AbortSignal.timeout(20_000))
  const row = await world.find(organizationId, host)
  worker = await world.startWorker()
  if (!row) throw new Error('it is gone')
  return row
}

test('what the authority says is the reason, in one line and not too long', async () => {
  const detail = `No\u0000 certificates\r\nfor you,\u202e ${'x'.repeat(5000)}`
  const refusing = await startStubborn({
    status: 403,
    body: { type: 'urn:ietf:params:acme:error:rejectedIdentifier', detail },
  })
  const failed = await attemptOf(refusing, 'rejected.example.test')
  expect(failed).toMatchObject({ status: 'failed', attempts: 1, orderUrl: null })
  expect(failed.reason).toMatch(/^The certificate authority refused: No certificates for you, x+$/)
  expect(failed.reason?.length).toBe(certificateLimits.reasonLength)
})

test('an authority that limits orders is left alone for as long as it asks, also when the domain is activated again', async () => {
  const limiting = await startStubborn({
    status: 429,
    headers: { 'retry-after': '7200' },
    body: { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many certificates' },
  })
  const held = await attemptOf(limiting, 'limited.example.test')
  expect(held.reason).toBe('The certificate authority refused: too many certificates')
  const waitSeconds = (Date.parse(held.heldUntil ?? '') - Date.now()) / 1000
  expect(waitSeconds).toBeGreaterThan(7100)
  expect(waitSeconds).toBeLessThanOrEqual(7200)
  await world.order(held.organizationId, held.host)
  await obtain(limiting, held.id, AbortSignal.timeout(20_000))
  expect(await world.find(held.organizationId, held.host)).toMatchObject({ attempts: 1, claim: held.claim })
})

test('an authority that answers nonsense fails this attempt, and no other', async () => {
  const confused = await startStubborn({ status: 201, headers: { location: 'x' }, body: ['nonsense'] })
  const failed = await attemptOf(confused, 'nonsense.example.test')
  expect(failed).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^The certificate/) })
})

test('an authority that asks for more proofs than a name needs, or answers more than is read, is told as the reason', async () => {
  const authorizations = Array.from({ length: certificateLimits.authorizationsMax + 1 }, (_, at) => `http://a/${at}`)
  const greedy = await startStubborn({
    status: 201,
    headers: { location: 'x' },
    body: { status: 'pending', authorizations },
  })
  expect((await attemptOf(greedy, 'greedy.example.test')).reason).toBe(
    'The certificate authority refused: it asks for 11 proofs of one name.',
  )
  const long = await startStubborn({ status: 201, body: 'x'.repeat(certificateLimits.answerBytes) })
  expect((await attemptOf(long, 'long.example.test')).reason).toBe(
    'The certificate authority could not be reached (its answer is larger than 131072 bytes). It is tried again by itself.',
  )
})

test('the doctor says whether the authority answers, and by what file it is known', async () => {
  const { directory: acmeDirectory, caFile: acmeCaFile } = pebble
  expect(await checkAcme({ acmeDirectory, acmeCaFile })).toMatchObject({ verdict: 'works' })
  expect(await checkAcme({ acmeDirectory, acmeCaFile: null })).toMatchObject({
    verdict: 'fails',
    what: expect.stringMatching(/which does not answer \(.*CERT.*\)$/),
  })
  expect(await checkAcme({ acmeDirectory, acmeCaFile: '/nowhere.pem' })).toMatchObject({
    verdict: 'fails',
    what: expect.stringContaining('cannot be read: /nowhere.pem'),
  })
  const elsewhere = acmeDirectory.replace(/dir$/, 'elsewhere')
  expect(await checkAcme({ acmeDirectory: elsewhere, acmeCaFile })).toMatchObject({ verdict: 'fails' })
  expect(await checkAcme({ acmeDirectory: null, acmeCaFile: null })).toMatchObject({ verdict: 'neither' })
})

test('an authority that is away is asked again; the account is the same afterwards, though it has forgotten it', async () => {
  const organizationId = await world.organization()
  const first = await world.order(organizationId, 'before.example.test')
  await world.becomes(first, ({ status }) => status === 'issued')
  const keyOf = async () =>
    (
      await sql<{
        key: Buffer
      }>`select sealed_key as key from acme_accounts where directory = ${pebble.directory}`.execute(world.db)
    ).rows[0]?.key
  const key = await keyOf()
  await pebble.kill()
  const ordered = await world.order(organizationId, 'away.example.test')
  const failed = await world.becomes(ordered, isDone)
  expect(failed).toMatchObject({ status: 'failed', attempts: 1 })
  expect(failed.reason).toBe(
    'The certificate authority could not be reached (ECONNREFUSED). It is tried again by itself.',
  )
  await pebble.restart()
  shiftClock(3600_000)
  await sweepCertificates(worker)
  await world.becomes(ordered, ({ attempts, status }) => attempts === 2 || status === 'issued') // it does not know the account
  shiftClock(3 * 3600_000)
  await sweepCertificates(worker)
  await world.becomes(ordered, ({ status }) => status === 'issued')
  expect(await keyOf()).toEqual(key)
})

test('an organization orders so many within an hour and a week, and others are served meanwhile', async () => {
  const [greedy, other] = [await world.organization(), await world.organization()]
  const before = (hours: number, count: number) =>
    sql`insert into certificate_orders (id, organization_id, host, created_at)
      select gen_random_uuid(), ${greedy}, 'old.example.test', now() - ${hours} * interval '1 hour' from generate_series(1, ${count})`.execute(
      world.db,
    )
  await before(0.5, certificateLimits.ordersOfOrganizationPerHour)
  const ordered = await world.order(greedy, 'greedy.example.test')
  const waiting = await world.becomes(ordered, isDone)
  expect(waiting).toMatchObject({ status: 'pending', attempts: 0, orderUrl: null })
  expect(waiting.reason).toBe(
    'This organization has ordered 20 certificates within an hour, which is the most. It is tried again by itself.',
  )
  await world.becomes(await world.order(other, 'fair.example.test'), ({ status }) => status === 'issued')
  await sql`update certificate_orders set created_at = created_at - interval '1 hour' where organization_id = ${greedy}`.execute(
    world.db,
  )
  await before(24, certificateLimits.ordersOfOrganizationPerWeek)
  shiftClock(3600_000)
  await sweepCertificates(worker)
  await world.becomes(ordered, ({ reason }) => reason?.includes('within a week') === true)
  await sql`update certificate_orders set created_at = created_at - interval '8 days' where organization_id = ${greedy}`.execute(
    world.db,
  )
  await forgetCertificateOrders(world.db)
  shiftClock(10 * 3600_000)
  await sweepCertificates(worker)
  await world.becomes(ordered, ({ status }) => status === 'issued')
})

test('a name is not ordered again and again', async () => {
  const organizationId = await world.organization()
  await sql`insert into certificate_orders (id, organization_id, host)
    select gen_random_uuid(), ${organizationId}, 'often.example.test' from generate_series(1, ${certificateLimits.ordersOfHostPerHour})`.execute(
    world.db,
  )
  const waiting = await world.becomes(await world.order(organizationId, 'often.example.test'), isDone)
  expect(waiting.reason).toMatch(/^A certificate of this name was ordered 4 times within an hour/)
})

test('without an authority the node signs; once one is set, it issues, and until then the node’s stays', async () => {
  const own = await startCertificateWorld({})
  onTestFinished(() => own.stop())
  const organizationId = await own.organization()
  const signed = await own.order(organizationId, 'own.example.test')
  expect(signed).toMatchObject({ status: 'issued', issuer: 'own', notAfter: null, nextAttemptAt: null })
  const edge = await own.startEdge()
  expect(await edge.contextOf('own.example.test')).not.toBeNull()
  const set = { BERTH_ACME_DIRECTORY: pebble.directory, BERTH_ACME_CA_FILE: pebble.caFile }
  const services = await own.open('worker', set)
  front.certificates = edge
  await handleCertificates(services)
  await sweepCertificates(services)
  const issued = await own.becomes(signed, ({ issuer }) => issuer === pebble.directory)
  expect(issued).toMatchObject({ status: 'issued', reason: null })
})
