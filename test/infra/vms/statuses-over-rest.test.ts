/** What only GraphQL could do with VMs, folders and functions, over REST. No node runs them here. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

type Body = Record<string, unknown> & { id: string; error: string; message: string }
const call = (method: string, path: string, body?: unknown) =>
  berth.call<Body>(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })

test.each([
  ['running', 'stop', 200, 'stopped'],
  ['running', 'pause', 200, 'paused'],
  ['stopped', 'start', 200, 'running'],
  ['error', 'start', 200, 'running'],
  ['paused', 'resume', 200, 'running'],
  ['stopped', 'pause', 409, undefined],
  ['paused', 'stop', 409, undefined],
  ['creating', 'stop', 409, undefined],
])('a VM that is %s and is told to %s answers %d', async (status, verb, answered, desired) => {
  const vm = await makeVmRow(berth.services.db, token, node, { status })
  const { status: got, body } = await call('POST', `/vms/${vm}/${verb}`)
  expect([got, body['desired_status'], body.error]).toEqual([
    answered,
    desired,
    answered === 409 ? 'invalid_transition' : undefined,
  ])
})

test('a VM is changed, and a wrong change is refused with a sentence', async () => {
  const vm = await makeVmRow(berth.services.db, token, node)
  const network_policy = { type: 'limited', allowed_hosts: ['example.com'] }
  expect(await call('PATCH', `/vms/${vm}`, { name: 'web', metadata: { team: 'shop' }, network_policy })).toMatchObject({
    status: 200,
    body: { vm_id: vm, name: 'web', metadata: { team: 'shop' }, status: 'running' },
  })
  for (const [wrong, words] of [
    [{ name: '' }, 'name'],
    [{ memory_size: 512 }, 'memory_size'],
    [{ network_policy: { type: 'open' } }, 'network_policy'],
  ] as const)
    expect(await call('PATCH', `/vms/${vm}`, wrong)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(words) },
    })
  expect(await call('PATCH', `/vms/${vm}`, { memory_mb: 512 })).toMatchObject({
    status: 409,
    body: { error: 'invalid_transition', message: expect.stringContaining('while it is stopped') },
  })
})

test('folders are listed by pages, and deleted unless a VM has them', async () => {
  const { organizationId, userId } = idsOf(token)
  const ids = [newUuid(), newUuid()]
  for (const id of ids)
    await sql`insert into folders (id, organization_id, user_id, name, node_id, size_mb) values (${id}, ${organizationId}, ${userId}, 'kept', ${node}, 10240)`.execute(
      berth.services.db,
    )
  const vm = await makeVmRow(berth.services.db, token, node)
  await sql`update vms set folder_id = ${ids[0]} where id = (select id from vms order by id desc limit 1)`.execute(
    berth.services.db,
  )
  const first = await call('GET', '/folders?limit=1')
  const second = await call('GET', `/folders?limit=1&page=${String(first.body['next_page'])}`)
  expect([first.body['has_more'], second.body['has_more']]).toEqual([true, false])
  const listed = [first, second].flatMap(({ body }) => body['data'] as { folder_id: string; vm_id: string | null }[])
  expect(new Map(listed.map(({ folder_id, vm_id }) => [folder_id, vm_id]))).toEqual(
    new Map([
      [encodeId('folder', ids[0] ?? ''), vm],
      [encodeId('folder', ids[1] ?? ''), null],
    ]),
  )
  expect((await call('DELETE', `/folders/${encodeId('folder', ids[0] ?? '')}`)).status).toBe(409)
  expect((await call('DELETE', `/folders/${encodeId('folder', ids[1] ?? '')}`)).status).toBe(204)
  expect((await call('DELETE', '/folders/fld_nope')).status).toBe(404)
})

test('a function is made, listed, changed, and deleted', async () => {
  const made = await call('POST', '/functions', { name: 'hello', idle_seconds: 60, variables: { A: '1', B: '2' } })
  expect(made).toMatchObject({
    status: 201,
    body: {
      name: 'hello',
      status: 'stopped',
      idle_seconds: 60,
      start_seconds: 30,
      current_version: null,
      variables: [
        { key: 'A', value: '1' },
        { key: 'B', value: '2' },
      ],
    },
  })
  const path = `/functions/${made.body.id}`
  const change = { start_seconds: 120, idle_seconds: 90, variables: { A: null } }
  const changed = await call('PATCH', path, change)
  const variables = [{ key: 'B', value: '2' }]
  expect(changed).toMatchObject({ status: 200, body: { start_seconds: 120, idle_seconds: 90, variables } })
  expect((await call('GET', path)).body).toEqual(changed.body)
  const { variables: _variables, current_version: _version, ...short } = changed.body
  expect((await call('GET', '/functions?limit=5')).body).toEqual({ data: [short], has_more: false, next_page: null })
  expect((await call('GET', `${path}/versions`)).body).toEqual({ data: [], has_more: false, next_page: null })
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('GET', path)).status).toBe(404)
})

test.each([
  ['POST', '/functions', { idle_seconds: 1 }, 'idle_seconds'],
  ['POST', '/functions', { start_seconds: 301 }, 'start_seconds'],
  ['POST', '/functions', { name: 'A' }, 'name'],
  ['POST', '/functions', { name: 'taken' }, 'name'],
  ['POST', '/functions', { binary_url: 'https://example.com/x' }, 'binary_url'],
  ['PATCH', '/functions/{id}', { memory_mb: 1 }, 'memory_mb'],
  ['PATCH', '/functions/{id}', { idleSeconds: 60 }, 'idleSeconds'],
  ['POST', '/functions/{id}/deploy', { port: 80 }, 'binary_url'],
  ['POST', '/functions', { port: 80 }, 'port belongs to a version, and nothing is deployed yet. Give binary_url'],
  ['POST', '/functions/{id}/roll-back', {}, 'to'],
])('%s %s with %j is refused with a sentence', async (method, path, body, words) => {
  const taken = (await call('GET', '/functions')).body['data'] as { id: string; name: string }[]
  const id =
    taken.find(({ name }) => name === 'taken')?.id ?? (await call('POST', '/functions', { name: 'taken' })).body.id
  const answer = await call(method, path.replace('{id}', id), body)
  expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(words)])
})
