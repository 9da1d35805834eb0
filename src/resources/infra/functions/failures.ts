/** Failures of functions: each is said in the status, and the next start waits the longer the more there were in a row. */
import { functionLimits } from '#src/platform/limits/functions.ts'
import { onNode, type Jobs } from '#src/platform/jobs.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { reconcileFunction } from './jobs.ts'
import type { StoredFunction } from './rows.ts'
import { moveFunction } from './states.ts'

/** The seconds until a function may start again that has failed so often in a row. */
export function retrySeconds(failures: number): number {
  const { retrySecondsFirst, retrySecondsMax } = functionLimits
  return Math.min(retrySecondsMax, retrySecondsFirst * 2 ** Math.min(failures - 1, 16))
}

/**
 * Records that the instance of a locked function has failed. As long as the function is in use it is started again by
 * itself; otherwise the next request does that.
 * @param isSteady whether it had run for long enough to begin anew.
 * @param nodeId where it is started again; null: at the next request only.
 */
export async function failFunction(
  { jobs }: { jobs: Pick<Jobs, 'enqueue'> },
  tx: Tx,
  one: StoredFunction,
  { reason, isSteady, nodeId }: { reason: string; isSteady: boolean; nodeId: string | null },
): Promise<StoredFunction | undefined> {
  const failures = isSteady ? 1 : one.failures + 1
  const seconds = retrySeconds(failures)
  const moved = await moveFunction(tx, one.id, 'error', {
    reason,
    set: sql`failures = ${failures}, retry_at = now() + ${seconds} * interval '1 second'`,
  })
  if (moved && nodeId !== null)
    await jobs.enqueue(tx, onNode(reconcileFunction, nodeId), { functionId: one.id }, { startAfterSeconds: seconds })
  return moved
}

/** How things stand with a failed function: how long it must still wait, and whether it is in use. */
export async function findRetry(
  tx: Tx,
  functionId: string,
): Promise<{ waitSeconds: number; isInUse: boolean; hasRetry: boolean }> {
  const found = await findOne<
    Pick<Row<'functions'>, 'id'> & { waitSeconds: number; isInUse: boolean; hasRetry: boolean }
  >(
    tx,
    sql`
    select id, greatest(0, coalesce(extract(epoch from retry_at - now()), 0))::float8 as wait_seconds, retry_at is not null as has_retry,
      active_at > now() - idle_seconds * interval '1 second' as is_in_use
    from functions where id = ${functionId}`,
  )
  return found ?? { waitSeconds: 0, isInUse: false, hasRetry: false }
}
