/** Unlinking a repository: nothing is built or deployed from then on, and its webhook is removed by a job. */
import { job, type Jobs } from '#src/platform/jobs.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import type { LinkedRepository } from './rows.ts'

/** Removes the webhook of an unlinked repository. Any worker may do it. */
export const removeHookJob = job<{ repositoryId: string }>('functions-remove-hook', {
  retryLimit: pushLimits.hookTries,
  expireInSeconds: pushLimits.hookRemovalSeconds,
})

/** Unlinks a locked function's repository, if it has one. @returns what was linked. */
export async function removeRepository(
  { jobs }: { jobs: Jobs },
  tx: Tx,
  functionId: string,
): Promise<LinkedRepository | undefined> {
  const removed = await findOne<LinkedRepository>(
    tx,
    sql`update function_repositories set removed_at = now() where function_id = ${functionId} and removed_at is null returning *`,
  )
  if (!removed) return undefined
  await cancelWaiting({ jobs }, tx, removed.id, 'The repository was unlinked before its build began.')
  await jobs.enqueue(tx, removeHookJob, { repositoryId: removed.id })
  return removed
}

/**
 * Cancels the builds of a link's pushes that still wait. One that a worker is just taking is left: it is not deployed if it
 * must not be.
 */
export async function cancelWaiting(
  { jobs }: { jobs: Jobs },
  tx: Tx,
  repositoryId: string,
  reason: string,
): Promise<void> {
  const waiting = await findAll<{ id: string }>(
    tx,
    sql`
    select b.id from function_pushes p join build_jobs b on b.id = p.build_id
    where p.repository_id = ${repositoryId} and b.status = 'queued' order by b.id for no key update of b skip locked`,
  )
  for (const { id } of waiting) {
    await finishBuild({ db: tx, jobs }, id, { status: 'cancelled', error: reason }, ['queued'])
    await change(tx, sql`update function_pushes set reason = ${reason} where build_id = ${id}`)
  }
}

/** Records the webhook that the code host made. If the repository was unlinked meanwhile, it is removed again. */
export async function keepHook(
  { jobs }: { jobs: Jobs },
  tx: Tx,
  { id }: Pick<LinkedRepository, 'id'>,
  hookId: number,
): Promise<void> {
  const kept = await findOne<Pick<LinkedRepository, 'removedAt'>>(
    tx,
    sql`update function_repositories set hook_id = ${hookId} where id = ${id} returning removed_at`,
  )
  if (kept?.removedAt) await jobs.enqueue(tx, removeHookJob, { repositoryId: id })
}

/** Forgets the webhook of an unlinked repository: it is removed. */
export async function forgetHook(db: Db, id: string): Promise<void> {
  await change(db, sql`update function_repositories set hook_id = null where id = ${id}`)
}

/** Forgets pushes and unlinked repositories after some days; the last push to each linked repository stays. For housekeeping. */
export async function forgetPushes(db: Db): Promise<void> {
  const { keptDays, keptPerRepository, sweptAtOnce } = pushLimits
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`
    delete from function_pushes where ctid in (
      select p.ctid from function_pushes p join function_repositories r on r.id = p.repository_id
      where p.position < r.pushes_received
        and (p.received_at < now() - ${keptDays} * interval '1 day' or p.position <= r.pushes_received - ${keptPerRepository})
        and not exists (select from build_jobs b where b.id = p.build_id and b.status in ('queued', 'running'))
      limit ${sweptAtOnce})`,
  )
  await change(db, sql`delete from function_repositories where removed_at < now() - ${keptDays} * interval '1 day'`)
}

/** How long pushes stay. */
export const pushRetention: readonly Retention[] = [
  {
    what: 'Pushes to repositories of functions',
    until: `after ${pushLimits.keptDays} days, or when the repository has ${pushLimits.keptPerRepository} newer ones; the last one stays`,
    forget: ({ db }) => forgetPushes(db),
  },
]
