/** What VMs and builds used, summed over days: by day, by VM, and both. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { sumLimits } from '#src/platform/shapes/sums.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../support/makers.ts'

let berth: Berth
let owner: string
let large: string
let small: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  owner = await berth.token('alice', 'acme', 'owner')
  const node = await makeSilentNode(berth.services.db)
  large = await makeVmRow(berth.services.db, owner, node)
  small = await makeVmRow(berth.services.db, owner, node)
  await ran(large, 4, 2048, 1, '2026-03-01T22:00:00Z', '2026-03-02T02:00:00Z') // two hours of each day
  await ran(large, 4, 2048, 1, '2026-03-02T10:00:00Z', '2026-03-02T10:30:00Z')
  await ran(small, 1, 512, 0.5, '2026-03-02T12:00:00Z', '2026-03-02T13:00:00Z')
  await ran(small, 1, 512, 0.5, '2026-02-28T23:00:00Z', '2026-03-01T00:00:00Z') // before all that is asked for
})
afterAll(() => berth.stop())

const ran = (
  vm: string,
  vcpus: number,
  memoryMb: number,
  perHour: number,
  from: string,
  to: string,
): Promise<unknown> =>
  sql`
  insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour, started_at, ended_at, end_reason)
  values (${idsOf(owner).organizationId}, ${decodeId('vm', vm)}, ${vcpus}, ${memoryMb}, ${perHour}, ${from}, ${to}, 'request')`.execute(
    berth.services.db,
  )

const totals = 'totals { sessions hours vcpuHours memoryGbHours costUsd }'
async function usage(given: string, token = owner): Promise<Record<string, unknown>> {
  const { body } = await berth.ask(
    `{ vmUsage(from: "2026-03-01", to: "2026-03-02"${given}) { from to ${totals} hasMoreGroups groups { day vmId vm { id } buildId ${totals} } } }`,
    { token },
  )
  if (body.errors) throw new Error(`${body.errors[0]?.extensions.code}: ${body.errors[0]?.message}`)
  return body.data?.['vmUsage'] as Record<string, unknown>
}
const group = (day: string | null, vmId: string | null, hours: number, costUsd: string): object => ({
  day,
  vmId,
  vm: vmId === null ? null : { id: vmId },
  totals: expect.objectContaining({ hours, costUsd }),
})

test('sums hours, processors, memory and money, and counts what ran over midnight on both days', async () => {
  expect(await usage('')).toEqual({
    from: '2026-03-01',
    to: '2026-03-02',
    totals: { sessions: 3, hours: 5.5, vcpuHours: 19, memoryGbHours: 9.5, costUsd: '5.000000' },
    hasMoreGroups: false,
    groups: [],
  })
  expect(await usage(', dimensions: [DAY]')).toMatchObject({
    groups: [group('2026-03-01', null, 2, '2.000000'), group('2026-03-02', null, 3.5, '3.000000')],
  })
  expect(await usage(', dimensions: [VM]')).toMatchObject({
    groups: [group(null, large, 4.5, '4.500000'), group(null, small, 1, '0.500000')],
  })
  expect(await usage(', dimensions: [VM, DAY]')).toMatchObject({
    groups: [
      group('2026-03-01', large, 2, '2.000000'),
      group('2026-03-02', large, 2.5, '2.500000'),
      group('2026-03-02', small, 1, '0.500000'),
    ],
  })
  expect(await usage(`, filter: { vmId: "${small}" }`)).toMatchObject({ totals: { sessions: 1, hours: 1 } })
})

test('a build counts as the VM that it has', async () => {
  const token = await berth.token('bea', 'builders', 'owner')
  await sql`
    with made as (
      insert into build_jobs (id, organization_id, status, template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, finished_at, log_end_ms, log_end_seq)
      values (gen_random_uuid(), ${idsOf(token).organizationId}, 'cancelled', '00000000-0000-7000-8000-000000000001', 1, 512, 60, 'template', 'b', now(), 0, 0)
      returning id, organization_id)
    insert into usage_sessions (organization_id, build_job_id, vcpu_count, memory_mb, cost_per_hour, started_at, ended_at, end_reason)
    select organization_id, id, 1, 512, 1, '2026-03-02T12:00:00Z', '2026-03-02T12:30:00Z', 'request' from made`.execute(
    berth.services.db,
  )
  expect(await usage(', dimensions: [VM]', token)).toMatchObject({
    groups: [{ vmId: null, vm: null, buildId: expect.stringMatching(/^bld_/), totals: { hours: 0.5 } }],
  })
})

test('more groups than are shown are said to be there', async () => {
  const token = await berth.token('yara', 'years', 'owner')
  const node = await makeSilentNode(berth.services.db)
  const machines = Math.ceil(sumLimits.groupsMax / sumLimits.daysMax) + 1 // each with a group for every day
  const ids = await Promise.all(Array.from({ length: machines }, () => makeVmRow(berth.services.db, token, node)))
  await sql`
    insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour, started_at, ended_at, end_reason)
    select ${idsOf(token).organizationId}, id, 1, 512, 1, '2023-12-01T00:00:00Z', '2025-02-01T00:00:00Z', 'request'
    from unnest(${ids.map((id) => decodeId('vm', id))}::uuid[]) id`.execute(berth.services.db)
  const { body } = await berth.ask(
    '{ vmUsage(from: "2024-01-01", to: "2024-12-31", dimensions: [DAY, VM]) { hasMoreGroups groups { day } } }',
    { token },
  )
  const found = body.data?.['vmUsage'] as { hasMoreGroups: boolean; groups: { day: string }[] } | undefined
  const seen = [found?.groups.length, found?.hasMoreGroups, found?.groups[0]?.day]
  expect(seen).toEqual([sumLimits.groupsMax, true, '2024-01-01'])
})

test('what still runs counts up to now', async () => {
  const vm = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db))
  await sql`
    insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour, started_at)
    values (${idsOf(owner).organizationId}, ${decodeId('vm', vm)}, 1, 1024, 1, now() - interval '90 minutes')`.execute(
    berth.services.db,
  )
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  const { body } = await berth.ask(`{ vmUsage(from: "${since}", filter: { vmId: "${vm}" }) { ${totals} } }`, {
    token: owner,
  })
  const used = body.data?.['vmUsage'] as { totals: { hours: number } } | undefined
  expect(used?.totals.hours).toBeGreaterThanOrEqual(1.5)
  expect(used?.totals.hours).toBeLessThan(1.6)
})

test('is the organization’s, read by its people only, of a range that is one', async () => {
  const stranger = await berth.token('sid', 'strangers', 'owner')
  expect(await usage('', stranger)).toMatchObject({ totals: { sessions: 0, hours: 0, costUsd: '0.000000' } })
  expect(await usage(`, filter: { vmId: "${small}" }`, stranger)).toMatchObject({ totals: { sessions: 0 } })
  const organization = encodeId('organization', idsOf(owner).organizationId)
  await expect(usage(`, organizationId: "${organization}"`, stranger)).rejects.toThrow(/^FORBIDDEN/)
  await expect(usage('', (await makeKey(berth, owner)).key)).rejects.toThrow(/^UNAUTHORIZED/)
  await expect(usage(', dimensions: [DAY, DAY]')).rejects.toThrow(/^INVALID_REQUEST: dimensions may be 2 different/)
  const wrong = await berth.ask('{ vmUsage(from: "2026-03-02", to: "2026-03-01") { from } }', { token: owner })
  expect(wrong.body.errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
})
