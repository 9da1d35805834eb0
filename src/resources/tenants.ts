/** Which organizations use how much of an installation now, for its operator: metrics name none. */
import type { RawBuilder } from 'kysely'
import type { Config } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'

/** By what organizations are put in order. */
export const tenantOrders = ['requests', 'vms', 'memory', 'builds', 'sessions', 'stored'] as const
export type TenantOrder = (typeof tenantOrders)[number]

/** What an organization uses. */
export type TenantUse = {
  name: string
  /** About how many requests of the last minute count against its rate limits. */
  requests: number
  /** VMs that are not deleted, and the memory of those that are on, in megabytes. */
  vms: number
  memoryMb: number
  /** Builds and sessions that run. */
  builds: number
  sessions: number
  /** What it stores in the rooms of Berth's own database, in megabytes. */
  storedMb: number
}

const orders = {
  requests: sql`requests`,
  vms: sql`vms`,
  memory: sql`memory_mb`,
  builds: sql`builds`,
  sessions: sql`sessions`,
  stored: sql`stored_mb`,
} as const

/** The most of them that are told. */
export const tenantsShown = 20

/** Those that use most, the first of them first. */
export async function listTenants(
  { db, config }: { db: Db; config: Pick<Config, 'rateLimitFactor'> },
  by: TenantOrder,
): Promise<TenantUse[]> {
  const creates = limits.createsPerMinute * config.rateLimitFactor
  const others = limits.otherPerMinute * config.rateLimitFactor
  const spent = (perMinute: number): RawBuilder<number> =>
    sql`${perMinute}::float8 - least(${perMinute}::float8, tokens + greatest(0, extract(epoch from now() - refilled_at)) * ${perMinute / 60}::float8)`
  return findAll<TenantUse>(
    db,
    sql`
    select o.name, coalesce(asked.requests, 0)::int as requests, coalesce(machines.vms, 0)::int as vms,
      coalesce(machines.memory_mb, 0)::int as memory_mb, coalesce(building.builds, 0)::int as builds,
      coalesce(working.sessions, 0)::int as sessions, (coalesce(room.bytes, 0) / 1048576)::int as stored_mb
    from organizations o
    left join (
      select split_part(bucket, ':', 2) as whose,
        sum(case when bucket like 'create:%' then ${spent(creates)} else ${spent(others)} end) as requests
      from rate_buckets where bucket like 'create:%' or bucket like 'other:%' group by 1) asked on asked.whose = o.id::text
    left join (
      select organization_id, count(*) as vms,
        sum(memory_mb) filter (where status not in ('stopped', 'paused', 'error')) as memory_mb
      from vms where status <> 'deleted' group by 1) machines on machines.organization_id = o.id
    left join (select organization_id, count(*) as builds from build_jobs where status = 'running' group by 1) building
      on building.organization_id = o.id
    left join (select organization_id, count(*) as sessions from sessions where status = 'running' group by 1) working
      on working.organization_id = o.id
    left join (
      select organization_id, sum(bytes) as bytes
      from (select organization_id, bytes from stored_bytes union all select organization_id, bytes from stored_changes) counts
      group by 1) room on room.organization_id = o.id
    order by ${orders[by]} desc, o.name limit ${tenantsShown}`,
  )
}
