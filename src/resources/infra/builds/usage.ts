/** What a build's machine costs: a usage session from when the build has it until the build is over. */
import { change, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Build } from './rows.ts'
import { costPerHour, type EndReason } from '#src/resources/infra/usage.ts'

/** Opens a build's session, unless it has one or is over: whoever called it lost meanwhile has closed its usage too. */
export async function openBuildUsage(db: Db, { config }: Pick<Background, 'config'>, build: Build): Promise<void> {
  await change(
    db,
    sql`
    insert into usage_sessions (organization_id, build_job_id, vcpu_count, memory_mb, cost_per_hour)
    select organization_id, id, vcpu_count, memory_mb, ${costPerHour(config, build)} from build_jobs where id = ${build.id} and status = 'running' for share
    on conflict do nothing`,
  )
}

/** Closes a build's open session, if there is one: in the transaction that ends the build, whoever ends it. */
export async function closeBuildUsage(tx: Tx, buildId: string, reason: EndReason): Promise<void> {
  await change(
    tx,
    sql`update usage_sessions set ended_at = now(), end_reason = ${reason} where build_job_id = ${buildId} and ended_at is null`,
  )
}
