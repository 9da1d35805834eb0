/** Environments as far as they go without a node: what is refused, whose is what, and which VM is asked for. Real ones: environments.vm.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { readEnvironmentConfig } from '#src/resources/agents/environments/configs.ts'
import { moveEnvironment } from '#src/resources/agents/environments/states.ts'
import { endStrandedEnvironments, ensureEnvironmentVm } from '#src/resources/agents/environments/vms.ts'
import { createEphemeralEnvironment, discardEnvironment } from '#src/resources/agents/environments.ts'
import { stopIdleEnvironments } from '#src/resources/agents/sessions/idle-environments.ts'
import { findVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode } from '../support/makers.ts'
import { until } from '../support/until.ts'

type Environment = Record<string, unknown> & {
  id: string
  name: string
  status: string
  status_reason: string | null
  vm_id: string | null
  config: Record<string, unknown>
  metadata: object
}
type Refusal = { error: { type: string; code: string; message: string } }

let berth: Berth
let token: string
let colleague: string
let stranger: string
let named = 0
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
  colleague = await berth.token('martha', 'acme', 'member')
  stranger = await berth.token('mallory', 'evil', 'owner')
  await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const call = <Body = Environment>(
  method: string,
  path: string,
  body?: unknown,
  as = token,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1/environments${path}`, {
    token: as,
    headers,
    ...(body === undefined ? {} : { body }),
  })
async function make(fields: Record<string, unknown> = {}, as = token): Promise<Environment> {
  const made = await call('POST', '', { name: `env ${++named}`, ...fields }, as)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const refusal = (status: number, type: string, code: string): object => ({
  status,
  body: { type: 'error', error: { type, code, message: expect.stringMatching(/^[A-Z`a-z].{9,}$/s) } },
})
const absent = refusal(404, 'not_found_error', 'not_found')
const uuidOf = ({ id }: { id: string }): string => decodeId('environment', id) ?? ''
const noPackages = { apt: [], pip: [], npm: [], cargo: [], gem: [], go: [] }

test('a new environment is ready, has no VM, and has every documented key, filled in', async () => {
  const made = await make({ name: 'plain' })
  expect(made).toEqual({
    id: expect.stringMatching(/^env_[0-7][0-9a-z]{25}$/),
    type: 'environment',
    name: 'plain',
    description: null,
    metadata: {},
    scope: 'account',
    status: 'ready',
    status_reason: null,
    vm_id: null,
    config: {
      type: 'vm',
      template_id: null,
      vcpu: 2,
      memory_mb: 2048,
      networking: { type: 'unrestricted' },
      packages: noPackages,
      git_repos: [],
      setup_script: null,
      idle_timeout_seconds: 900,
    },
    created_at: expect.stringMatching(/Z$/),
    updated_at: made['created_at'],
    archived_at: null,
  })
  expect((await call('GET', `/${made.id}`)).body).toEqual(made)
})

test('a config as Anthropic’s client sends it comes back with its own type; a self-hosted one has nothing else', async () => {
  const cloud = await make({
    config: {
      type: 'cloud',
      networking: { type: 'limited', allowed_hosts: ['example.com'], allow_package_managers: true },
      packages: { type: 'packages', pip: ['requests==2.32.0'], apt: ['jq'] },
    },
  })
  expect(cloud.config).toMatchObject({
    type: 'cloud',
    networking: {
      type: 'limited',
      allowed_hosts: ['example.com'],
      allow_package_managers: true,
      allow_mcp_servers: false,
    },
    packages: { ...noPackages, pip: ['requests==2.32.0'], apt: ['jq'] },
  })
  expect((await make({ config: { type: 'self_hosted' } })).config).toEqual({ type: 'self_hosted' })
  // What was answered may be sent back as it is.
  expect(await call('POST', `/${cloud.id}`, { config: cloud.config })).toMatchObject({
    status: 200,
    body: { config: cloud.config },
  })
})

test.each<[Record<string, unknown>, string, string?]>([
  [{ name: '' }, 'name'],
  [{ name: null }, 'name is required'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ description: 'x'.repeat(2049) }, 'description'],
  [{ metadata: { a: 1 } }, 'metadata'],
  [{ config: 'vm' }, 'config'],
  [{ config: { type: 'mainframe' } }, 'config.type'],
  [{ config: { vcpu: 0 } }, 'config.vcpu'],
  [{ config: { memory_mb: 1 } }, 'config.memory_mb'],
  [{ config: { template_id: 'nope' } }, 'template', 'invalid_template'],
  [{ config: { networking: { type: 'open' } } }, 'config.networking'],
  [{ config: { networking: { type: 'limited', allowed_hosts: ['not a host'] } } }, 'network policy'],
  [{ config: { packages: { pip: ['--index-url=x'] } } }, 'config.packages.pip[0]'],
  [{ config: { packages: { apt: ['$(id)'] } } }, 'config.packages.apt[0]'],
  [{ config: { packages: { npm: Array(101).fill('x') } } }, 'config.packages.npm'],
  [{ config: { packages: { pip: ['requests'] }, networking: { type: 'limited' } } }, 'allow_package_managers'],
  [{ config: { git_repos: [{ url: 'http://example.com/a/b' }] } }, 'Repository 1'],
  [{ config: { git_repos: [{ url: 'https://canary-9:x@example.com/a/b' }] } }, 'git_repos[0]'],
  [{ config: { git_repos: [{ url: 'https://canary-9@example.com/a/b' }] } }, 'git_repos[0]'],
  [{ config: { setup_script: 'x'.repeat(70_000) } }, 'config.setup_script'],
  [{ config: { idle_timeout_seconds: 1 } }, 'config.idle_timeout_seconds'],
])(
  'a create or an update with %j is refused with 400 and changes nothing',
  async (fields, words, code = 'invalid_request') => {
    const before = await make()
    const created = await call<Refusal>('POST', '', { name: 'never made', ...fields })
    expect(created).toMatchObject(refusal(400, 'invalid_request_error', code))
    expect(created.body.error.message).toContain(words)
    expect(JSON.stringify(created.body)).not.toContain('canary')
    expect((await call('POST', `/${before.id}`, fields)).status).toBe(400)
    expect((await call('GET', `/${before.id}`)).body).toEqual(before)
  },
)

test('an update changes what is named: keys of the config one by one, metadata by its keys', async () => {
  const made = await make({ description: 'd', metadata: { a: '1', b: '2' }, config: { vcpu: 4, setup_script: 'true' } })
  const changed = await call('POST', `/${made.id}`, {
    description: null,
    metadata: { a: null, c: '3' },
    config: { memory_mb: 4096, setup_script: null },
  })
  expect(changed).toMatchObject({
    status: 200,
    body: {
      name: made.name,
      description: null,
      metadata: { b: '2', c: '3' },
      config: { vcpu: 4, memory_mb: 4096, setup_script: null },
    },
  })
})

test('a name is unique for each owner, or answers 409; archiving frees it', async () => {
  const first = await make({ name: 'taken' })
  const other = await make()
  const taken = refusal(409, 'conflict_error', 'environment_name_taken')
  expect(await call('POST', '', { name: 'taken' })).toMatchObject(taken)
  expect(await call('POST', `/${other.id}`, { name: 'taken' })).toMatchObject(taken)
  for (const as of [colleague, stranger]) expect((await call('POST', '', { name: 'taken' }, as)).status).toBe(201)
  expect(await call('POST', `/${first.id}/archive`)).toMatchObject({
    status: 200,
    body: { status: 'archived', archived_at: expect.any(String) },
  })
  expect((await call('POST', '', { name: 'taken' })).status).toBe(201)
})

test('an archived environment stays readable, is listed only when asked for, and cannot be changed; again changes nothing', async () => {
  const made = await make()
  const archived = await call('POST', `/${made.id}/archive`)
  expect((await call('POST', `/${made.id}/archive`)).body).toEqual(archived.body)
  expect(await call('POST', `/${made.id}`, { name: 'x' })).toMatchObject(
    refusal(409, 'conflict_error', 'resource_archived'),
  )
  const ids = async (query: string): Promise<string[]> =>
    (await call<{ data: Environment[] }>('GET', query)).body.data.map(({ id }) => id)
  expect(await ids('')).not.toContain(made.id)
  expect(await ids('?include_archived=true')).toContain(made.id)
  await expect(ensureEnvironmentVm(berth.services, uuidOf(made))).rejects.toMatchObject({ code: 'resource_archived' })
})

test('deleting answers 204 without a body, and to Anthropic’s client 200 with what was deleted', async () => {
  const [one, two] = [await make(), await make()]
  expect(await call('DELETE', `/${one.id}`)).toMatchObject({ status: 204, body: null })
  expect(
    await call('DELETE', `/${two.id}?beta=true`, undefined, token, {
      'anthropic-beta': 'x',
      'anthropic-version': '2023-06-01',
    }),
  ).toMatchObject({ status: 200, body: { id: two.id, type: 'environment_deleted' } })
  for (const { id } of [one, two]) expect(await call('GET', `/${id}`)).toMatchObject(absent)
})

test.each<[string, string, unknown?]>([
  ['GET', ''],
  ['POST', '', { name: 'y' }],
  ['DELETE', ''],
  ['POST', '/archive'],
])(
  '%s %s by a stranger or a colleague, for an absent or a malformed id answers 404 and changes nothing; without a token 401',
  async (method, path, body) => {
    const made = await make()
    for (const [id, as] of [
      [made.id, stranger],
      [made.id, colleague],
      [newId('environment'), token],
      ['env_x', token],
    ] as const)
      expect(await call(method, `/${id}${path}`, body, as)).toMatchObject(absent)
    expect(
      await berth.call(method, `/agents/v1/environments/${made.id}${path}`, body === undefined ? {} : { body }),
    ).toMatchObject({ status: 401, body: { error: { type: 'authentication_error' } } })
    expect((await call('GET', `/${made.id}`)).body).toEqual(made)
  },
)

test('a list is the caller’s own, newest first, and pages', async () => {
  const person = await berth.token('lister', 'lists', 'member')
  const made = [await make({}, person), await make({}, person), await make({}, person)].map(({ id }) => id).reverse()
  const first = await call<{ data: Environment[]; has_more: boolean; next_page: string }>(
    'GET',
    '?limit=2',
    undefined,
    person,
  )
  expect(first.body).toMatchObject({ data: [{ id: made[0] }, { id: made[1] }], has_more: true })
  expect((await call('GET', `?limit=2&page=${first.body.next_page}`, undefined, person)).body).toMatchObject({
    data: [{ id: made[2] }],
    has_more: false,
    next_page: null,
  })
})

describe('the VM of an environment', () => {
  const vmOf = async ({ id }: { id: string }): Promise<Vm> => {
    const vmId = decodeId('vm', (await call('GET', `/${id}`)).body.vm_id ?? '')
    const vm = vmId ? await findVmRow(berth.services.db, vmId) : undefined
    if (!vm) throw new Error('the environment has no VM')
    return vm
  }
  /** What the node's worker would do. */
  async function comesUp(environment: { id: string }): Promise<void> {
    const vm = await vmOf(environment)
    await moveVm(berth.services.db, berth.services, vm.id, 'running')
    await transaction(berth.services.db, (tx) =>
      moveEnvironment(
        tx,
        uuidOf(environment),
        'ready',
        null,
        sql`updated_at = now(), used_at = now(), prepared_vm_id = vm_id`,
      ),
    )
  }
  async function use(environment: { id: string }, mcpHosts: string[] = []): Promise<Vm> {
    const asked = ensureEnvironmentVm(berth.services, uuidOf(environment), { mcpHosts })
    asked.catch(() => undefined) // awaited below
    await until(
      'the environment is on its way',
      async () => (await call('GET', `/${environment.id}`)).body.status === 'provisioning',
    )
    await comesUp(environment)
    return asked
  }

  test('is created once at the first use, however many ask, private to the owner and with the config’s size', async () => {
    const made = await make({
      config: {
        vcpu: 1,
        memory_mb: 512,
        networking: { type: 'limited', allowed_hosts: ['Example.com'], allow_mcp_servers: true },
      },
    })
    const asking = Promise.all(
      Array.from({ length: 5 }, () =>
        ensureEnvironmentVm(berth.services, uuidOf(made), { mcpHosts: ['mcp.example.com'] }),
      ),
    )
    await until('it is on its way', async () => (await call('GET', `/${made.id}`)).body.status === 'provisioning')
    await comesUp(made)
    const ids = (await asking).map(({ id }) => id)
    expect(new Set(ids).size).toBe(1)
    const vm = await vmOf(made)
    expect(vm).toMatchObject({
      id: ids[0],
      userId: idsOf(token).userId,
      organizationId: idsOf(token).organizationId,
      vcpuCount: 1,
      memoryMb: 512,
      name: made.name,
      metadata: { environment_id: made.id },
      networkPolicy: { type: 'limited', allowedHosts: ['example.com', 'mcp.example.com'], allowPackageManagers: false },
    })
    expect(
      (
        await berth.services.database.pool.query("select 1 from vms where metadata ->> 'environment_id' = $1", [
          made.id,
        ])
      ).rowCount,
    ).toBe(1)
    expect((await ensureEnvironmentVm(berth.services, uuidOf(made))).id).toBe(vm.id)
    // Another agent's tool servers are let through beside those before.
    await ensureEnvironmentVm(berth.services, uuidOf(made), { mcpHosts: ['other.example.com'] })
    expect((await vmOf(made)).networkPolicy).toMatchObject({
      allowedHosts: ['example.com', 'mcp.example.com', 'other.example.com'],
    })
    await call('POST', `/${made.id}`, {
      config: { networking: { type: 'limited', allowed_hosts: ['only.example.com'] } },
    })
    expect((await vmOf(made)).networkPolicy).toMatchObject({ allowedHosts: ['only.example.com'] })
  })

  test.each([
    ['archived', 'POST', '/archive'],
    ['deleted', 'DELETE', ''],
  ])('is torn down when its environment is %s, and whoever waits for it is told', async (_what, method, path) => {
    const made = await make()
    const waiting = ensureEnvironmentVm(berth.services, uuidOf(made))
    waiting.catch(() => undefined) // awaited below
    await until('it is on its way', async () => (await call('GET', `/${made.id}`)).body.status === 'provisioning')
    const vm = await vmOf(made)
    expect((await call(method, `/${made.id}${path}`)).status).toBeLessThan(300)
    await expect(waiting).rejects.toMatchObject({ code: expect.stringMatching(/^(resource_archived|not_found)$/) })
    expect(await findVmRow(berth.services.db, vm.id)).toMatchObject({ status: 'deleting', desiredStatus: 'deleted' })
  })

  test('is stopped when it is unused for the idle time, and started again, not created again, at the next use', async () => {
    const made = await make({ config: { idle_timeout_seconds: 60 } })
    const vm = await use(made)
    await stopIdleEnvironments(berth.services)
    expect((await vmOf(made)).status).toBe('running')
    await berth.services.database.pool.query(
      "update environments set used_at = now() - interval '61 seconds' where id = $1",
      [uuidOf(made)],
    )
    await stopIdleEnvironments(berth.services)
    expect(await vmOf(made)).toMatchObject({
      id: vm.id,
      status: 'stopping',
      desiredStatus: 'stopped',
      statusReason: 'Its environment was idle.',
    })
    await moveVm(berth.services.db, berth.services, vm.id, 'stopped')
    await moveVm(berth.services.db, berth.services, vm.id, 'starting')
    expect((await use(made)).id).toBe(vm.id)
  })

  test('that cannot be prepared leaves the environment in error with a sentence, and the next use makes another', async () => {
    const made = await make()
    const asked = ensureEnvironmentVm(berth.services, uuidOf(made))
    asked.catch(() => undefined) // awaited below
    await until('it is on its way', async () => (await call('GET', `/${made.id}`)).body.status === 'provisioning')
    const first = await vmOf(made)
    await transaction(berth.services.db, (tx) => moveEnvironment(tx, uuidOf(made), 'error', 'The setup script failed.'))
    await expect(asked).rejects.toMatchObject({ code: 'vm_unreachable', message: 'The setup script failed.' })
    expect((await call('GET', `/${made.id}`)).body).toMatchObject({
      status: 'error',
      status_reason: 'The setup script failed.',
    })
    const second = await use(made)
    expect(second.id).not.toBe(first.id)
    expect(await findVmRow(berth.services.db, first.id)).toMatchObject({ status: 'deleting' })
    expect((await call('GET', `/${made.id}`)).body).toMatchObject({
      status: 'ready',
      status_reason: null,
      vm_id: encodeId('vm', second.id),
    })
  })

  test('that its owner deleted is created again at the next use', async () => {
    const made = await make()
    const first = await use(made)
    await berth.call('DELETE', `/api/v1/vms/${encodeId('vm', first.id)}`, { token })
    expect((await use(made)).id).not.toBe(first.id)
  })

  test('whose node never answers is given up after a while', async () => {
    const made = await make()
    const asked = ensureEnvironmentVm(berth.services, uuidOf(made))
    asked.catch(() => undefined) // awaited below
    await until('it is on its way', async () => (await call('GET', `/${made.id}`)).body.status === 'provisioning')
    await berth.services.database.pool.query(
      "update environments set updated_at = now() - interval '1 day' where id = $1",
      [uuidOf(made)],
    )
    await endStrandedEnvironments(berth.services)
    await expect(asked).rejects.toMatchObject({ code: 'vm_unreachable' })
  })

  test('is no longer waited for when the caller disconnects', async () => {
    const made = await make()
    const leaving = new AbortController()
    const asked = ensureEnvironmentVm(berth.services, uuidOf(made), { signal: leaving.signal })
    asked.catch(() => undefined) // awaited below
    await until('it is on its way', async () => (await call('GET', `/${made.id}`)).body.status === 'provisioning')
    leaving.abort(new Error('left'))
    await expect(asked).rejects.toThrow('left')
  })

  test('of a single run is not listed and is deleted with it; one that a user created stays', async () => {
    const scope = { ...idsOf(token), role: 'member' as const, keyId: null, vmId: null }
    const ephemeral = await transaction(berth.services.db, (tx) =>
      createEphemeralEnvironment(tx, scope, readEnvironmentConfig({ memoryMb: 512 })),
    )
    const id = encodeId('environment', ephemeral.id)
    expect((await call<{ data: Environment[] }>('GET', '')).body.data.map((one) => one.id)).not.toContain(id)
    const kept = await make()
    for (const one of [{ id }, kept])
      await transaction(berth.services.db, (tx) => discardEnvironment(berth.services, tx, uuidOf(one)))
    expect(await call('GET', `/${id}`)).toMatchObject(absent)
    expect((await call('GET', `/${kept.id}`)).status).toBe(200)
  })

  test('does not exist for a self-hosted environment', async () => {
    const made = await make({ config: { type: 'self_hosted' } })
    await expect(ensureEnvironmentVm(berth.services, uuidOf(made))).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

test('a subscription tells each state, live and from a cursor, and ends when the environment is archived', async () => {
  const made = await make()
  async function* follow(
    after: string | null,
  ): AsyncGenerator<{ cursor: string; status: string; statusReason: string | null }> {
    const answer = await fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        query:
          'subscription ($id: ID!, $after: String) { environmentEvents(id: $id, after: $after) { ... on EnvironmentEvent { cursor status statusReason } } }',
        variables: { id: made.id, after },
      }),
    })
    let read = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      read += piece
      const blocks = read.split('\n\n')
      read = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = /^data: (\{.*)$/m.exec(block)?.[1]
        if (event)
          yield (
            JSON.parse(event) as {
              data: { environmentEvents: { cursor: string; status: string; statusReason: string | null } }
            }
          ).data.environmentEvents
      }
    }
  }
  const live = follow(null)
  expect((await live.next()).value).toMatchObject({ cursor: '1', status: 'READY' })
  await transaction(berth.services.db, (tx) => moveEnvironment(tx, uuidOf(made), 'provisioning'))
  await transaction(berth.services.db, (tx) => moveEnvironment(tx, uuidOf(made), 'error', 'It rained.'))
  expect((await live.next()).value).toMatchObject({ cursor: '2', status: 'PROVISIONING', statusReason: null })
  expect((await live.next()).value).toMatchObject({ cursor: '3', status: 'ERROR', statusReason: 'It rained.' })
  await call('POST', `/${made.id}/archive`)
  expect((await live.next()).value).toMatchObject({ cursor: '4', status: 'ARCHIVED' })
  expect((await live.next()).done).toBe(true)
  const again: string[] = []
  for await (const { status } of follow('1')) again.push(status)
  expect(again).toEqual(['PROVISIONING', 'ERROR', 'ARCHIVED'])
})
