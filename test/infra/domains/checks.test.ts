/** The checks of domains: what they see, when they are made, and what they change. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { sql } from '#src/platform/postgres.ts'
import { checkClaimed, claimDueDomain } from '#src/resources/infra/domains/checks.ts'
import type { Domain, DomainRecord } from '#src/resources/infra/domains/rows.ts'
import { createDomainChecks, type DomainChecks } from '#workers/infra/domains.ts'
import { until } from '../../support/until.ts'
import { startDnsServer } from '../../support/dns/knot.ts'
import { ingress, startDomainWorld, storedId, type DomainWorld } from './domain-world.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** A name server that takes questions and never answers. */
const silentAddress = '127.0.0.9'

let world: DomainWorld
let checks: DomainChecks
let silent: Socket
beforeAll(async () => {
  silent = createSocket('udp4').bind(0, silentAddress)
  await once(silent, 'listening')
  world = await startDomainWorld()
  checks = createDomainChecks(world.berth.services)
})
afterEach(() => shiftClock(0))
afterAll(async () => {
  checks.stop()
  await world.stop()
  silent.close()
})

/** Makes the checks that are due so many milliseconds from now. */
async function checkAfter(ms: number, by = checks): Promise<void> {
  shiftClock(ms)
  await by.begin()
  await by.settle()
  shiftClock(0)
}

/** The checks of a worker whose settings know the silent name server, besides the real one. */
function checksKnowingSilent(): DomainChecks {
  const { services } = world.berth
  const servers = `${world.dns.address},${silentAddress}:${silent.address().port}`
  return createDomainChecks({ ...services, config: { ...services.config, dnsServers: servers.split(',') } })
}

type Told = {
  status: string
  statusReason: string | null
  nextCheckAt: string | null
  checkedAt: string | null
  lostAt: string | null
  records: DomainRecord[]
}
async function told(name: string): Promise<Told> {
  const { data } = await world.ask(
    'query ($d: ID!) { domain(domain: $d) { status statusReason nextCheckAt checkedAt lostAt records { purpose type name expected seen isRight reason checkedAt } } }',
    { d: name },
  )
  return (data as unknown as { domain: Told }).domain
}

const reasonsOf = ({ records }: Told): (string | null)[] => records.map(({ reason }) => reason)
const secondsBetween = (from: string | null, to: string | null): number =>
  Math.round((Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000)

test('a claim is checked every 30 s for ten minutes, every five minutes for an hour, then hourly', async () => {
  const name = world.name()
  await world.claim(name)
  for (const [after, seconds] of [
    [0, 30],
    [9 * minute, 30],
    [11 * minute, 300],
    [69 * minute, 300],
    [75 * minute, 3600],
    [71 * hour, 3600],
  ] as const) {
    await checkAfter(after)
    const { checkedAt, nextCheckAt } = await told(name)
    expect(secondsBetween(checkedAt, nextCheckAt), `after ${after} ms`).toBe(seconds)
  }
})

test('a claim is verified by the check that finds both records, and checked hourly from then on', async () => {
  const name = world.name()
  const claimed = await world.claim(name)
  await world.dns.set(name, 'A', ingress)
  await checkAfter(0)
  expect((await world.show(name)).verification_status).toBe('pending')
  await world.prove(name, claimed)
  await checkAfter(31_000)
  const after = await told(name)
  expect(after).toMatchObject({
    status: 'VERIFIED',
    statusReason: null,
    records: [
      { isRight: true, seen: [ingress] },
      { isRight: true, reason: null },
    ],
  })
  expect(secondsBetween(after.checkedAt, after.nextCheckAt)).toBe(3600)
  expect((await world.show(name)).verified_at).not.toBeNull()
  expect(await world.route(name)).toBeUndefined()
})

test('a claim without its records has failed after 72 hours, and is pending again with the same token', async () => {
  const name = world.name()
  const { verification_token: token } = await world.claim(name)
  await checkAfter(71 * hour)
  expect((await told(name)).status).toBe('PENDING')
  await checkAfter(73 * hour)
  expect(await told(name)).toMatchObject({
    status: 'FAILED',
    nextCheckAt: null,
    statusReason: expect.stringContaining(`There is no name ${name}.`),
  })
  expect(await world.call('POST', `domains/${name}/link`, { vm_id: await world.vm(), vm_port: 1 })).toMatchObject({
    status: 400,
  })
  expect((await world.claim(name)).verification_token).toBe(token)
  expect(await told(name)).toMatchObject({ status: 'PENDING', statusReason: null })
})

test('an active domain that has not led here for seven days has failed and lost its route, and one that came back has not', async () => {
  const [lost, back] = [world.name(), world.name()]
  for (const name of [lost, back]) {
    await world.activate(name)
    await world.dns.set(name, 'A', '198.51.100.9')
  }
  await checkAfter(2 * hour)
  expect(await told(lost)).toMatchObject({
    status: 'ACTIVE',
    lostAt: expect.any(String),
    records: [{ isRight: false }, { isRight: true }],
  })
  await world.dns.set(back, 'A', ingress)
  await checkAfter(6 * day)
  expect((await told(back)).lostAt).toBeNull()
  await checkAfter(8 * day)
  expect(await told(lost)).toMatchObject({
    status: 'FAILED',
    statusReason: expect.stringContaining('not led here for 7 days'),
  })
  expect(await world.route(lost)).toBeUndefined()
  expect(await told(back)).toMatchObject({ status: 'ACTIVE' })
  await world.dns.set(lost, 'A', ingress)
  expect((await world.call('POST', 'domains/activate', { domain: lost })).status).toBe(200) // from failed, at once
  expect(await world.route(lost)).toBeDefined()
})

test('an active domain keeps its status when its TXT record is removed', async () => {
  const name = world.name()
  await world.activate(name)
  await world.dns.set(`_berth-challenge.${name}`, 'TXT')
  await checkAfter(2 * hour)
  await checkAfter(9 * day)
  expect((await told(name)).status).toBe('ACTIVE')
})

test('each record says what is there and why it is not right', async () => {
  const cases: [string, () => Promise<unknown>, RegExp][] = []
  const add = (records: (name: string) => Promise<unknown>, reason: RegExp): void => {
    const name = world.name()
    cases.push([name, () => records(name), reason])
  }
  add(async () => undefined, /^There is no name \S+\. Wanted: A record, name \S+, value 203\.0\.113\.7\.$/)
  add((name) => world.dns.set(name, 'TXT', 'x'), /has no A record\. Wanted/)
  add(
    (name) => world.dns.set(name, 'A', '198.51.100.1'),
    /leads to 198\.51\.100\.1, which is not this Berth\. Let its only A record be 203\.0\.113\.7\.$/,
  )
  add(
    (name) => world.dns.set(name, 'A', '10.1.2.3', '198.51.100.1'),
    /leads to an address that is not public, 198\.51\.100\.1, which is not this Berth\./,
  )
  add((name) => world.dns.set(name, 'A', ingress, '198.51.100.1'), /also leads to 198\.51\.100\.1/)
  add(async (name) => {
    await world.dns.set(name, 'A', ingress)
    await world.dns.set(name, 'AAAA', '2001:db8::1')
  }, /also leads to 2001:db8::1, which is not this Berth\. Remove its AAAA records\.$/)
  add((name) => world.dns.set(name, 'CNAME', 'gone.elsewhere.test.'), /^There is no name gone\.elsewhere\.test\./)
  add((name) => world.dns.set(name, 'CNAME', `${name}.`), /CNAMEs of \S+ lead nowhere/)
  for (const [name, records] of cases) {
    await world.claim(name)
    await records()
  }
  await checkAfter(0)
  for (const [name, , reason] of cases) expect((await told(name)).records[0]?.reason, name).toMatch(reason)
})

test('a CNAME leads here across names and zones, and one below the platform’s domain is right as it is', async () => {
  const [far, ours] = [world.name(), world.name()]
  for (const name of [far, ours]) {
    const { txt_record_name: at, txt_record_value: value } = await world.claim(name)
    await world.dns.set(at, 'TXT', '"unrelated"', `"${value.slice(0, 20)}" "${value.slice(20)}"`) // in two chunks
  }
  await world.dns.set(far, 'CNAME', 'one.elsewhere.test.')
  await world.dns.set('one.elsewhere.test', 'CNAME', 'two.example.test.')
  await world.dns.set('two.example.test', 'A', ingress)
  await world.dns.set(ours, 'CNAME', 'web-1234.berth.test.')
  await checkAfter(0)
  expect(await told(far)).toMatchObject({
    status: 'VERIFIED',
    records: [{ seen: ['CNAME one.elsewhere.test', 'CNAME two.example.test', ingress] }, {}],
  })
  expect(await told(ours)).toMatchObject({ status: 'VERIFIED', records: [{ seen: ['CNAME web-1234.berth.test'] }, {}] })
})

test('a wildcard is proved by the CNAME of its certificate', async () => {
  const name = `*.${world.name()}`
  await world.claim(name)
  const { records } = await told(name)
  const cname = records.find(({ type }) => type === 'CNAME')
  await world.dns.set(name, 'A', ingress)
  await world.dns.set(cname?.name ?? '', 'CNAME', `${cname?.expected}.`)
  expect((await world.call('POST', 'domains/activate', { domain: name })).status).toBe(200)
  expect(await world.route(name)).toMatchObject({ host: name })
})

test('many TXT records with whatever bytes are read, and shown in part', async () => {
  const name = world.name()
  const claimed = await world.claim(name)
  await world.dns.set(name, 'A', ingress)
  const strange = Array.from(
    { length: 20 },
    (_, n) => `"${n}\\000\\001\\255<script>${'x'.repeat(200)}" "${'y'.repeat(200)}"`,
  )
  await world.dns.set(claimed.txt_record_name, 'TXT', ...strange)
  await checkAfter(0)
  const { records, status } = await told(name)
  expect(status).toBe('PENDING')
  expect(records[1]?.seen).toHaveLength(10)
  for (const value of records[1]?.seen ?? []) expect(value).toMatch(/^[^\p{Cc}]{1,256}$/u)
})

test('a name server of a zone at a private address is not asked', async () => {
  const asked: string[] = []
  const guarded = createSocket('udp4')
    .bind(0, '127.0.0.10')
    .on('message', () => asked.push('UDP'))
  await once(guarded, 'listening')
  await world.dns.set('evil.test', 'NS', 'ns2.evil.test.')
  const addresses = ['127.0.0.10', '10.0.0.53', '169.254.169.254']
  await world.dns.set('ns2.evil.test', 'A', ...addresses)
  await world.claim('shop.evil.test')
  await checkAfter(0)
  const told = await reasons('shop.evil.test')
  guarded.close()
  for (const reason of told)
    expect(reason).toMatch(/^The name servers of evil\.test \(ns2\.evil\.test\) have no public address\./)
  for (const address of addresses) expect(told.join()).not.toContain(address)
  expect(asked).toEqual([])
})

const reasons = async (name: string): Promise<(string | null)[]> => reasonsOf(await told(name))

/** Only root may listen on the port where every name server of a zone is asked. */
const isRoot = process.getuid?.() === 0

test.runIf(isRoot)('what a zone’s own name server says counts, not what others keep of it', async () => {
  const own = await startDnsServer(['evil.test'], { address: '127.0.0.20', port: 53 })
  await world.dns.set('evil.test', 'NS', 'ns4.evil.test.')
  await world.dns.set('ns4.evil.test', 'A', '127.0.0.20')
  const { txt_record_name: at, txt_record_value: value } = await world.claim('own.evil.test')
  await world.dns.set('own.evil.test', 'A', '198.51.100.7') // as of yesterday
  await own.set('own.evil.test', 'A', ingress)
  await own.set(at, 'TXT', `"${value}"`)
  const { services } = world.berth
  const config = { ...services.config, privateHosts: ['127.0.0.20:53'] } // otherwise it would not be asked
  await checkAfter(0, createDomainChecks({ ...services, config }))
  await own.stop()
  expect(await told('own.evil.test')).toMatchObject({ status: 'VERIFIED', records: [{ seen: [ingress] }, {}] })
})

test('a zone whose name servers are silent is told from one without the record, and delays nobody else', async () => {
  await world.dns.set('evil.test', 'NS', 'ns3.evil.test.')
  await world.dns.set('ns3.evil.test', 'A', silentAddress)
  await world.claim('a.evil.test', world.other)
  await sql`insert into domains (id, organization_id, name, status, verification_token, pending_since, next_check_at)
    select gen_random_uuid(), (select organization_id from domains where name = 'a.evil.test'), n || '.evil.test', 'pending', repeat('b', 32), now(), now() - interval '1 hour'
    from generate_series(1, 200) n`.execute(world.berth.services.db)
  const name = world.name()
  await world.prove(name, await world.claim(name))
  await world.claim('mine.evil.test')
  const knowing = checksKnowingSilent()
  await knowing.begin()
  await until('mine is verified', async () => (await world.show(name)).verification_status === 'verified')
  const { rows } = await sql<{
    busy: number
  }>`select count(*)::int as busy from domains where name like '%.evil.test' and check_ends_at > now() and organization_id <> (select organization_id from domains where name = ${name})`.execute(
    world.berth.services.db,
  )
  expect(rows[0]?.busy).toBeLessThanOrEqual(4)
  await until('a silent one is told', async () => (await told('mine.evil.test')).checkedAt !== null, 15_000)
  for (const reason of await reasons('mine.evil.test'))
    expect(reason).toMatch(
      /^The name servers of evil\.test \(ns3\.evil\.test\) (?:do not answer|did not answer in time)\./,
    )
  knowing.stop()
  await knowing.settle()
  await sql`delete from domains where name like '%.evil.test'`.execute(world.berth.services.db)
}, 40_000)

test('while Berth’s own name servers do not answer, an active domain is not lost', async () => {
  const name = world.name()
  await world.activate(name)
  const { services } = world.berth
  const blind = createDomainChecks({ ...services, config: { ...services.config, dnsServers: ['127.0.0.1:1'] } })
  await checkAfter(2 * hour, blind)
  expect(await told(name)).toMatchObject({ status: 'ACTIVE', lostAt: null })
  expect((await reasons(name))[0]).toContain('The name servers that Berth asks first do not answer. Berth tries again.')
})

test('a due domain is checked once, however many workers look', async () => {
  const name = world.name()
  await world.claim(name)
  const workers = Array.from({ length: 4 }, () => createDomainChecks(world.berth.services))
  const before = await numberOf(name)
  await Promise.all(workers.map((worker) => worker.begin()))
  await Promise.all(workers.map((worker) => worker.settle()))
  expect(await numberOf(name)).toBe(before + 1)
})

test('a check whose worker died is taken over after its lease, and what it saw later counts for nothing', async () => {
  const name = world.name()
  const claimed = await world.claim(name)
  await checkAfter(0)
  shiftClock(31_000)
  const dead = await claimThis(name)
  await checkAfter(32_000)
  expect(await numberOf(name)).toBe(dead.checkNumber) // the lease holds
  await world.prove(name, claimed)
  await checkAfter(65_000)
  expect((await told(name)).status).toBe('VERIFIED')
  await world.dns.set(name, 'A') // what the dead one would see now
  await checkClaimed(world.berth.services, dead, new AbortController().signal)
  expect((await told(name)).records[0]).toMatchObject({ isRight: true })
})

test('a check that is stopped writes nothing, and a domain that is deleted meanwhile is left alone', async () => {
  const name = world.name()
  await world.claim(name)
  const claimed = await claimThis(name)
  await checkClaimed(world.berth.services, claimed, AbortSignal.abort())
  expect((await told(name)).checkedAt).toBeNull()
  await world.call('DELETE', `domains/${name}`)
  await expect(checkClaimed(world.berth.services, claimed, new AbortController().signal)).rejects.toThrow(
    'no such domain',
  )
})

/** Claims the checks that are due until it is this domain's; the others' are made by nobody until their leases end. */
async function claimThis(name: string): Promise<Domain> {
  for (;;) {
    const claimed = await claimDueDomain(world.berth.services.db)
    if (!claimed) throw new Error(`${name} is not due`)
    if (claimed.name === name) return claimed
  }
}

async function numberOf(name: string): Promise<number> {
  const id = storedId(await world.show(name))
  const { rows } = await sql<{ n: number }>`select check_number::int as n from domains where id = ${id}`.execute(
    world.berth.services.db,
  )
  return rows[0]?.n ?? -1
}

test('the events of a domain tell of each change, and end when it is deleted', async () => {
  const [name, vm] = [world.name(), await world.vm()]
  const claimed = await world.claim(name)
  const answer = await fetch(`${world.berth.url}/graphql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify({
      query:
        'subscription ($d: ID!) { domainEvents(domain: $d, after: "0") { ... on DomainEvent { cursor status target domain { name } } } }',
      variables: { d: name },
    }),
  })
  let text = ''
  const reading = (async () => {
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece // a stream has a body
  })()
  await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80 })
  await world.prove(name, claimed)
  await world.call('POST', 'domains/activate', { domain: name })
  await world.call('DELETE', `domains/${name}/link`)
  await until('its changes are told', () => text.includes('"cursor":"5"')) // they go with it
  await world.call('DELETE', `domains/${name}`)
  await reading
  const events = [...text.matchAll(/"domainEvents":\{"cursor":"(\d+)","status":"(\w+)","target":(null|"[^"]*")/g)].map(
    (match) => match.slice(1),
  )
  expect(events).toEqual([
    ['1', 'PENDING', 'null'],
    ['2', 'PENDING', `"vm:${vm}:80"`],
    ['3', 'VERIFIED', `"vm:${vm}:80"`],
    ['4', 'ACTIVE', `"vm:${vm}:80"`],
    ['5', 'ACTIVE', 'null'],
  ])
})
