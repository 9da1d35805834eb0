/** The states of a restore, and the only place that moves one: row, event, notice and the database's status together. */
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { onNode } from '#src/platform/jobs.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { findNodeOf } from '#src/resources/infra/databases/jobs.ts'
import { findDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import { moveDatabase } from '#src/resources/infra/databases/states.ts'
import type { RawBuilder } from 'kysely'
import { runRestore, type Restore, type RestoreStatus, type RestoreStep } from './rows.ts'

/** Where each status may go. */
export const restoreStates: States<RestoreStatus> = states<RestoreStatus>('database_restores', 'restore', {
  pending: ['running', 'failed'],
  running: ['completed', 'failed'],
  completed: [],
  failed: [],
})

const batchMax = 100

/** Moves a restore to another status if that move is allowed; undefined if it is not. */
async function moveRestore(
  tx: Tx,
  id: string,
  to: RestoreStatus,
  set: RawBuilder<unknown>,
): Promise<Restore | undefined> {
  const restore = await transition<Restore, RestoreStatus>(
    tx,
    restoreStates,
    id,
    to,
    sql`event_position = event_position + 1, ${set}`,
  )
  if (restore) await addRestoreEvent(tx, restore)
  return restore
}

/**
 * Takes a restore for a worker, from an earlier one that died if need be.
 * @returns the restore as it is now; undefined when there is none.
 */
export async function claimRestore(db: Db, id: string, workerNumber: number): Promise<Restore | undefined> {
  return transaction(db, async (tx) => {
    const begun = await moveRestore(
      tx,
      id,
      'running',
      sql`worker_number = ${workerNumber}, started_at = now(), heartbeat_at = now()`,
    )
    if (begun) return begun
    return findOne<Restore>(
      tx,
      sql`update database_restores set worker_number = ${workerNumber}, heartbeat_at = now() where id = ${id} returning *`,
    )
  })
}

/**
 * Writes the progress of a restore, which is its heartbeat too.
 * @returns whether the worker still has it.
 */
export async function noteRestoreProgress(
  db: Db,
  { id, workerNumber }: Pick<Restore, 'id' | 'workerNumber'>,
  { step, loadedBytes }: { step: RestoreStep; loadedBytes: number },
): Promise<boolean> {
  return transaction(db, async (tx) => {
    const held = await findOne<Restore>(
      tx,
      sql`select * from database_restores where id = ${id} and status = 'running' and worker_number = ${workerNumber} for no key update`,
    )
    if (!held) return false
    if (held.step === step && held.loadedBytes === loadedBytes) {
      await change(tx, sql`update database_restores set heartbeat_at = now() where id = ${id}`)
      return true
    }
    const changed = await findOne<Restore>(
      tx,
      sql`
      update database_restores set step = ${step}, loaded_bytes = ${loadedBytes}, heartbeat_at = now(), event_position = event_position + 1
      where id = ${id} returning *`,
    )
    if (changed) await addRestoreEvent(tx, changed)
    return true
  })
}

/** Ends a restore whose data is in place, and opens the database. What was replaced is dropped a day later. */
export async function completeRestore(services: Background, restore: Restore): Promise<boolean> {
  const { id, databaseId } = restore
  return transaction(services.db, async (tx) => {
    if (!(await isClaimed(tx, restore))) return false
    const done = await moveRestore(
      tx,
      id,
      'completed',
      sql`step = 'finished', loaded_bytes = backup_bytes, finished_at = now(), tidy_after = now() + ${limits.replacedDataHours} * interval '1 hour'`,
    )
    if (!done) return false
    await moveDatabase(tx, services, databaseId, 'active', {}, ['restoring'])
    return true
  })
}

/**
 * Ends a restore that did not succeed. The database stays closed until its own data is served again, which the restore's
 * job does next.
 */
export async function failRestore({ db }: Pick<Background, 'db'>, restore: Restore, error: string): Promise<boolean> {
  const { id } = restore
  return transaction(db, async (tx) => {
    if (!(await isClaimed(tx, restore))) return false
    const failed = await moveRestore(tx, id, 'failed', sql`error = ${error}, finished_at = now(), tidy_after = now()`)
    return failed !== undefined
  })
}

/** Whether the worker that claimed a restore still has it; locks the row. */
async function isClaimed(tx: Tx, { id, workerNumber }: Restore): Promise<boolean> {
  const held = await findOne(
    tx,
    sql`select 1 from database_restores where id = ${id} and worker_number = ${workerNumber} for no key update`,
  )
  return held !== undefined
}

/** Records that the server has one copy of the data again; after a failed restore the database is opened. */
export async function noteTidied(services: Background, { id, databaseId, status, error }: Restore): Promise<void> {
  await transaction(services.db, async (tx) => {
    const tidied = await change(
      tx,
      sql`update database_restores set tidied_at = now() where id = ${id} and tidied_at is null`,
    )
    if (tidied === 0 || status !== 'failed') return
    await moveDatabase(tx, services, databaseId, 'error', { reason: `The restore failed: ${error}` }, ['restoring'])
    const reason = 'A restore failed; the data is as it was before.'
    await moveDatabase(tx, services, databaseId, 'active', { reason }, ['error'])
  })
}

/** Enqueues a new job for each restore that no worker is at, or that has something to tidy up. For housekeeping. */
export async function requeueRestores(services: Background): Promise<void> {
  await transaction(services.db, async (tx) => {
    const due = await findAll<Pick<Restore, 'id' | 'databaseId'>>(
      tx,
      sql`
      update database_restores set heartbeat_at = now() where id in (
        select r.id from database_restores r join databases d on d.id = r.database_id
        where coalesce(r.heartbeat_at, r.created_at) < now() - ${limits.backupSilenceSeconds} * interval '1 second'
          and (r.status in ('pending', 'running') or (r.tidied_at is null and r.tidy_after < now() and d.status in ('active', 'error', 'restoring')))
        order by r.id limit ${batchMax} for no key update of r skip locked)
      returning id, database_id`,
    )
    for (const { id, databaseId } of due) {
      const database = await findDatabaseRow(tx, databaseId)
      const nodeId = database && (await findNodeOf(tx, database))
      if (nodeId) await services.jobs.enqueue(tx, onNode(runRestore, nodeId), { restoreId: id })
    }
  })
}

/** Records the restore's state as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addRestoreEvent(tx: Tx, restore: Restore): Promise<void> {
  await change(
    tx,
    sql`
    insert into database_restore_events (restore_id, position, status, step, loaded_bytes, error)
    values (${restore.id}, ${restore.eventPosition}, ${restore.status}, ${restore.step}, ${restore.loadedBytes}, ${restore.error})`,
  )
  publish(tx, 'restore', restore.id)
}

/** What workers do for restores. */
export const restoreUpkeep: readonly Upkeep[] = [{ every: 20, doing: 'requeueing restores', work: requeueRestores }]
