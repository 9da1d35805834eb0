/** Waking VMs for requests: which wake, how often, and what those hear who wait. Their worker is played by the test. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVmWaking } from '#src/edge/http/waking.ts'
import type { WakeVm } from '#src/edge/http/vms.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import { findVmRow, type VmStatus } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
let wake: (vmId: string) => ReturnType<WakeVm>
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  const waking = createVmWaking(berth.services)
  wake = (vmId) => waking(vmId, true)
})
afterAll(() => berth.stop())

const makeVm = async (status: VmStatus, as = token): Promise<string> =>
  decodeId('vm', await makeVmRow(berth.services.db, as, node, { status })) ?? ''
const statusOf = async (id: string) => (await findVmRow(berth.services.db, id))?.status
const run = (id: string) => moveVm(berth.services.db, berth.services, id, 'running')

test('a paused VM resumes, once for all who wait for it', async () => {
  const id = await makeVm('paused')
  const waiting = Promise.all(Array.from({ length: 20 }, () => wake(id)))
  await until('the VM resumes', async () => (await statusOf(id)) === 'resuming')
  await run(id)
  await waiting
  const events = await findAll<{ status: string; statusReason: string | null }>(
    berth.services.db,
    sql`select status, status_reason from vm_events where vm_id = ${id} order by position`,
  )
  expect(events).toEqual([
    { status: 'paused', statusReason: null },
    { status: 'resuming', statusReason: 'A request came in.' },
    { status: 'running', statusReason: null },
  ])
})

test('a VM that is being paused is waited for and resumed', async () => {
  const id = await makeVm('pausing')
  const waiting = wake(id)
  await moveVm(berth.services.db, berth.services, id, 'paused')
  await until('the VM resumes', async () => (await statusOf(id)) === 'resuming')
  await run(id)
  await waiting
})

test.each([
  ['stopped', 'sleeping'],
  ['error', 'failing'],
  ['deleting', 'gone'],
] as const)('a VM that is %s stays so, and is said to be %s', async (status, kind) => {
  const id = await makeVm(status)
  await expect(wake(id)).rejects.toMatchObject({ kind })
  expect(await statusOf(id)).toBe(status)
})

test('those who wait hear it when it fails', async () => {
  const id = await makeVm('paused')
  const waiting = wake(id)
  await until('the VM resumes', async () => (await statusOf(id)) === 'resuming')
  await Promise.all([
    expect(waiting).rejects.toMatchObject({ kind: 'failing' }),
    moveVm(berth.services.db, berth.services, id, 'error', { reason: 'It broke.' }),
  ])
})

test('only so many wait for one VM', async () => {
  const id = await makeVm('starting')
  const waiting = Promise.allSettled(Array.from({ length: proxyLimits.wakeWaitersMax + 5 }, () => wake(id)))
  await until('somebody listens', async () => (await statusOf(id)) === 'starting')
  await run(id)
  const refused = (await waiting).filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(5)
  expect(refused[0]).toMatchObject({ reason: { kind: 'busy', retryAfterSeconds: 5 } })
})

test('an organization’s VMs are woken only so often, and strangers do not learn why', async () => {
  const eve = await berth.token('eve', 'evil')
  const bucket = `wake:${encodeId('organization', idsOf(eve).organizationId)}`
  const id = await makeVm('paused', eve)
  await change(
    berth.services.db,
    sql`insert into rate_buckets (bucket, tokens, granted, refilled_at) values (${bucket}, -5, 0, now())`,
  )
  const refused: unknown = await wake(id).catch((error: unknown) => error)
  expect(refused).toMatchObject({ kind: 'busy', retryAfterSeconds: expect.any(Number) as number })
  expect(String(refused)).not.toMatch(/organization|limit|minute/i)
  expect(await statusOf(id)).toBe('paused')
})

test('a node without room leaves it paused', async () => {
  const id = await makeVm('paused')
  await change(berth.services.db, sql`update nodes set memory_mb = 100 where id = ${node}`)
  await expect(wake(id)).rejects.toMatchObject({ kind: 'busy' })
  expect(await statusOf(id)).toBe('paused')
  await change(berth.services.db, sql`update nodes set memory_mb = 100000 where id = ${node}`)
})
