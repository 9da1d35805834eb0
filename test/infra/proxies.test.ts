/** Proxy entries, over REST and GraphQL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import { moveDomain } from '#src/resources/infra/domains/states.ts'
import { findRoutes, putRoute, routesTopic } from '#src/resources/infra/routes.ts'
import { endVm, markDeleted } from '#src/resources/infra/vms/lifecycle.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_HTTPS_PORT: '8443' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

type Created = {
  id: string
  service_name: string
  vm_id: string
  deployment_type: string
  external_url: string
  vm_port: number
  error: string
  message: string
}
const makeVm = (): Promise<string> => makeVmRow(berth.services.db, token, node)
const create = (body: object, as: string = token) => berth.call<Created>('POST', '/api/v1/proxies', { token: as, body })
const open = async (vm: string, name = 'web', more: object = {}) =>
  (await create({ service_name: name, vm_id: vm, vm_port: 8080, ...more })).body
const list = async (vm: string) =>
  (await berth.call<{ services: { id: string }[] }>('GET', `/api/v1/proxies/vm/${vm}`, { token })).body.services
const remove = (id: string, as: string = token) => berth.call('DELETE', `/api/v1/proxies/${id}`, { token: as })
const routeOf = async (proxy: string) => (await findRoutes(berth.services.db, [decodeId('proxy', proxy) ?? '']))[0]

const positions = (vm: string) =>
  findAll(berth.services.db, sql`select position from vm_events where vm_id = ${decodeId('vm', vm)} order by position`)

test('an entry is made, listed and deleted, and its route with it', async () => {
  const vm = await makeVm()
  const { status, body: made } = await create({ service_name: 'web', vm_id: vm, vm_port: 8080 })
  expect(status).toBe(201)
  expect(made).toEqual({
    id: expect.stringMatching(/^prx_/) as string,
    service_name: 'web',
    vm_id: vm,
    deployment_type: 'vm',
    external_url: `https://web-${vm.slice(-8)}.berth.localhost:8443/`,
    vm_port: 8080,
  })
  expect(await routeOf(made.id)).toMatchObject({
    host: `web-${vm.slice(-8)}.berth.localhost`,
    path: '/',
    access: 'public',
    vmId: decodeId('vm', vm),
    vmPort: 8080,
    wakes: false,
  })
  expect((await berth.call('GET', `/api/v1/proxies/vm/${vm}`, { token })).body).toEqual({
    vm_id: vm,
    services: [{ id: made.id, service_name: 'web', external_url: made.external_url }],
  })
  expect((await remove(made.id)).status).toBe(204)
  expect(await routeOf(made.id)).toBeUndefined()
  expect(await list(vm)).toEqual([])
  expect((await remove(made.id)).status).toBe(404)
})

test('an entry takes a path, a name below the platform’s domain, and each deployment type', async () => {
  const vm = await makeVm()
  const made = await open(vm, 'api', {
    domain: 'My-Service-One.Berth.localhost',
    path: '/v1/',
    deployment_type: 'preview',
  })
  expect(made).toMatchObject({
    deployment_type: 'preview',
    external_url: 'https://my-service-one.berth.localhost:8443/v1',
  })
  expect(await routeOf(made.id)).toMatchObject({ access: 'preview', path: '/v1', wakes: true })
  const other = await open(vm, 'pages', { domain: 'my-service-one.berth.localhost' })
  expect(other.external_url).toBe('https://my-service-one.berth.localhost:8443/')
  const database = await open(vm, 'db', { deployment_type: 'database', domain: null, path: null })
  expect(await routeOf(database.id)).toMatchObject({ access: 'database', wakes: false })
})

test.each(
  [
    {},
    { service_name: 'web', vm_port: 80 },
    { service_name: 'Web' },
    { service_name: '' },
    { service_name: '1web' },
    { service_name: 'a_b' },
    { service_name: 'web\n' },
    { service_name: 'xn--web' },
    { service_name: 'a'.repeat(55) },
    { service_name: 'a'.repeat(64), domain: 'fine.berth.localhost' },
    { vm_port: 0 },
    { vm_port: 65_536 },
    { vm_port: 80.5 },
    { vm_port: '80' },
    { deployment_type: 'public' },
    { path: '' },
    { domain: '' },
    { path: 'api' },
    { path: '/a//b' },
    { path: '/a/../b' },
    { path: '/a%2fb' },
    { path: '/a?b' },
    { path: `/${'a'.repeat(1_024)}` },
    { path: '/x', deployment_type: 'database' },
    { domain: 'berth.localhost' },
    { domain: 'db.berth.localhost' },
    { domain: 'acme.berth.localhost' },
    { domain: 'api.berth.localhost' },
    { domain: 'xn--80ak6aa92e.berth.localhost' },
    { domain: 'x.db.berth.localhost' },
    { domain: 'a.b.berth.localhost' },
    { domain: '80-01h455vb4pex5vsknk084sn02q.berth.localhost' },
    { domain: 'localhost' },
    { domain: '127.0.0.1' },
    { domain: 'shop.berth.localhost:443' },
    { domain: 'https://fine.berth.localhost' },
    { domain: '*.berth.localhost' },
    { domain: 'bücher.berth.localhost' },
    { domain: 'fine.berth.localhost.' },
    { domain: `${'a'.repeat(64)}.berth.localhost` },
    { domain: `${'a.'.repeat(5_000)}berth.localhost` },
    { domain: 'shop.example.com' },
    { domain: 'evilberth.localhost' },
    { colour: 'red' },
  ].map((wrong) => ({ name: JSON.stringify(wrong).slice(0, 80), wrong })),
)('$name makes no entry', async ({ wrong }) => {
  const vm = await makeVm()
  const whole =
    'vm_port' in wrong && Object.keys(wrong).length === 2
      ? wrong
      : { service_name: 'web', vm_id: vm, vm_port: 80, ...wrong }
  const { status, body } = await create(Object.keys(wrong).length === 0 ? {} : whole)
  expect([status, typeof body.message]).toEqual([400, 'string'])
  expect(['invalid_request', 'invalid_domain']).toContain(body.error)
  expect(await list(vm)).toEqual([])
})

test('a name in use on the VM is refused, on another VM it is not', async () => {
  const [one, other] = [await makeVm(), await makeVm()]
  await open(one)
  expect(await create({ service_name: 'web', vm_id: one, vm_port: 81 })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', message: expect.stringContaining('has a service web already') as string },
  })
  expect((await create({ service_name: 'web', vm_id: other, vm_port: 81 })).status).toBe(201)
})

test('of two entries of one name that are made at once, one is made', async () => {
  const vm = await makeVm()
  const both = await Promise.all([1, 2].map((port) => create({ service_name: 'web', vm_id: vm, vm_port: port })))
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400])
  expect(await list(vm)).toHaveLength(1)
})

test('of entries of two organizations that ask for one host at once, one is made', async () => {
  const eve = await berth.token('eve', 'evil')
  const theirs = await makeVmRow(berth.services.db, eve, node)
  const ours = await makeVm()
  const name = `wanted-${ours.slice(-6)}i` // no end of an id
  const order = { service_name: 'web', vm_port: 80, domain: `${name}.berth.localhost` }
  const both = await Promise.all([create({ ...order, vm_id: ours }), create({ ...order, vm_id: theirs }, eve)])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400])
  expect(both.find(({ status }) => status === 400)?.body.message).toContain('leads elsewhere already')
})

test('a name below the platform’s domain is one organization’s, whatever the path', async () => {
  const eve = await berth.token('eve', 'evil')
  const theirs = await makeVmRow(berth.services.db, eve, node)
  const ours = await makeVm()
  const domain = `login-${ours.slice(-6)}i.berth.localhost` // no end of an id
  await open(ours, 'web', { domain })
  const taking = { service_name: 'web', vm_id: theirs, vm_port: 80, domain, path: '/login' }
  expect(await create(taking, eve)).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', message: expect.stringContaining('leads elsewhere already') as string },
  })
  expect((await create({ ...taking, vm_id: ours, service_name: 'login' })).status).toBe(201)
})

test('the name of a function is its organization’s, also where the end of a VM’s id was chosen to make it', async () => {
  const { body } = await berth.ask(`mutation { createFunction(input: { name: "shop" }) { function { id url } } }`, {
    token,
  })
  const { id, url } = (body.data as { createFunction: { function: { id: string; url: string } } }).createFunction
    .function
  const eve = await berth.token('eve', 'evil')
  const chosen = `${newUuid().slice(0, -10)}${(decodeId('function', id) ?? '').slice(-10)}`
  const vm = await makeVmRow(berth.services.db, eve, node, { id: chosen })
  const taking = { service_name: 'shop', vm_id: vm, vm_port: 80, path: '/login' }
  expect(url).toContain(`shop-${vm.slice(-8)}.berth.localhost`)
  expect((await create(taking, eve)).status).toBe(400)
  const domain = new URL(url).hostname
  expect((await create({ ...taking, domain }, eve)).status).toBe(400)
  await berth.ask(`mutation { deleteFunction(input: { id: "${id}" }) { deletedId } }`, { token })
  expect((await create(taking, eve)).status).toBe(400)
  for (const vm_id of [vm, await makeVmRow(berth.services.db, eve, node)])
    expect((await create({ ...taking, vm_id, domain }, eve)).status).toBe(400)
})

test('beside an entry of a colleague’s own VM nobody else has a path', async () => {
  const vm = await makeVm()
  const domain = `private-${vm.slice(-6)}i.berth.localhost`
  await open(vm, 'web', { domain })
  await change(
    berth.services.db,
    sql`update vms set owner_user_id = ${idsOf(token).userId} where id = ${decodeId('vm', vm)}`,
  )
  const martha = await berth.token('martha', 'acme', 'member')
  const taking = { service_name: 'x', vm_id: await makeVm(), vm_port: 80, domain, path: '/login' }
  expect((await create(taking, martha)).status).toBe(400)
  expect((await open(vm, 'api', { domain, path: '/api' })).external_url).toContain('/api')
  const proved = `private-${vm.slice(-6)}.example.com`
  await change(
    berth.services.db,
    sql`insert into domains (id, organization_id, name, status, verification_token) values (${newUuid()}, ${idsOf(token).organizationId}, ${proved}, 'active', ${'a'.repeat(32)})`,
  )
  await open(vm, 'own', { domain: proved, path: '/own' })
  expect((await create({ ...taking, domain: proved }, martha)).status).toBe(201) // nobody keeps others from the organization's name
})

test('routes that are written at once to one host and path: one is, and the other is told', async () => {
  const { db } = berth.services
  const { organizationId } = idsOf(token)
  const put = () =>
    transaction(db, (tx) =>
      putRoute(tx, {
        id: newUuid(),
        organizationId,
        kind: 'domain',
        host: 'both.example.com',
        path: '/',
        access: 'public',
        vmId: null,
        vmPort: null,
        functionId: null,
      }),
    )
  expect((await Promise.all([put(), put(), put()])).toSorted()).toEqual([false, false, true])
})

test('a name that was made for another VM is not given away', async () => {
  const [one, other] = [await makeVm(), await makeVm()]
  const theirs = `later-${other.slice(-8)}.berth.localhost`
  expect(await create({ service_name: 'x', vm_id: one, vm_port: 80, domain: theirs })).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('reserved') as string },
  })
  expect((await open(other, 'later')).external_url).toContain(theirs)
})

test('a VM whose id was chosen to end as that of an older one gets none of its names', async () => {
  const { db } = berth.services
  const older = await makeVm()
  const uuid = decodeId('vm', older) ?? ''
  const chosen = `${newUuid().slice(0, -10)}${uuid.slice(-10)}`
  const copy = await makeVmRow(db, await berth.token('eve', 'evil'), node, { id: chosen })
  expect(copy.slice(-8)).toBe(older.slice(-8))
  const eve = await berth.token('eve', 'evil')
  expect(await create({ service_name: 'fresh', vm_id: copy, vm_port: 80 }, eve)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('ends as that of another VM') as string },
  })
  expect((await create({ service_name: 'fresh', vm_id: older, vm_port: 80 })).status).toBe(201)
})

test('the names of a deleted VM lead nowhere for good', async () => {
  const { db } = berth.services
  const gone = await makeVm()
  const uuid = decodeId('vm', gone) ?? ''
  await open(gone, 'hooks')
  await transaction(db, (tx) => markDeleted(berth.services, tx, { id: uuid, nodeId: node }, 'request'))
  await endVm(berth.services, { id: uuid, folderId: null }, 0)
  const eve = await berth.token('eve', 'evil')
  const copy = await makeVmRow(db, eve, node, { id: `${newUuid().slice(0, -10)}${uuid.slice(-10)}` })
  const taking = { service_name: 'hooks', vm_id: copy, vm_port: 80 }
  expect((await create(taking, eve)).status).toBe(400)
  expect((await create({ ...taking, domain: `hooks-${gone.slice(-8)}.berth.localhost` }, eve)).status).toBe(400)
  const other = await makeVmRow(db, eve, node)
  expect(
    (await create({ ...taking, vm_id: other, domain: `hooks-${gone.slice(-8)}.berth.localhost` }, eve)).status,
  ).toBe(400)
})

test('a host whose connections are passed on as they are has nothing beside it', async () => {
  const vm = await makeVm()
  const domain = `alone-${vm.slice(-6)}i.berth.localhost`
  await open(vm, 'db', { deployment_type: 'database', domain })
  expect((await create({ service_name: 'web', vm_id: vm, vm_port: 80, domain, path: '/web' })).status).toBe(400)
})

describe('a custom domain', () => {
  const claim = async (name: string, status: string, as = token): Promise<string> => {
    const id = newUuid()
    await change(
      berth.services.db,
      sql`insert into domains (id, organization_id, name, status, verification_token, pending_since) values (${id}, ${idsOf(as).organizationId}, ${name}, ${status}, ${'a'.repeat(32)}, ${status === 'pending' ? sql`now()` : null})`,
    )
    return id
  }
  const moved = (id: string, to: 'failed' | 'active') =>
    transaction(berth.services.db, (tx) => moveDomain(tx, { id }, to))

  test('that the organization has proved is taken, by its name or by all names beside it', async () => {
    const vm = await makeVm()
    await claim('shop.proved.example', 'verified')
    await claim('*.many.proved.example', 'active')
    expect((await open(vm, 'shop', { domain: 'Shop.Proved.example', path: '/api' })).external_url).toBe(
      'https://shop.proved.example:8443/api',
    )
    expect((await open(vm, 'one', { domain: 'one.many.proved.example' })).external_url).toContain('one.many')
    for (const domain of ['proved.example', 'x.shop.proved.example', 'a.b.many.proved.example', 'many.proved.example'])
      expect(await create({ service_name: 'x', vm_id: vm, vm_port: 80, domain })).toMatchObject({
        status: 400,
        body: { error: 'invalid_domain' },
      })
  })

  test('that is not proved, or another organization’s, is refused', async () => {
    const vm = await makeVm()
    await claim('new.proved.example', 'pending')
    await claim('old.proved.example', 'failed')
    await claim('theirs.proved.example', 'active', await berth.token('eve', 'evil'))
    for (const name of ['new', 'old', 'theirs'])
      expect(
        await create({ service_name: 'x', vm_id: vm, vm_port: 80, domain: `${name}.proved.example` }),
      ).toMatchObject({
        status: 400,
        body: { error: 'invalid_domain' },
      })
  })

  test('that another organization has proved by its own name is not taken by a wildcard, whatever the path', async () => {
    const vm = await makeVm()
    const eve = await berth.token('eve', 'evil')
    const theirs = await claim('shop.shared.example', 'verified', eve)
    await moved(theirs, 'active')
    await claim('*.shared.example', 'active')
    const before = await Promise.all(
      ['/', '/x'].map((path, at) => open(vm, `before${at}`, { domain: 'shop.shared.example', path })),
    )
    await transaction(berth.services.db, async (tx) => {
      const { organizationId } = idsOf(eve)
      const route = { id: theirs, organizationId, kind: 'domain', host: 'shop.shared.example', path: '/' } as const
      expect(await putRoute(tx, { ...route, access: 'public', vmId: null, vmPort: null, functionId: null })).toBe(true)
    })
    expect(await Promise.all(before.map(({ id }) => routeOf(id)))).toEqual([undefined, undefined])
    const order = { service_name: 'x', vm_id: vm, vm_port: 80, domain: 'shop.shared.example', path: '/login' }
    expect((await create(order)).status).toBe(400)
    const both = await claim('shop.shared.example', 'pending')
    await change(
      berth.services.db,
      sql`update domains set path = '/both', status = 'verified', pending_since = null where id = ${both}`,
    )
    expect((await create(order)).status).toBe(201)
  })

  test('that is lost takes the routes of entries along, and brings them back', async () => {
    const vm = await makeVm()
    const id = await claim('lost.proved.example', 'active')
    const { id: proxy } = await open(vm, 'lost', { domain: 'lost.proved.example' })
    await moved(id, 'failed')
    expect([await routeOf(proxy), await list(vm)]).toMatchObject([undefined, [{ id: proxy }]])
    await moved(id, 'active')
    expect(await routeOf(proxy)).toMatchObject({ host: 'lost.proved.example' })
  })

  test('that is deleted takes its entries along, so that whoever proves it next has it alone', async () => {
    const vm = await makeVm()
    await claim('gone.proved.example', 'active')
    const { id: proxy } = await open(vm, 'gone', { domain: 'gone.proved.example' })
    const events = await positions(vm)
    expect((await berth.call('DELETE', '/api/v1/domains/gone.proved.example', { token })).status).toBe(204)
    expect([await routeOf(proxy), await list(vm)]).toEqual([undefined, []])
    expect(await positions(vm)).toHaveLength(events.length + 1) // those who follow the VM are told
  })
})

test('a VM has so many entries and no more', async () => {
  const vm = await makeVm()
  const { organizationId } = idsOf(token)
  await change(
    berth.services.db,
    sql`insert into proxies (id, organization_id, vm_id, service_name, vm_port, deployment_type, host, path, wakes)
      select gen_random_uuid(), ${organizationId}, ${decodeId('vm', vm)}, 'made-' || n, 80, 'vm', 'made-' || n, '/', false from generate_series(1, ${proxyLimits.perVm}::int) n`,
  )
  expect(await create({ service_name: 'web', vm_id: vm, vm_port: 80 })).toMatchObject({
    status: 429,
    body: { error: 'rate_limited', message: expect.stringContaining(String(proxyLimits.perVm)) as string },
  })
})

test('a VM that is deleted takes its entries and routes along, in the same transaction', async () => {
  const { db, pubsub } = berth.services
  const vm = await makeVm()
  const { id } = await open(vm)
  const heard = new Set<string | null>()
  pubsub.listen(routesTopic, (route) => heard.add(route))
  const row = { id: decodeId('vm', vm) ?? '', nodeId: node, folderId: null }
  await transaction(db, (tx) => markDeleted(berth.services, tx, row, 'request'))
  expect(await routeOf(id)).toBeUndefined()
  await until('a notice about the route', () => heard.has(decodeId('proxy', id) ?? ''))
  expect((await remove(id)).status).toBe(404)
  expect((await create({ service_name: 'web', vm_id: vm, vm_port: 80 })).status).toBe(404)
  await endVm(berth.services, row, 0)
  expect((await create({ service_name: 'web', vm_id: vm, vm_port: 80 })).status).toBe(404)
})

test('entries that are made while their VM is deleted do not stay', async () => {
  const { db } = berth.services
  const vm = await makeVm()
  const row = { id: decodeId('vm', vm) ?? '', nodeId: node }
  await Promise.all([
    ...[1, 2, 3].map((n) => create({ service_name: `web${n}`, vm_id: vm, vm_port: 80 })),
    transaction(db, (tx) => markDeleted(berth.services, tx, row, 'request')),
  ])
  expect(await findAll(db, sql`select 1 from routes where vm_id = ${row.id}`)).toEqual([])
  expect(await findAll(db, sql`select 1 from proxies where vm_id = ${row.id}`)).toEqual([])
})

test('nobody gets in without a token, a viewer only reads, and another organization’s are not there', async () => {
  const vm = await makeVm()
  const { id } = await open(vm)
  expect((await berth.call('GET', `/api/v1/proxies/vm/${vm}`)).status).toBe(401)
  const viewer = await berth.token('victor', 'acme', 'viewer')
  expect((await create({ service_name: 'x', vm_id: vm, vm_port: 80 }, viewer)).status).toBe(403)
  expect((await remove(id, viewer)).status).toBe(403)
  expect((await berth.call('GET', `/api/v1/proxies/vm/${vm}`, { token: viewer })).status).toBe(200)
  const eve = await berth.token('eve', 'evil')
  expect((await create({ service_name: 'x', vm_id: vm, vm_port: 80 }, eve)).status).toBe(404)
  expect((await berth.call('GET', `/api/v1/proxies/vm/${vm}`, { token: eve })).status).toBe(404)
  expect((await remove(id, eve)).status).toBe(404)
  expect(await list(vm)).toHaveLength(1)
})

test('a colleague’s own VM has no entries for others', async () => {
  const { db } = berth.services
  const vm = await makeVm()
  const { id } = await open(vm)
  await change(db, sql`update vms set owner_user_id = ${idsOf(token).userId} where id = ${decodeId('vm', vm)}`)
  const martha = await berth.token('martha', 'acme', 'member')
  expect((await create({ service_name: 'x', vm_id: vm, vm_port: 80 }, martha)).status).toBe(404)
  expect((await remove(id, martha)).status).toBe(404)
  const { key } = await makeKey(berth, token, { scopes: ['compute:use'] })
  expect((await remove(id, key)).status).toBe(404)
  const { body } = await berth.ask(`{ proxy(id: "${id}") { id } proxies(first: 100) { nodes { id } } }`, {
    token: martha,
  })
  expect(JSON.stringify(body.data)).not.toContain(id)
  expect((await remove(id)).status).toBe(204)
})

test('entries are nodes of the graph: of a VM, an organization, and by filter', async () => {
  const vm = await makeVm()
  const { id } = await open(vm)
  const { body } = await berth.ask(
    `{ node(id: "${id}") { ... on Proxy { serviceName domain path wakeOnRequest previewUrl vm { id proxies { nodes { id } totalCount } } organization { proxies(filter: { vmId: "${vm}" }) { nodes { id } } } createdBy { id } } }
      proxies(filter: { vmId: "${vm}" }, order: ASC) { nodes { id deploymentType } totalCount } }`,
    { token },
  )
  expect(body).toMatchObject({
    data: {
      node: {
        serviceName: 'web',
        domain: `web-${vm.slice(-8)}.berth.localhost`,
        path: '/',
        wakeOnRequest: false,
        previewUrl: null,
        vm: { id: vm, proxies: { nodes: [{ id }], totalCount: 1 } },
        organization: { proxies: { nodes: [{ id }] } },
      },
      proxies: { nodes: [{ id, deploymentType: 'VM' }], totalCount: 1 },
    },
  })
})

test('the events of a VM tell of its entries', async () => {
  const vm = await makeVm()
  const { id } = await open(vm)
  expect(await positions(vm)).toHaveLength(2)
  await remove(id)
  expect(await positions(vm)).toHaveLength(3)
})
