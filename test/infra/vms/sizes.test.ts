/** VMs that get another size: what is refused, what it counts, and who hears of it. Real machines: looks.vm.test.ts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { findVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_ORG_MEMORY_MB: '8192', BERTH_ORG_DISK_GB: '60' } })
  token = await berth.token()
  const { db } = berth.services
  node = await makeSilentNode(db)
  await change(db, sql`update nodes set heartbeat_at = now() + interval '1 hour', disk_mb = 1000000 where id = ${node}`)
})
afterAll(() => berth.stop())

const made: string[] = []
async function makeVm(status = 'stopped'): Promise<string> {
  const { db } = berth.services
  for (const id of made) await change(db, sql`update vms set status = 'deleted' where id = ${decodeId('vm', id) ?? ''}`)
  made.push(await makeVmRow(db, token, node, { status }))
  return made.at(-1) ?? ''
}
const resize = (vm: string, body: Record<string, unknown>) =>
  berth.call<Record<string, unknown> & { error: string; message: string }>('PATCH', `/api/v1/vms/${vm}`, {
    token,
    body,
  })
const rowOf = async (vm: string): Promise<Vm> => (await findVmRow(berth.services.db, decodeId('vm', vm) ?? ''))!

test('a stopped VM gets another size, by REST and GraphQL, and its watchers hear of it', async () => {
  const vm = await makeVm()
  const { eventPosition } = await rowOf(vm)
  const { status, body } = await resize(vm, { vcpu_count: 4, memory_mb: 4096, disk_mb: 20_480 })
  expect([status, body]).toEqual([200, expect.objectContaining({ vcpu_count: 4, memory_mb: 4096, disk_mb: 20_480 })])
  expect((await rowOf(vm)).eventPosition).toBe(eventPosition + 1)
  const answer = await berth.ask(
    `mutation { updateVm(input: { id: "${vm}", memoryMb: 1024 }) { vm { vcpuCount memoryMb diskMb } } }`,
    { token },
  )
  expect(answer.body.data).toEqual({ updateVm: { vm: { vcpuCount: 4, memoryMb: 1024, diskMb: 20_480 } } })
})

test.each(['running', 'paused', 'starting', 'creating', 'pausing'])(
  'a VM that is %s keeps its size, and can be told the one that it has',
  async (status) => {
    const vm = await makeVm(status)
    expect(await resize(vm, { memory_mb: 4096 })).toMatchObject({
      status: 409,
      body: { error: 'invalid_transition', message: expect.stringContaining('Stop it, change its size') as string },
    })
    expect((await resize(vm, { memory_mb: 2048, disk_mb: 10_240, name: 'same' })).status).toBe(200)
    expect(await rowOf(vm)).toMatchObject({ memoryMb: 2048, name: 'same' })
  },
)

test('a VM that failed and starts again by itself keeps its size; one that was given up does not', async () => {
  const vm = await makeVm('error')
  const set = (tries: number) =>
    change(
      berth.services.db,
      sql`update vms set boot_failures = ${tries}, started_at = now() where id = ${decodeId('vm', vm) ?? ''}`,
    )
  await set(0)
  expect((await resize(vm, { memory_mb: 4096 })).status).toBe(409)
  await set(3)
  expect((await resize(vm, { memory_mb: 4096 })).status).toBe(200)
})

test.each([
  [{ vcpu_count: 0 }, 'vcpu_count must be a whole number from 1 to 16'],
  [{ vcpu_count: 17 }, 'vcpu_count'],
  [{ memory_mb: 255 }, 'memory_mb must be a whole number from 256'],
  [{ memory_mb: 'much' }, 'memory_mb'],
  [{ disk_mb: 204_801 }, 'disk_mb'],
])('%j is refused with a sentence, and changes nothing', async (body, words) => {
  const vm = await makeVm()
  expect(await resize(vm, { name: 'other', ...body })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', message: expect.stringContaining(words) as string },
  })
  expect(await rowOf(vm)).toMatchObject({ vcpuCount: 2, memoryMb: 2048, diskMb: 10_240, name: 'made' })
})

test('a disk never shrinks', async () => {
  const vm = await makeVm()
  expect((await resize(vm, { disk_mb: 12_288 })).status).toBe(200)
  expect(await resize(vm, { disk_mb: 10_240 })).toMatchObject({
    status: 400,
    body: { message: 'disk_mb must be 12288 or more: a disk grows, and never shrinks.' },
  })
})

test('a larger size needs room of the organization and of the VM’s own node, as a new VM does', async () => {
  const vm = await makeVm()
  expect(await resize(vm, { memory_mb: 9000 })).toMatchObject({
    status: 429,
    body: { message: expect.stringContaining('BERTH_ORG_MEMORY_MB') as string },
  })
  expect(await resize(vm, { disk_mb: 100_000 })).toMatchObject({
    status: 429,
    body: { message: expect.stringContaining('BERTH_ORG_DISK_GB') as string },
  })
  const { db } = berth.services
  await change(db, sql`update nodes set disk_mb = 12000 where id = ${node}`)
  expect((await resize(vm, { disk_mb: 20_480 })).status).toBe(503)
  await change(db, sql`update nodes set disk_mb = 1000000 where id = ${node}`)
  expect((await resize(vm, { disk_mb: 40_960 })).status).toBe(200)
  expect((await resize(vm, { disk_mb: 49_152 })).status).toBe(200) // only what it has more is counted once more
})
