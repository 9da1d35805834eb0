/** What one organization may hold, and that the next one still gets its own. No machine is made: rows are what is counted. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { dispatchBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { ensureEnvironmentVm } from '#src/resources/agents/environments/vms.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { submit } from '../support/builds.ts'
import { idsOf } from '../support/makers.ts'
import { startRowWorker } from '../support/row-worker.ts'
import { until } from '../support/until.ts'

let berth: Berth
let acme: string
let node: string
afterEach(() => berth.stop())

/** A Berth with one node of eight default VMs. */
async function start(
  settings: Record<string, string> = {},
  room: { memoryMb: number; diskMb?: number } = { memoryMb: 16 * 1024 },
): Promise<void> {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', ...settings } })
  acme = await berth.token()
  node = await startRowWorker(berth.services, room)
}
type Made = { vm_id: string; error?: string; message?: string }
const create = (token: string, body: Record<string, unknown> = { skip_folder_create: true }) =>
  berth.call<Made>('POST', '/api/v1/vms', { token, body })
const graphql = async (query: string, token = acme): Promise<Record<string, unknown>> => {
  const { body } = await berth.ask(query, { token })
  if (body.errors) throw Object.assign(new Error(body.errors[0]?.message), body.errors[0]?.extensions)
  return Object.values(body.data ?? {})[0] as Record<string, unknown>
}
const statusOf = async (id: string): Promise<string> =>
  String((await graphql(`{ vm(id: "${id}") { status } }`))['status']).toLowerCase()
async function settle(id: string, status: string): Promise<void> {
  await until(`${id} is ${status}`, async () => (await statusOf(id)) === status)
}
/** Creates until one is refused: the VMs, and the refusal. */
async function fill(
  token = acme,
  body?: Record<string, unknown>,
): Promise<{ ids: string[]; refused: Awaited<ReturnType<typeof create>> }> {
  const ids: string[] = []
  for (let tries = 0; tries < 50; tries++) {
    const made = await create(token, body)
    if (made.status !== 201) return { ids, refused: made }
    ids.push(made.body.vm_id)
  }
  throw new Error('nothing was refused')
}

describe('memory', () => {
  test('an organization is refused with a sentence before the reserved quarter, and the next ones still create their first VM', async () => {
    await start()
    const { ids, refused } = await fill()
    expect(ids).toHaveLength(6) // 12 of 16 GB
    expect(refused).toMatchObject({
      status: 429,
      body: {
        error: 'rate_limited',
        message: expect.stringMatching(/use 12288 MB of memory.*2048 MB more.*last 4096 MB.*BERTH_ORG_MEMORY_MB/),
      },
    })
    expect(refused.headers.get('retry-after')).toBe('30')
    for (const name of ['second', 'third']) expect((await create(await berth.token('bob', name))).status).toBe(201)
    const last = await create(await berth.token('carl', 'fourth'))
    expect(last).toMatchObject({ status: 503, body: { error: 'capacity_unavailable' } })
    expect((await berth.call<unknown[]>('GET', '/api/v1/vms', { token: acme })).body).toHaveLength(6)
  })

  test('fifty concurrent creates get no more than sequential ones', async () => {
    await start()
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(acme)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(6)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(44)
  })

  test('concurrent creates of several organizations never reserve more than the node has', async () => {
    await start()
    const tokens = await Promise.all(Array.from({ length: 5 }, (_, index) => berth.token('bob', `org-${index}`)))
    const answers = await Promise.all(tokens.flatMap((token) => [create(token), create(token), create(token)]))
    const {
      rows: [promised],
    } = await sql<{ mb: number }>`select sum(memory_mb)::int as mb from vms`.execute(berth.services.db)
    expect(promised?.mb).toBeLessThanOrEqual(16 * 1024)
    expect(answers.filter(({ status }) => status === 201).length).toBe(promised!.mb / 2048)
  })

  test('a setting is the limit, and 0 is none', async () => {
    await start({ BERTH_ORG_MEMORY_MB: '4096' })
    const { ids, refused } = await fill()
    expect(ids).toHaveLength(2)
    expect(refused.body.message).toContain('the limit is 4096 MB (BERTH_ORG_MEMORY_MB)')
    const build = await berth.call('POST', '/api/v1/build/jobs', {
      token: acme,
      body: {
        org_id: ((await graphql('{ viewer { organizationId } }')) as { organizationId: string }).organizationId,
        spec: [...Buffer.from('{"resources": {"memory_mb": 8192}}')],
      },
    })
    expect(build).toMatchObject({
      status: 400,
      body: { error: 'invalid_spec', message: expect.stringContaining('4096 MB') },
    })
    await berth.stop()
    await start({ BERTH_ORG_MEMORY_MB: '0' })
    const all = await fill()
    expect(all.ids).toHaveLength(8)
    expect(all.refused.status).toBe(503)
  })

  test('a sandbox and a build count too', async () => {
    await start({ BERTH_ORG_MEMORY_MB: '6144' })
    for (let builds = 0; builds < 2; builds++) await submit(berth, acme)
    expect(await dispatchBuilds(berth.services)).toBe(2)
    const id = (await create(acme)).body.vm_id
    const sandbox = await berth.call('POST', '/api/v1/vms/sandbox', { token: acme, body: { command: 'true' } })
    expect(sandbox).toMatchObject({
      status: 429,
      body: { error: 'rate_limited', message: expect.stringContaining('use 6144 MB') },
    })
    await graphql(`mutation { stopVm(input: { id: "${id}" }) { vm { id } } }`)
    await settle(id, 'stopped')
    for (let builds = 0; builds < 2; builds++) await submit(berth, acme)
    expect(await dispatchBuilds(berth.services)).toBe(1)
    await expect(graphql(`mutation { startVm(input: { id: "${id}" }) { vm { id } } }`)).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    })
  })
})

describe('a VM at rest', () => {
  beforeEach(() => start({ BERTH_ORG_MEMORY_MB: '0' }, { memoryMb: 4096 }))

  test.each([
    ['stopVm', 'startVm', 'stopped'],
    ['pauseVm', 'resumeVm', 'paused'],
  ])(
    'that %s made gives its memory to another, and %s is refused and changes nothing until there is room',
    async (rest, wake, status) => {
      const {
        ids: [first = '', second = ''],
      } = await fill()
      await graphql(`mutation { ${rest}(input: { id: "${first}" }) { vm { id } } }`)
      await settle(first, status)
      const third = (await create(acme)).body.vm_id
      const before = await graphql(`{ vm(id: "${first}") { status desiredStatus updatedAt } }`)
      await expect(graphql(`mutation { ${wake}(input: { id: "${first}" }) { vm { id } } }`)).rejects.toMatchObject({
        code: 'CAPACITY_UNAVAILABLE',
        message: expect.stringContaining('2048 MB of memory left'),
      })
      expect(await graphql(`{ vm(id: "${first}") { status desiredStatus updatedAt } }`)).toEqual(before)
      for (const id of [second, third]) {
        await berth.call('DELETE', `/api/v1/vms/${id}`, { token: acme })
      }
      await until(
        'its room is free',
        async () => (await berth.call<unknown[]>('GET', '/api/v1/vms', { token: acme })).body.length === 1,
      )
      await graphql(`mutation { ${wake}(input: { id: "${first}" }) { vm { id } } }`)
      await settle(first, 'running')
    },
  )

  test('two starts for the last room: one gets it', async () => {
    const {
      ids: [first = '', second = ''],
    } = await fill()
    for (const id of [first, second]) {
      await graphql(`mutation { stopVm(input: { id: "${id}" }) { vm { id } } }`)
      await settle(id, 'stopped')
    }
    await create(acme)
    const starts = await Promise.allSettled(
      [first, second].map((id) => graphql(`mutation { startVm(input: { id: "${id}" }) { vm { id } } }`)),
    )
    expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('of an environment starts only if there is room, and stays as it was otherwise', async () => {
    const { body: environment } = await berth.call<{ id: string }>('POST', '/agents/v1/environments', {
      token: acme,
      body: { name: 'work' },
    })
    const id = decodeId('environment', environment.id) ?? ''
    const {
      ids: [vm = ''],
    } = await fill()
    await sql`update environments set vm_id = ${decodeId('vm', vm)}, prepared_vm_id = ${decodeId('vm', vm)} where id = ${id}`.execute(
      berth.services.db,
    )
    await graphql(`mutation { stopVm(input: { id: "${vm}" }) { vm { id } } }`)
    await settle(vm, 'stopped')
    await create(acme)
    await expect(ensureEnvironmentVm(berth.services, id)).rejects.toMatchObject({ code: 'capacity_unavailable' })
    const {
      rows: [row],
    } = await sql<{ status: string; vm_id: string }>`select status, vm_id from environments where id = ${id}`.execute(
      berth.services.db,
    )
    expect(row).toMatchObject({ status: 'ready' })
    expect(await statusOf(vm)).toBe('stopped')
  })

  test('that crashed keeps its memory while it starts again by itself, and gives it up after three tries', async () => {
    const {
      ids: [first = ''],
    } = await fill()
    const stored = decodeId('vm', first)
    await sql`update vms set status = ${'error'}, boot_failures = 0 where id = ${stored}`.execute(berth.services.db)
    expect((await create(acme)).status).toBe(503)
    await sql`update vms set boot_failures = 3 where id = ${stored}`.execute(berth.services.db)
    expect((await create(acme)).status).toBe(201)
    await expect(graphql(`mutation { startVm(input: { id: "${first}" }) { vm { id } } }`)).rejects.toMatchObject({
      code: 'CAPACITY_UNAVAILABLE',
    })
  })
})

describe('disk and numbers', () => {
  test('disks of VMs in every state, folders and templates count, and the next organization still gets its first', async () => {
    await start({}, { memoryMb: 1_000_000, diskMb: 200 * 1024 })
    const { ids, refused } = await fill(acme, {})
    expect(ids).toHaveLength(7) // 20 GiB each, of 150
    expect(refused).toMatchObject({
      status: 429,
      body: { message: expect.stringMatching(/use 143360 MB of disk.*20480 MB more.*last 51200 MB/) },
    })
    await graphql(`mutation { stopVm(input: { id: "${ids[0]}" }) { vm { id } } }`)
    await settle(ids[0]!, 'stopped')
    expect((await create(acme, {})).status).toBe(429)
    expect((await create(await berth.token('bob', 'second'), {})).status).toBe(201)
  })

  test('a folder without a VM counts with the space it takes, and a template with its size', async () => {
    await start({ BERTH_ORG_DISK_GB: '30' }, { memoryMb: 1_000_000 })
    const { organizationId } = idsOf(acme)
    await sql`insert into folders (id, organization_id, name, node_id, size_mb, used_mb) values (${newUuid()}, ${organizationId}, 'kept', ${node}, 10240, 5000)`.execute(
      berth.services.db,
    )
    await sql`insert into templates (id, organization_id, name, node_id, size_bytes) values (${newUuid()}, ${organizationId}, 'mine', ${node}, ${7000 * 1024 * 1024})`.execute(
      berth.services.db,
    )
    expect((await create(acme)).status).toBe(201)
    expect(await create(acme)).toMatchObject({
      status: 429,
      body: {
        message: expect.stringMatching(
          /use 22240 MB of disk.*10240 MB more; the limit is 30720 MB \(BERTH_ORG_DISK_GB\)/,
        ),
      },
    })
  })

  test('an organization has so many VMs, stopped ones too', async () => {
    await start({ BERTH_ORG_VMS: '2' }, { memoryMb: 1_000_000 })
    const { ids, refused } = await fill()
    expect(ids).toHaveLength(2)
    expect(refused).toMatchObject({
      status: 429,
      body: {
        message: expect.stringContaining(
          'has 2 VMs, including stopped ones, sandboxes and those of databases and functions, and may have 2',
        ),
      },
    })
    await graphql(`mutation { stopVm(input: { id: "${ids[0]}" }) { vm { id } } }`)
    await settle(ids[0]!, 'stopped')
    expect((await create(acme)).status).toBe(429)
    expect((await create(await berth.token('bob', 'second'))).status).toBe(201)
  })
})
