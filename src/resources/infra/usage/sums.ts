/** How long an organization's VMs and builds ran, and what that cost: summed over days, by day, by VM or build. */
import type { RawBuilder } from 'kysely'
import { owned } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { readDays, readDimensions, shownGroups, sumLimits, type Days } from '#src/platform/shapes/sums.ts'

/** Hours of running, of processors and of memory, with six decimals; US dollars as text with six. */
export type VmTotals = {
  sessions: number
  hours: number
  vcpuHours: number
  memoryGbHours: number
  costUsd: string
}

/** What sums are grouped by. `vm`: VMs, and builds, which have one each. */
export type VmUsageDimension = 'day' | 'vm'

/** Sums of one day, one VM or build, or of one on one day; the others are null. */
export type VmUsageGroup = VmTotals & { day: string | null; vmId: string | null; buildId: string | null }

/** Sums over a range of days, in total and in groups. */
export type VmUsage = Days & { totals: VmTotals; groups: VmUsageGroup[]; hasMoreGroups: boolean }

/** What is summed: days such as `2026-11-21`; `vmId`: only that VM. */
export type VmUsageQuestion = {
  from?: string | null
  to?: string | null
  dimensions?: readonly VmUsageDimension[] | null
  filter?: { vmId?: string | null } | null
}

const dimensionColumns = { day: sql`day::text as day`, vm: sql`vm_id, build_job_id as build_id` }
const noDimension = { day: sql`null as day`, vm: sql`null::uuid as vm_id, null::uuid as build_id` }
const sums = sql`
  count(distinct id)::int as sessions, round(coalesce(sum(hours), 0), 6)::float8 as hours,
  round(coalesce(sum(hours * vcpu_count), 0), 6)::float8 as vcpu_hours,
  round(coalesce(sum(hours * memory_mb / 1024), 0), 6)::float8 as memory_gb_hours,
  round(coalesce(sum(hours * cost_per_hour), 0), 6)::text as cost_usd`

/**
 * Sums of what ran on these days, UTC; by default this month, 366 days at most. What runs counts up to now; what ran over
 * midnight counts on each day for its part. Groups are in the order of days where they have any, then by cost, highest first;
 * 5,000 at most.
 * @throws BerthError forbidden, invalid_request.
 */
export async function sumVmUsage(
  call: Call,
  organizationId: string | null | undefined,
  question: VmUsageQuestion,
): Promise<VmUsage> {
  const scope = allowInGiven(call.caller, 'usage:read', organizationId)
  const { from, to } = readDays(question)
  const dimensions = readDimensions(question.dimensions)
  const vmId = question.filter?.vmId
  const isVm = typeof vmId === 'string' ? sql`vm_id = ${decodeId('vm', vmId) ?? null}::uuid` : sql`true`
  const these = sql`
    from (
      select s.id, s.vm_id, s.build_job_id, s.vcpu_count, s.memory_mb, s.cost_per_hour, day::date as day,
        extract(epoch from least(coalesce(s.ended_at, now()), ends) - greatest(s.started_at, begins)) / 3600 as hours
      from usage_sessions s,
        lateral generate_series(
          greatest(${from}::timestamp, date_trunc('day', s.started_at at time zone 'UTC')),
          least(${to}::timestamp, coalesce(s.ended_at, now()) at time zone 'UTC'), interval '1 day') day,
        lateral (select day at time zone 'UTC' as begins, (day + interval '1 day') at time zone 'UTC' as ends) bounds
      where ${owned(scope)} and ${isVm} and s.started_at < (${to}::timestamp + interval '1 day') at time zone 'UTC'
        and coalesce(s.ended_at, now()) > ${from}::timestamp at time zone 'UTC'
        and s.started_at < ends and coalesce(s.ended_at, now()) > begins
    ) part`
  const by = (one: VmUsageDimension): RawBuilder<unknown> =>
    (dimensions.includes(one) ? dimensionColumns : noDimension)[one]
  const totals = await getOne<VmTotals>(call.db, sql`select ${sums} ${these}`)
  const groups =
    dimensions.length === 0
      ? []
      : await findAll<VmUsageGroup>(
          call.db,
          sql`
      select ${by('day')}, ${by('vm')}, ${sums} ${these}
      group by 1, 2, 3
      order by 1, sum(hours * cost_per_hour) desc, 2, 3
      limit ${sumLimits.groupsMax + 1}`,
        )
  return { from, to, totals, ...shownGroups(groups) }
}
