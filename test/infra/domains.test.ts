/** Custom domains, over REST and GraphQL, with a real DNS server. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { followRoutes } from '#src/edge/http/routes.ts'
import { decodeId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import { markDeleted } from '#src/resources/infra/vms/lifecycle.ts'
import { until } from '../support/until.ts'
import { ingress, startDomainWorld, storedId, type DomainWorld } from './domains/domain-world.ts'

let world: DomainWorld
let httpsPort: number
beforeAll(async () => {
  world = await startDomainWorld({}, { worker: true })
  httpsPort = world.berth.services.config.httpsPort
})
afterAll(() => world.stop())

test('a domain is claimed, proved, activated, linked, unlinked and deleted', async () => {
  const name = world.name()
  const { status, body: claimed } = await world.call('POST', 'domains', { domain: name.toUpperCase() })
  expect(status).toBe(200)
  expect(claimed).toEqual({
    domain: name,
    a_record_ip: ingress,
    txt_record_name: `_berth-challenge.${name}`,
    txt_record_value: `berth-verify=${claimed.verification_token}`,
    verification_token: expect.stringMatching(/^[0-9a-f]{32}$/),
    instructions: expect.stringContaining(`TXT record, name _berth-challenge.${name}, value berth-verify=`),
    verify_ownership: true,
  })
  expect(claimed.instructions).toContain(`A record, name ${name}, value ${ingress}`)
  const early = await world.call('POST', 'domains/activate', { domain: name })
  expect(early).toMatchObject({
    status: 400,
    body: { error: 'dns_not_verified', message: expect.stringContaining(`There is no name ${name}.`) },
  })
  await world.prove(name, claimed)
  const { body: active, status: activated } = await world.call('POST', 'domains/activate', { domain: name })
  expect(activated).toBe(200)
  expect(active).toEqual({
    domain: name,
    external_url: `https://${name}:${httpsPort}/`,
    message: expect.stringContaining('not linked'),
    service_id: null,
    verification_status: 'active',
  })
  expect(await world.route(name)).toMatchObject({ kind: 'domain', host: name, path: '/', access: 'public', vmId: null })
  const vm = await world.vm()
  const link = await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 8080, path: '/api/' })
  expect(link).toMatchObject({
    status: 200,
    body: {
      external_url: `https://${name}:${httpsPort}/api`,
      service_id: expect.stringMatching(/^svc_/),
      verification_status: 'active',
    },
  })
  expect(await world.route(name)).toMatchObject({ path: '/api', vmId: decodeId('vm', vm), vmPort: 8080 })
  const shown = await world.show(name.toUpperCase())
  expect(shown).toMatchObject({
    domain: name,
    vm_id: vm,
    vm_port: 8080,
    target_type: 'vm',
    function_id: null,
    a_record_ip: ingress,
    path: '/api',
  })
  const { a_record_ip: _, ...listed } = shown
  expect((await world.call('GET', 'domains')).body.domains).toContainEqual(listed)
  expect((await world.call('GET', `organizations/${shown.owner_org_id}/domains`)).body.domains).toContainEqual(listed)
  expect((await world.call('DELETE', `domains/${name}/link`)).status).toBe(204)
  expect((await world.call('DELETE', `domains/${name}/link`)).status).toBe(204)
  expect(await world.show(name)).toMatchObject({ vm_id: null, vm_port: null, service_id: null, target_type: null })
  expect(await world.route(name)).toMatchObject({ vmId: null, vmPort: null })
  expect((await world.call('DELETE', `domains/${name}`)).status).toBe(204)
  expect(await world.route(name)).toBeUndefined()
  expect((await world.call('GET', `domains/${name}`)).status).toBe(404)
  expect((await world.call('DELETE', `domains/${name}`)).status).toBe(404)
})

test('claiming it again gives the same token, and activating it again the same answer', async () => {
  const name = world.name()
  const active = await world.activate(name)
  const again = await world.claim(name)
  expect(again.verification_token).toBe((await world.show(name)).verification_token)
  await world.dns.set(name, 'A') // nothing is asked any more
  expect((await world.call('POST', 'domains/activate', { domain: name })).body).toEqual(active)
})

test('a VM is linked with the claim, and another one only after it is unlinked', async () => {
  const [name, vm, second] = [world.name(), await world.vm(), await world.vm()]
  await world.claim(name, world.token, { vm_id: vm, vm_port: 3000 })
  const { service_id: service } = await world.show(name)
  expect(await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 3000 })).toMatchObject({
    status: 200,
    body: { service_id: service },
  })
  expect(await world.call('POST', `domains/${name}/link`, { vm_id: second, vm_port: 3000 })).toEqual({
    status: 409,
    headers: expect.anything(),
    body: {
      error: 'domain_already_linked',
      current_target: `vm:${vm}:3000`,
      message: expect.stringContaining('Unlink it first'),
    },
  })
  expect(await world.call('POST', 'domains', { domain: name, vm_id: second, vm_port: 3000 })).toMatchObject({
    status: 400,
    body: { error: 'invalid_target' },
  })
  expect((await world.call('DELETE', `domains/${name}/link`)).status).toBe(204)
  expect(await world.call('POST', `domains/${name}/link`, { vm_id: second, vm_port: 3000 })).toMatchObject({
    status: 200,
  })
})

test('a VM that is deleted takes its links with it, and the domain stays', async () => {
  const [name, vm] = [world.name(), await world.vm()]
  await world.activate(name)
  await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80 })
  const { services } = world.berth
  await transaction(services.db, async (tx) => {
    const row = await lockVmRow(tx, decodeId('vm', vm) ?? '')
    if (row) await markDeleted(services, tx, row, 'request')
  })
  expect(await world.show(name)).toMatchObject({ vm_id: null, verification_status: 'active' })
  expect(await world.route(name)).toMatchObject({ vmId: null })
})

test.each([
  ['no domain', {}, 'invalid_request'],
  ['a domain that is no text', { domain: 5 }, 'invalid_request'],
  ['an unknown key', { domain: 'a.example.test', colour: 'red' }, 'invalid_request'],
  ['a VM without a port', { domain: 'a.example.test', vm_id: 'vm_00000000000000000000000000' }, 'invalid_target'],
  ['a port without a VM', { domain: 'a.example.test', vm_port: 80 }, 'invalid_target'],
  [
    'a VM that is not there',
    { domain: 'a.example.test', vm_id: 'vm_00000000000000000000000000', vm_port: 80 },
    'invalid_target',
  ],
  ['a path that is none', { domain: 'a.example.test', path: 'api' }, 'invalid_request'],
  ['a path that could be written otherwise', { domain: 'a.example.test', path: '/a/../b' }, 'invalid_request'],
  ['a domain that is not to be proved', { domain: 'a.example.test', verify_ownership: false }, 'invalid_request'],
  [
    'an organization that is not the caller’s',
    { domain: 'a.example.test', organization_id: 'org_00000000000000000000000000' },
    'invalid_request',
  ],
])('%s is refused with 400, and claims nothing', async (_, body, error) => {
  expect(await world.call('POST', 'domains', body)).toMatchObject({
    status: 400,
    body: { error, message: expect.any(String) },
  })
  expect((await world.call('GET', 'domains/a.example.test')).status).toBe(404)
})

test.each([
  ['nothing', {}, 400, 'invalid_target'],
  ['a function and a VM', { function_id: 'fn_x', vm_id: 'vm_x', vm_port: 80 }, 400, 'invalid_target'],
  ['a VM without a port', { vm_id: 'vm_x' }, 400, 'invalid_target'],
  ['port 0', { vm_id: 'vm_x', vm_port: 0 }, 400, 'invalid_target'],
  ['port 65536', { vm_id: 'vm_x', vm_port: 65_536 }, 400, 'invalid_target'],
  ['half a port', { vm_id: 'vm_x', vm_port: 1.5 }, 400, 'invalid_request'],
  ['a VM that is not there', { vm_id: 'vm_00000000000000000000000000', vm_port: 80 }, 404, 'not_found'],
  ['a function that is not there', { function_id: 'fn_00000000000000000000000000' }, 404, 'not_found'],
])('a link to %s is refused', async (_, body, status, error) => {
  await world.claim('linked.example.test')
  expect(await world.call('POST', 'domains/linked.example.test/link', body)).toMatchObject({ status, body: { error } })
})

test('another organization’s VM is not there to be linked', async () => {
  const name = world.name()
  await world.claim(name)
  const vm = await world.vm(world.other)
  expect((await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80 })).status).toBe(404)
})

test('nobody gets in without a token, and members only read', async () => {
  const name = world.name()
  await world.claim(name)
  const member = await world.berth.token('mia', 'acme', 'member')
  const changes = [
    ['POST', 'domains', { domain: 'x.example.test' }],
    ['POST', 'domains/activate', { domain: name }],
    ['POST', `domains/${name}/link`, { vm_id: 'vm_x', vm_port: 1 }],
    ['DELETE', `domains/${name}/link`, undefined],
    ['DELETE', `domains/${name}`, undefined],
  ] as const
  const { owner_org_id: organization } = await world.show(name)
  for (const [method, path, body] of [
    ...changes,
    ...[`domains`, `domains/${name}`, `organizations/${organization}/domains`].map(
      (path) => ['GET', path, undefined] as const,
    ),
  ])
    expect((await world.call(method, path, body, null)).status, `${method} ${path}`).toBe(401)
  for (const [method, path, body] of changes)
    expect(await world.call(method, path, body, member), `${method} ${path}`).toMatchObject({
      status: 403,
      body: { error: 'not_permitted_for_role' },
    })
  expect((await world.call('GET', `domains/${name}`, undefined, member)).status).toBe(200)
})

test('a list of an organization that one does not belong to is refused, whatever its id looks like', async () => {
  const { owner_org_id: organization } = await world.show((await world.claim(world.name())).domain)
  for (const id of [organization, 'org_00000000000000000000000000', 'nonsense', 'dom_x', '%00'])
    expect(await world.call('GET', `organizations/${id}/domains`, undefined, world.other), id).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    })
})

test('an organization has as many domains as its limit, and the sentence says so', async () => {
  const { db } = world.berth.services
  const third = await world.berth.token('tom', 'third')
  const { owner_org_id: organization } = await world.show(
    (await world.claim('first.example.test', third)).domain,
    third,
  )
  await sql`insert into domains (id, organization_id, name, status, verification_token)
    select gen_random_uuid(), ${decodeId('organization', organization)}, 'n' || n || '.example.test', 'failed', repeat('a', 32) from generate_series(1, 999) n`.execute(
    db,
  )
  expect(await world.call('POST', 'domains', { domain: 'more.example.test' }, third)).toMatchObject({
    status: 429,
    body: { error: 'rate_limited', message: expect.stringContaining('1000 domains') },
  })
  expect((await world.claim('n7.example.test', third)).domain).toBe('n7.example.test') // one that failed is pending again
})

test('a domain is a node of the graph, with its records, its target and the organization', async () => {
  const [name, vm] = [world.name(), await world.vm()]
  await world.activate(name)
  const { data } = await world.ask(
    'mutation ($input: LinkDomainInput!) { linkDomain(input: $input) { domain { id status externalUrl target { ... on DomainVmPort { vmId port vm { id domains(first: 5, filter: { statuses: [ACTIVE] }) { nodes { name } } } } } organization { domains(first: 100) { nodes { name } } } records { purpose type name expected seen isRight reason checkedAt } } } }',
    { input: { domain: name, vmId: vm, vmPort: 80 } },
  )
  const { domain } = (data as unknown as { linkDomain: { domain: { id: string } } }).linkDomain
  expect(domain).toMatchObject({
    status: 'ACTIVE',
    target: { vmId: vm, port: 80, vm: { id: vm, domains: { nodes: [{ name }] } } },
    organization: { domains: { nodes: expect.arrayContaining([{ name }]) } },
    records: [
      { purpose: 'ADDRESS', type: 'A', name, expected: ingress, seen: [ingress], isRight: true, reason: null },
      { purpose: 'OWNERSHIP', type: 'TXT', isRight: true, checkedAt: expect.any(String) },
    ],
  })
  const node = await world.ask(
    'query ($id: ID!) { node(id: $id) { ... on Domain { name } } domain(domain: $id) { name } }',
    { id: domain.id },
  )
  expect(node.data).toEqual({ node: { name }, domain: { name } })
  expect(
    (await world.ask('query ($id: ID!) { domain(domain: $id) { name } }', { id: domain.id }, world.other)).code,
  ).toBe('NOT_FOUND')
  expect(
    (await world.ask('mutation ($d: ID!) { deleteDomain(input: { domain: $d }) { deletedId } }', { d: name })).data,
  ).toEqual({ deleteDomain: { deletedId: domain.id } })
  expect(storedId(domain)).not.toBe('')
})

test('what docs/edge.md prints about domains does what it says', async () => {
  const [, section = ''] = /## Custom domains\n([^]*?)(?:\n## |$)/.exec(readFileSync('docs/edge.md', 'utf8')) ?? []
  const ours = section
    .replaceAll('http://localhost:4000', world.berth.url)
    .replaceAll('shop.example.com', 'shop.example.test')
  const [claim = '', check = '', activate = '', link = ''] = [...ours.matchAll(/```sh\n([^]*?)```/g)].map(
    (match) => match[1] ?? '',
  )
  const vm = await world.vm()
  const run = async (command: string): Promise<Record<string, string>> => {
    const { stdout } = await promisify(execFile)('bash', ['-c', command], {
      env: { PATH: '/usr/bin:/bin', TOKEN: world.token, VM: vm },
    })
    return JSON.parse(stdout) as Record<string, string>
  }
  const claimed = await run(claim)
  await world.dns.set('shop.example.test', 'A', claimed['a_record_ip'] ?? '')
  const early = await run(activate)
  expect(early).toMatchObject({
    error: 'dns_not_verified',
    message: expect.stringContaining('_berth-challenge.shop.example.test'),
  })
  await world.dns.set('_berth-challenge.shop.example.test', 'TXT', `"${claimed['txt_record_value']}"`)
  expect(await run(check)).toMatchObject({
    data: { checkDomain: { domain: { status: 'VERIFIED', records: [{ isRight: true }, { isRight: true }] } } },
  })
  expect(await run(activate)).toMatchObject({
    verification_status: 'active',
    external_url: `https://shop.example.test:${httpsPort}/`,
  })
  expect(await run(link)).toMatchObject({ message: `shop.example.test is active and leads to vm:${vm}:8080.` })
  expect(await world.route('shop.example.test')).toMatchObject({ vmId: decodeId('vm', vm), vmPort: 8080 })
})

test('a worker checks a claim by itself', async () => {
  const name = world.name()
  await world.prove(name, await world.claim(name))
  await sql`update domains set next_check_at = now() where name = ${name}`.execute(world.berth.services.db) // it may have looked before the records were there
  await until('it is verified', async () => (await world.show(name)).verification_status === 'verified', 10_000)
})

test('the edge hears of an activated domain, of its links and of its deletion at once', async () => {
  const table = followRoutes(world.berth.services)
  await table.ready
  const [name, vm] = [world.name(), await world.vm()]
  const soonMs = 1000 // usually a few milliseconds
  await world.activate(name)
  await until('its route is there', () => table.find(name, '/any') !== undefined, soonMs, 1)
  await world.call('POST', `domains/${name}/link`, { vm_id: vm, vm_port: 80 })
  await until('it leads to the VM', () => table.find(name, '/any')?.vmId === decodeId('vm', vm), soonMs, 1)
  await world.call('DELETE', `domains/${name}/link`)
  await until('it leads nowhere', () => table.find(name, '/any')?.vmId === null, soonMs, 1)
  await world.call('DELETE', `domains/${name}`)
  await until('it is gone', () => table.find(name, '/any') === undefined, soonMs, 1)
  table.close()
})
