/** Nobody takes a name that is another's: claims of several organizations, DNS that changes, names that are given up. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { followRoutes } from '#src/edge/http/routes.ts'
import { decodeId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { markDeleted } from '#src/resources/infra/vms/lifecycle.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import { createDomainChecks } from '#workers/infra/domains.ts'
import { until } from '../../support/until.ts'
import { ingress, startDomainWorld, type DomainWorld } from './domain-world.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await startDomainWorld()
})
afterAll(() => world.stop())

test('a claim of another organization neither blocks nor shows, and the first to prove the name has it', async () => {
  const name = world.name()
  const theirs = await world.claim(name, world.other)
  const mine = await world.claim(name)
  expect(mine.verification_token).not.toBe(theirs.verification_token)
  const third = await world.berth.token('tom', 'third')
  expect((await world.call('GET', `domains/${name}`, undefined, third)).status).toBe(404)
  expect((await world.call('POST', 'domains/activate', { domain: name }, third)).status).toBe(404)
  await world.prove(name, mine)
  expect((await world.call('POST', 'domains/activate', { domain: name }, world.other)).body).toMatchObject({
    error: 'dns_not_verified',
    message: expect.stringContaining(`none says berth-verify=${theirs.verification_token}`),
  })
  expect((await world.call('POST', 'domains/activate', { domain: name })).status).toBe(200)
  const late = await world.call('POST', 'domains/activate', { domain: name }, world.other)
  expect(late).toMatchObject({
    status: 400,
    body: { error: 'dns_not_verified', message: expect.stringContaining('Another organization has proved') },
  })
  expect(await world.show(name, world.other)).toMatchObject({ verification_status: 'failed' })
  expect(await world.call('POST', 'domains', { domain: name }, world.other)).toMatchObject({
    status: 400,
    body: { error: 'invalid_domain' },
  })
  for (const [method, path, body] of [
    ['GET', `domains/${name}`, undefined],
    ['DELETE', `domains/${name}`, undefined],
    ['DELETE', `domains/${name}/link`, undefined],
    ['POST', 'domains/activate', { domain: name }],
    ['POST', `domains/${name}/link`, { vm_id: 'vm_x', vm_port: 1 }],
  ] as const)
    expect(await world.call(method, path, body, third), `${method} ${path}`).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    })
  expect(await world.call('POST', 'domains', { domain: name.toUpperCase() }, third)).toMatchObject({
    status: 400,
    body: { error: 'invalid_domain' },
  })
})

test('of two that prove a name at once one has it', async () => {
  const name = world.name()
  const [mine, theirs] = [await world.claim(name), await world.claim(name, world.other)]
  await world.dns.set(name, 'A', mine.a_record_ip)
  await world.dns.set(mine.txt_record_name, 'TXT', `"${mine.txt_record_value}"`, `"${theirs.txt_record_value}"`)
  const answers = await Promise.all(
    [world.token, world.other, world.token, world.other].map((as) =>
      world.call('POST', 'domains/activate', { domain: name }, as),
    ),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 400, 400])
  expect(statuses[0]).toBe(statuses[2])
  expect(await world.route(name)).toMatchObject({ path: '/' })
})

test('another path of a name is another organization’s if its own token is there too', async () => {
  const name = world.name()
  await world.activate(name)
  const theirs = await world.claim(name, world.other, { path: '/docs' })
  expect((await world.call('POST', 'domains/activate', { domain: name }, world.other)).status).toBe(400)
  const { verification_token: mine } = await world.show(name)
  await world.dns.set(theirs.txt_record_name, 'TXT', `"berth-verify=${mine}"`, `"${theirs.txt_record_value}"`)
  expect((await world.call('POST', 'domains/activate', { domain: name }, world.other)).status).toBe(200)
  const vm = await world.vm()
  expect(await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80, path: '/docs' })).toMatchObject({
    status: 400,
    body: { error: 'invalid_domain' },
  })
})

test('a name whose DNS was changed after it was verified is not activated', async () => {
  const [moved, unproved] = [world.name(), world.name()]
  for (const name of [moved, unproved]) await world.prove(name, await world.claim(name))
  const checks = createDomainChecks(world.berth.services)
  await checks.begin()
  await checks.settle()
  for (const name of [moved, unproved]) expect((await world.show(name)).verification_status).toBe('verified')
  await world.dns.set(moved, 'A', '198.51.100.1')
  await world.dns.set(`_berth-challenge.${unproved}`, 'TXT')
  for (const name of [moved, unproved])
    expect(await world.call('POST', 'domains/activate', { domain: name }), name).toMatchObject({
      status: 400,
      body: { error: 'dns_not_verified' },
    })
  expect(await world.route(moved)).toBeUndefined()
})

test('a name that was given up is claimed with a new token, and the old record proves nothing', async () => {
  const name = world.name()
  await world.activate(name)
  const { verification_token: before } = await world.show(name)
  expect((await world.call('DELETE', `domains/${name}`)).status).toBe(204)
  expect(await world.route(name)).toBeUndefined()
  for (const as of [world.other, world.token]) {
    expect((await world.claim(name, as)).verification_token).not.toBe(before)
    expect(await world.call('POST', 'domains/activate', { domain: name }, as)).toMatchObject({
      status: 400,
      body: { error: 'dns_not_verified' },
    })
  }
})

test('a TXT record behind a CNAME proves nothing: the target may be anybody’s', async () => {
  const name = world.name()
  const claimed = await world.claim(name)
  await world.dns.set(name, 'A', claimed.a_record_ip)
  await world.dns.set('proof.elsewhere.test', 'TXT', `"${claimed.txt_record_value}"`)
  await world.dns.set(claimed.txt_record_name, 'CNAME', 'proof.elsewhere.test.')
  expect((await world.call('POST', 'domains/activate', { domain: name })).body.message).toContain(
    'is a CNAME of proof.elsewhere.test',
  )
})

test('the name servers of what a name is a CNAME of are not asked for its proof', async () => {
  // Whoever gets a zone that a forgotten CNAME leads to must not answer for the name itself.
  const name = world.name()
  const claimed = await world.claim(name)
  await world.dns.set(name, 'CNAME', 'elsewhere.test.')
  await world.dns.set('elsewhere.test', 'A', claimed.a_record_ip)
  const { message } = (await world.call('POST', 'domains/activate', { domain: name })).body
  expect(message).toContain(`There is no name ${claimed.txt_record_name}`)
  await world.dns.set(claimed.txt_record_name, 'TXT', `"${claimed.txt_record_value}"`)
  expect((await world.call('POST', 'domains/activate', { domain: name })).status).toBe(200)
})

test('a member of two organizations reaches the one of their token first, and a viewer of the other changes nothing there', async () => {
  const name = world.name()
  await world.claim(name, world.other)
  await world.berth.token('vera', 'evil', 'viewer')
  const vera = await world.berth.token('vera', 'acme', 'owner')
  expect((await world.call('GET', `domains/${name}`, undefined, vera)).status).toBe(200)
  expect((await world.call('DELETE', `domains/${name}`, undefined, vera)).body.error).toBe('not_permitted_for_role')
  await world.claim(name, vera)
  expect((await world.call('DELETE', `domains/${name}`, undefined, vera)).status).toBe(204)
  expect((await world.call('GET', `domains/${name}`, undefined, world.other)).status).toBe(200)
})

/** Claims all names one level below, proves them by the CNAME of their certificate, and activates them. */
async function activateWildcard(wildcard: string, as = world.token): Promise<void> {
  await world.claim(wildcard, as)
  const { data } = await world.ask(
    'query ($d: ID!) { domain(domain: $d) { records { type name expected } } }',
    { d: wildcard },
    as,
  )
  const { domain } = data as unknown as { domain: { records: { type: string; name: string; expected: string }[] } } // as it was asked for
  const cname = domain.records.find(({ type }) => type === 'CNAME')
  await world.dns.set(wildcard, 'A', ingress)
  await world.dns.set(cname?.name ?? '', 'CNAME', `${cname?.expected}.`)
  expect((await world.call('POST', 'domains/activate', { domain: wildcard }, as)).status).toBe(200)
}
const refusedActivation = { status: 400, body: { error: 'dns_not_verified' } }

test('records of a wildcard that was given up prove nothing: not the wildcard, and no name below it', async () => {
  const base = world.name()
  const wildcard = `*.${base}`
  await activateWildcard(wildcard)
  const { verification_token: before } = await world.show(wildcard)
  expect((await world.call('DELETE', `domains/${wildcard}`)).status).toBe(204)
  await world.dns.set(wildcard, 'TXT', `"berth-verify=${before}"`) // it answers for _berth-challenge of each name
  for (const as of [world.other, world.token])
    for (const name of [wildcard, `shop.${base}`]) {
      await world.claim(name, as)
      expect(await world.call('POST', 'domains/activate', { domain: name }, as), name).toMatchObject(refusedActivation)
    }
  expect([await world.route(wildcard), await world.route(`shop.${base}`)]).toEqual([undefined, undefined])
})

test('a wildcard CNAME that leads to a generated name lets nobody prove a name below it', async () => {
  const base = world.name()
  await world.dns.set(`*.${base}`, 'CNAME', 'web-4c9qk2xp.berth.test.')
  await world.claim(`shop.${base}`, world.other)
  expect(await world.call('POST', 'domains/activate', { domain: `shop.${base}` }, world.other)).toMatchObject(
    refusedActivation,
  )
})

test('a name below the wildcard of another organization is its owner’s alone until it is deleted', async () => {
  const table = followRoutes(world.berth.services)
  await table.ready
  const base = world.name()
  const shop = `shop.${base}`
  await world.activate(shop)
  await activateWildcard(`*.${base}`, world.other)
  const owned = async (): Promise<string | undefined> => (await world.route(shop))?.organizationId
  const theirs = (await world.route(`*.${base}`))?.organizationId
  const mine = await owned()
  expect(mine).not.toBe(theirs)
  const ownerOf = (host: string, path = '/'): string | undefined => table.find(host, path)?.organizationId
  await until('the edge knows both', () => ownerOf(shop) === mine && ownerOf(`other.${base}`) === theirs)

  const vm = await world.vm()
  await world.call('POST', `domains/${shop}/link`, { vm_id: vm, vm_port: 80, path: '/docs' })
  await until('it leads to the VM', () => table.find(shop, '/docs')?.vmId === decodeId('vm', vm))
  expect(ownerOf(shop)).toBeUndefined() // nobody is at its other paths
  await world.call('DELETE', `domains/${shop}/link`)
  await until('it leads nowhere', () => table.find(shop, '/docs')?.vmId === null)
  expect(ownerOf(shop, '/docs')).toBe(mine)
  const entry = { service_name: 'web', vm_id: await world.vm(world.other), vm_port: 80, domain: shop, path: '/login' }
  expect((await world.call('POST', 'proxies', entry, world.other)).status).toBe(400)

  await world.call('DELETE', `domains/${shop}`)
  await until('the wildcard has it', () => ownerOf(shop, '/docs') === theirs)
  table.close()
})

test('nobody gets the domain of a deleted VM by a VM with its id', async () => {
  const [name, vm] = [world.name(), await world.vm()]
  await world.activate(name)
  await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80 })
  const { services } = world.berth
  await transaction(services.db, async (tx) => {
    const row = await lockVmRow(tx, decodeId('vm', vm) ?? '')
    if (row) await markDeleted(services, tx, row, 'request')
  })
  expect(await world.route(name)).toMatchObject({ vmId: null })
  for (const as of [world.other, world.token])
    expect(await world.call('POST', 'vms', { vm_id: vm }, as)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', message: expect.stringContaining('never used before') },
    })
  expect(await world.route(name)).toMatchObject({ vmId: null })
})
