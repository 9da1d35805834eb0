/** Usage: one session for each period during which a VM, or the VM of a build, was running, with its cost. */
import { allow, owned } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { countRows, pageSql, readOffset, readPageBy, type Page, type SkippingWindow } from '#src/platform/pages.ts'
import { change, findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Why a session ended. */
export type EndReason = 'request' | 'timeout' | 'guest_exit' | 'error' | 'orphaned' | 'admin' | 'billing'

/**
 * A session; money in US dollars with six decimals, minutes with two. An open session counts up to now. The machine of
 * a build counts as a VM of the build's own uuid, and `buildId` says so.
 */
export type UsageSession = Pick<
  Row<'usage_sessions', { vmId: string; endReason: EndReason | null }>,
  'id' | 'vmId' | 'startedAt' | 'endedAt' | 'endReason' | 'vcpuCount' | 'memoryMb' | 'costPerHour'
> & { buildId: string | null; durationMinutes: number; totalCostBilled: number }

/** Conditions of a list of usage sessions. */
export type UsageFilter = { since?: string | null; until?: string | null }

/** The organization's sessions, newest first: 200 at most at once. @throws BerthError invalid_request. */
export async function pageUsage(
  call: Call,
  window: SkippingWindow,
  filter?: UsageFilter | null,
): Promise<Page<UsageSession>> {
  const scope = allow(call.caller, 'usage:read')
  const passed = readOffset(window.offset)
  const { since = null, until = null } = filter ?? {}
  const chosen = sql`${owned(scope)} and (${since}::timestamptz is null or started_at >= ${since}) and (${until}::timestamptz is null or started_at < ${until})`
  return readPageBy(
    {
      keyOf: (cursor) => (/^\d{1,15}$/.test(cursor) ? cursor : undefined),
      cursorOf: ({ id }: UsageSession) => String(id),
    },
    window,
    (reading) => {
      const { within, cut } = pageSql(sql`id`, reading)
      return findAll<UsageSession>(
        call.db,
        sql`
    select id, coalesce(vm_id, build_job_id) as vm_id, build_job_id as build_id, started_at, ended_at, end_reason, vcpu_count, memory_mb, cost_per_hour,
      round((seconds / 60)::numeric, 2) as duration_minutes, round((seconds / 3600)::numeric * cost_per_hour, 6) as total_cost_billed
    from (select *, extract(epoch from coalesce(ended_at, now()) - started_at) as seconds from usage_sessions where ${chosen} and ${within}) as counted
    ${cut} offset ${passed}`,
      )
    },
    (reading) => countRows(call.db, sql`usage_sessions where ${chosen} and ${pageSql(sql`id`, reading).within}`),
    limits.usagePageMax,
  )
}

/** What a machine of this size costs; US dollars an hour. */
export function costPerHour(
  { costPerVcpuHour, costPerGbHour }: Background['config'],
  { vcpuCount, memoryMb }: { vcpuCount: number; memoryMb: number },
): number {
  return vcpuCount * costPerVcpuHour + (memoryMb / 1024) * costPerGbHour
}

/** Opens a session for a running VM, unless one is open. */
export async function openUsage(
  tx: Tx,
  { config }: Pick<Background, 'config'>,
  vm: { id: string; organizationId: string; vcpuCount: number; memoryMb: number },
): Promise<void> {
  await change(
    tx,
    sql`
    insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour)
    values (${vm.organizationId}, ${vm.id}, ${vm.vcpuCount}, ${vm.memoryMb}, ${costPerHour(config, vm)}) on conflict do nothing`,
  )
}

/** Closes the VM's open session, if there is one. */
export async function closeUsage(tx: Tx, vmId: string, reason: EndReason): Promise<void> {
  await change(
    tx,
    sql`update usage_sessions set ended_at = now(), end_reason = ${reason} where vm_id = ${vmId} and ended_at is null`,
  )
}

/**
 * Opens a build's session, unless it has one or has ended: if the build was given up meanwhile, its usage was closed
 * too.
 */
export async function openBuildUsage(
  db: Db,
  { config }: Pick<Background, 'config'>,
  build: { id: string; vcpuCount: number; memoryMb: number },
): Promise<void> {
  await change(
    db,
    sql`
    insert into usage_sessions (organization_id, build_job_id, vcpu_count, memory_mb, cost_per_hour)
    select organization_id, id, vcpu_count, memory_mb, ${costPerHour(config, build)} from build_jobs where id = ${build.id} and status = 'running' for share
    on conflict do nothing`,
  )
}

/** Closes a build's open session, if there is one, in the transaction that ends the build. */
export async function closeBuildUsage(tx: Tx, buildId: string, reason: EndReason): Promise<void> {
  await change(
    tx,
    sql`update usage_sessions set ended_at = now(), end_reason = ${reason} where build_job_id = ${buildId} and ended_at is null`,
  )
}
