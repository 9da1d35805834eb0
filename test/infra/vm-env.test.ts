/** Environment variables: who sees what, what is refused, and that a refusal changes nothing. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'

type Env = { env: Record<string, string>; warning: string | null }
let berth: Berth
let owner: string
let viewer: string
let node: string
let path: string
beforeAll(async () => {
  berth = await startBerth()
  owner = await berth.token('alice', 'acme', 'owner')
  viewer = await berth.token('victor', 'acme', 'viewer')
  node = await makeSilentNode(berth.services.db)
})
beforeEach(async () => {
  path = `/api/v1/vms/${await makeVmRow(berth.services.db, owner, node)}/env`
})
afterAll(() => berth.stop())

test('PATCH keeps other keys, PUT replaces them, DELETE removes one', async () => {
  expect((await berth.call<Env>('PATCH', path, { token: owner, body: { A: '1', B: '2' } })).body).toEqual({
    env: { A: '1', B: '2' },
    warning: 'running processes keep their old environment',
  })
  expect((await berth.call<Env>('PATCH', path, { token: owner, body: { B: '3' } })).body.env).toEqual({
    A: '1',
    B: '3',
  })
  expect((await berth.call<Env>('PUT', path, { token: owner, body: { C: '4' } })).body.env).toEqual({ C: '4' })
  expect((await berth.call<Env>('DELETE', `${path}/C`, { token: owner })).body.env).toEqual({})
  expect(await berth.call('DELETE', `${path}/C`, { token: owner })).toMatchObject({
    status: 404,
    body: { error: 'not_found' },
  })
})

test('a VM that does not run says when the change applies', async () => {
  const stopped = await makeVmRow(berth.services.db, owner, node, { status: 'stopped' })
  expect(
    (await berth.call<Env>('PATCH', `/api/v1/vms/${stopped}/env`, { token: owner, body: { A: '1' } })).body.warning,
  ).toBe('VM is not running; changes apply at next start')
})

test('secret values are hidden from everybody, sensitive ones from viewers, plaintext from nobody', async () => {
  for (const visibility of ['plaintext', 'sensitive', 'secret'])
    await berth.call('PATCH', `${path}?visibility=${visibility}`, {
      token: owner,
      body: { [visibility.toUpperCase()]: 'value' },
    })
  expect((await berth.call<Env>('GET', path, { token: owner })).body).toEqual({
    env: { PLAINTEXT: 'value', SENSITIVE: 'value', SECRET: '********' },
  })
  expect((await berth.call<Env>('GET', path, { token: viewer })).body).toEqual({
    env: { PLAINTEXT: 'value', SENSITIVE: '********', SECRET: '********' },
  })
  expect((await berth.call('GET', `${path}/SECRET`, { token: owner })).body).toEqual({
    key: 'SECRET',
    value: '********',
    visibility: 'secret',
  })
})

test('a PATCH without a visibility leaves it as it was, and new keys are sensitive', async () => {
  await berth.call('PATCH', `${path}?visibility=secret`, { token: owner, body: { KEPT: 'a' } })
  await berth.call('PATCH', path, { token: owner, body: { KEPT: 'b', NEW: 'c' } })
  expect((await berth.call('GET', `${path}/KEPT`, { token: owner })).body).toMatchObject({ visibility: 'secret' })
  expect((await berth.call('GET', `${path}/NEW`, { token: owner })).body).toMatchObject({ visibility: 'sensitive' })
})

const forbiddenKeys = [
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'PATH',
  'IFS',
  'BASH_ENV',
  'ENV',
  'SHELLOPTS',
  'PS4',
  'PROMPT_COMMAND',
  'NODE_OPTIONS',
  'PYTHONPATH',
  'PYTHONSTARTUP',
  'PERL5OPT',
  'RUBYOPT',
  'GIT_SSH_COMMAND',
  'GIT_CONFIG_COUNT',
  'JAVA_TOOL_OPTIONS',
  'DYLD_INSERT_LIBRARIES',
  'BERTH_X',
  'SYSTEM_X',
  'path',
  'Ld_Preload',
  ' PATH',
  'PATH ',
  'A=B',
  '',
  '1A',
  'ä',
  'A\u0000B',
  'A'.repeat(129),
]
test.each(forbiddenKeys)('the key %j is refused and nothing of the body is stored', async (key) => {
  for (const method of ['PATCH', 'PUT']) {
    const refused = await berth.call(method, path, { token: owner, body: { GOOD: 'x', [key]: 'y' } })
    expect(refused.status).toBe(400)
  }
  expect((await berth.call<Env>('GET', path, { token: owner })).body.env).toEqual({})
})

test.each([
  ['NUL', 'a\u0000b', ''],
  ['a line break in plaintext', 'a\nb', '?visibility=plaintext'],
  ['a shell function', '() { :;}; echo x', ''],
  ['33 KiB', 'x'.repeat(33 * 1024), ''],
  ['a number', 5, ''],
  ['null', null, ''],
  ['a list', ['a'], ''],
])('a value with %s is refused', async (_what, value, query) => {
  const refused = await berth.call<{ error: string }>('PATCH', path + query, { token: owner, body: { A: value } })
  expect(refused.status).toBe(400)
  expect((await berth.call<Env>('GET', path, { token: owner })).body.env).toEqual({})
})

test('a line break is allowed in a sensitive value, and comes back whole', async () => {
  await berth.call('PATCH', path, { token: owner, body: { KEY: 'a\nb' } })
  expect((await berth.call<Env>('GET', path, { token: owner })).body.env).toEqual({ KEY: 'a\nb' })
})

test('the hundred-and-first variable is refused, also when it comes in a second request', async () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`K${i}`, 'x']))
  expect((await berth.call('PUT', path, { token: owner, body: many })).status).toBe(200)
  expect((await berth.call('PATCH', path, { token: owner, body: { ONE_MORE: 'x' } })).status).toBe(400)
  expect(Object.keys((await berth.call<Env>('GET', path, { token: owner })).body.env)).toHaveLength(100)
})

test('an unknown visibility is refused; unknown and write-only sources answer an empty object', async () => {
  expect((await berth.call('PATCH', `${path}?visibility=public`, { token: owner, body: { A: '1' } })).status).toBe(400)
  await berth.call('PATCH', path, { token: owner, body: { A: '1' } })
  for (const source of ['provision', 'nonsense', 'system'])
    expect((await berth.call<Env>('GET', `${path}?source=${source}`, { token: owner })).body.env).toEqual({})
  expect((await berth.call<Env>('GET', `${path}?source=user`, { token: owner })).body.env).toEqual({ A: '1' })
})

test('a VM that is not there, or another organization’s, answers 403 where the interface lists no 404', async () => {
  const stranger = await berth.token('mallory', 'evil', 'owner')
  const absent = await berth.call('GET', `/api/v1/vms/${newId('vm')}/env`, { token: owner })
  expect(absent).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  expect((await berth.call('GET', path, { token: stranger })).body).toEqual(absent.body)
  expect((await berth.call('PATCH', path, { token: stranger, body: { A: '1' } })).status).toBe(403)
  expect((await berth.call('DELETE', `${path}/A`, { token: stranger })).status).toBe(404)
})

test('a viewer may not change variables', async () => {
  expect(await berth.call('PATCH', path, { token: viewer, body: { A: '1' } })).toMatchObject({
    status: 403,
    body: { error: 'not_permitted_for_role' },
  })
})

test('a missing permission is reported before errors in the request', async () => {
  for (const method of ['PATCH', 'PUT'])
    expect((await berth.call(method, `${path}?visibility=public`, { token: viewer, body: [1] })).status).toBe(403)
  expect(
    (
      await berth.call('POST', `${path.replace('/env', '/envd')}/processes/${newId('process')}/kill`, {
        token: viewer,
        body: { signal: 'NOPE' },
      })
    ).status,
  ).toBe(403)
  for (const query of [
    'mutation { setVmEnv(input: { vmId: "x", env: { BERTH_X: "reserved" } }) { warning } }',
    'mutation { killVmProcess(input: { vmId: "x", processId: "x", signal: "NOPE" }) { output { stdout } } }',
  ]) {
    expect((await berth.call('POST', '/graphql', { body: { query } })).body).toMatchObject({
      errors: [{ extensions: { code: 'UNAUTHORIZED' } }],
    })
  }
})

test('GraphQL takes the words of the enums that it answers, and a map of texts', async () => {
  const change = 'mutation ($input: SetVmEnvInput!) { setVmEnv(input: $input) { env } }'
  const set = async (given: object) =>
    (await berth.ask(change, { token: owner, variables: { input: { vmId: path.split('/')[4], ...given } } })).body
  expect((await set({ env: { OF_ENUMS: 'a' }, visibility: 'PLAINTEXT' })).errors).toBeUndefined()
  const read = `{ vm(id: "${path.split('/')[4]}") { env(source: USER) { key visibility source } envMap(source: SYSTEM) } }`
  const { body } = await berth.ask(read, { token: owner })
  expect(body.data).toMatchObject({
    vm: { env: expect.arrayContaining([{ key: 'OF_ENUMS', visibility: 'PLAINTEXT', source: 'USER' }]), envMap: {} },
  })
  expect(body.data).not.toHaveProperty('vm.envMap.OF_ENUMS')
  for (const [given, at] of [
    [{ env: {}, visibility: 'plaintext' }, 'visibility'],
    [{ env: { A: 1 } }, 'env'],
    [{ env: [] }, 'env'],
  ] as const)
    expect((await set(given)).errors?.[0]?.message).toContain(at)
})

test('the variables of many VMs are read together, each as its own reader may see them', async () => {
  const { db, database } = berth.services
  const elsewhere = await berth.token('alice', 'second', 'viewer') // who is the owner of acme
  const theirs = await makeVmRow(db, elsewhere, node)
  await berth.call('PATCH', `/api/v1/vms/${theirs}/env`, {
    token: await berth.token('otto', 'second', 'owner'),
    body: { HERE: 'of the second' },
  })
  const vms = [theirs]
  for (let made = 0; made < 20; made++) {
    const vm = await makeVmRow(db, owner, node)
    await berth.call('PATCH', `/api/v1/vms/${vm}/env`, { token: owner, body: { HERE: `of ${vm}` } })
    vms.push(vm)
  }
  const connections = vi.spyOn(database.pool, 'connect')
  const asked =
    'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Vm { env { key value } envMap some: envMap(source: VAULT) envVariable(key: "HERE") { value } } } }'
  const { body } = await berth.ask(asked, { token: elsewhere, variables: { ids: vms } })
  const statements = connections.mock.calls.length
  connections.mockRestore()
  expect(body).toEqual({
    data: {
      nodes: vms.map((id) => {
        const value = id === theirs ? '********' : `of ${id}` // sensitive, and a viewer asks
        return { id, env: [{ key: 'HERE', value }], envMap: { HERE: value }, some: {}, envVariable: { value } }
      }),
    },
  })
  expect(statements).toBeLessThan(12) // four fields in two organizations, and the VMs
})
