/** The states of a build, and the only place that moves one: row, event, end of the log and notice change together. */
import { limits } from '#src/platform/limits.ts'
import { buildsFinished } from '#src/platform/metrics.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import type { RawBuilder } from 'kysely'
import { dispatchJob } from './jobs.ts'
import { endOfLog } from './logs.ts'
import type { Build, BuildStatus, Ending } from './rows.ts'
import { endBuildRun, type BuildClaim } from './runs.ts'
import { emitStatus, type NotifiedStatuses } from '#src/resources/infra/webhooks/emit.ts'
import { closeBuildUsage, type EndReason } from '#src/resources/infra/usage.ts'

/** Where each status may go. */
export const buildStates: States<BuildStatus> = states<BuildStatus>('build_jobs', 'build', {
  queued: ['running', 'cancelled', 'failed'],
  running: ['succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
})

/** Whether a build has ended. */
export function isFinished({ status }: Pick<Build, 'status'>): boolean {
  return buildStates.moves[status].length === 0
}

/**
 * Ends a build: its log gets its last entry, its last lines are stored, and waiting builds are dispatched. Every line
 * must have been appended before.
 * @param claim the claim of the worker that has the build; without it the build is ended whoever has it.
 * @returns the ended build, or undefined when it had already ended, or another worker has it.
 */
export async function finishBuild(
  { db, jobs }: Pick<Background, 'db' | 'jobs'>,
  id: string,
  ending: Ending,
  from?: readonly BuildStatus[],
  claim?: BuildClaim,
): Promise<Build | undefined> {
  const ended = await transaction(db, async (tx) => {
    const before = await findOne<Build>(tx, sql`select * from build_jobs where id = ${id} for no key update`)
    if (!before || isFinished(before)) return undefined
    if (!(await endBuildRun(tx, id, claim))) return undefined // from here on no line is appended
    const { tail, ms, seq } = await endOfLog(tx, before)
    const { status, error = null, exitCode = null, failingStep = null, output = null } = ending
    const finished = await moveBuild(
      tx,
      id,
      status,
      sql`
      finished_at = now(), error = ${error}, exit_code = ${exitCode}, failing_step = ${failingStep}, output = ${output && JSON.stringify(output)}::jsonb,
      sealed_spec = null, tail = ${tail}::text[], log_end_ms = ${ms}, log_end_seq = ${seq}`,
      from,
    )
    if (!finished) return undefined
    await dropOldTails(tx, finished)
    await closeBuildUsage(tx, id, usageEnd(ending))
    publish(tx, 'build_log', id)
    await jobs.enqueue(tx, dispatchJob, {})
    return finished
  })
  if (ended) buildsFinished.inc({ status: ended.status })
  return ended
}

/** Of an organization's newest builds the last lines are kept. Each that ends drops those of some that have become too old. */
async function dropOldTails(tx: Tx, { organizationId }: Build): Promise<void> {
  await change(
    tx,
    sql`
    update build_jobs set tail = '{}' where tail <> '{}' and id in (
      select id
      from build_jobs
      where organization_id = ${organizationId} and finished_at is not null
      order by id desc offset ${limits.buildTailsKept} limit 10)`,
  )
}

/** The reason with which a build's usage ends. */
function usageEnd({ status, error, exitCode = null }: Ending): EndReason {
  if (status === 'cancelled') return 'request'
  if (error === 'timed_out') return 'timeout'
  if (error === 'builder_lost') return 'orphaned'
  return exitCode === null ? 'error' : 'guest_exit'
}

const notified: NotifiedStatuses<BuildStatus> = {
  succeeded: 'build.succeeded',
  failed: 'build.failed',
  cancelled: 'build.cancelled',
}

/** Moves a build to another status if that move is allowed; undefined if it is not. */
export async function moveBuild(
  tx: Tx,
  id: string,
  to: BuildStatus,
  set: RawBuilder<unknown>,
  from?: readonly BuildStatus[],
): Promise<Build | undefined> {
  const build = await transition<Build, BuildStatus>(
    tx,
    buildStates,
    id,
    to,
    sql`event_position = event_position + 1, ${set}`,
    from,
  )
  if (!build) return undefined
  await addBuildEvent(tx, build)
  await emitStatus(tx, notified, 'build', build)
  return build
}

/** Records the build's state as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addBuildEvent(tx: Tx, build: Build): Promise<void> {
  await change(
    tx,
    sql`
    insert into build_events (job_id, position, status, cancel_requested, error)
    values (${build.id}, ${build.eventPosition}, ${build.status}, ${build.cancelRequested}, ${build.error})`,
  )
  publish(tx, 'build', build.id)
}

/** Stores the commit that is being built, once it is checked out. Idempotent. */
export async function setBuildCommit(db: Db, { buildId, workerNumber }: BuildClaim, commitSha: string): Promise<void> {
  await transaction(db, async (tx) => {
    const build = await findOne<Build>(
      tx,
      sql`
      update build_jobs set commit_sha = ${commitSha}, event_position = event_position + 1
      where id = ${buildId} and status = 'running' and commit_sha is distinct from ${commitSha}
        and exists (select from build_runs where job_id = ${buildId} and worker_number = ${workerNumber}) returning *`,
    )
    if (build) await addBuildEvent(tx, build)
  })
}
