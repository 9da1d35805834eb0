/** The states of a backup, and the only place that moves one: row, event and notice change together. */
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { findNodeOf } from '#src/resources/infra/databases/jobs.ts'
import { findDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import { emitStatus } from '#src/resources/infra/webhooks/emit.ts'
import type { RawBuilder } from 'kysely'
import { runBackup, type Backup, type BackupStatus } from './rows.ts'

/** Where each status may go. A deleted backup has no row. */
const backupStates: States<BackupStatus> = states<BackupStatus>('database_backups', 'backup', {
  pending: ['running', 'failed'],
  running: ['completed', 'failed'],
  completed: ['deleting'],
  failed: ['deleting'],
  deleting: [],
})

const batchMax = 100

/** The stored dump of a database. */
export type StoredDump = { sizeBytes: number; sha256: string; pgVersion: string }

/** Moves a backup to another status if that move is allowed; undefined if it is not. */
export async function moveBackup(
  db: Db,
  id: string,
  to: BackupStatus,
  set: RawBuilder<unknown> = sql`error = error`,
  from?: readonly BackupStatus[],
): Promise<Backup | undefined> {
  return transaction(db, async (tx) => {
    const backup = await transition<Backup, BackupStatus>(
      tx,
      backupStates,
      id,
      to,
      sql`event_position = event_position + 1, ${set}`,
      from,
    )
    if (!backup) return undefined
    await addBackupEvent(tx, backup)
    await emitStatus(tx, { completed: 'backup.completed', failed: 'backup.failed' }, 'backup', backup)
    return backup
  })
}

/** Takes a pending backup for a worker; undefined when it is not pending any more. */
export async function claimBackup(db: Db, id: string, workerNumber: number): Promise<Backup | undefined> {
  return moveBackup(db, id, 'running', sql`worker_number = ${workerNumber}, started_at = now(), heartbeat_at = now()`, [
    'pending',
  ])
}

/** Ends a backup without a file, for this reason. @returns undefined when it has ended already. */
export async function failBackup(db: Db, id: string, error: string): Promise<Backup | undefined> {
  return moveBackup(db, id, 'failed', sql`error = ${error}`)
}

/**
 * Records that a backup is stored, and read back.
 * @returns undefined when it is to be deleted, or another worker has ended it: then the file must go.
 */
export async function completeBackup(
  db: Db,
  { id, workerNumber }: Pick<Backup, 'id' | 'workerNumber'>,
  { sizeBytes, sha256, pgVersion }: StoredDump,
): Promise<Backup | undefined> {
  return transaction(db, async (tx) => {
    if (!(await isClaimed(tx, id, workerNumber))) return undefined
    return moveBackup(
      tx,
      id,
      'completed',
      sql`size_bytes = ${sizeBytes}, stored_bytes = ${sizeBytes}, sha256 = ${sha256}, pg_version = ${pgVersion}, completed_at = now()`,
    )
  })
}

/**
 * Writes the progress of a backup, which is its heartbeat too.
 * @returns whether the worker still has it.
 */
export async function noteBackupProgress(
  db: Db,
  { id, workerNumber }: Pick<Backup, 'id' | 'workerNumber'>,
  progress: { storedBytes: number; databaseBytes: number | null },
): Promise<boolean> {
  return transaction(db, async (tx) => {
    const held = await findOne<Backup>(
      tx,
      sql`select * from database_backups where id = ${id} and status = 'running' and worker_number = ${workerNumber} for no key update`,
    )
    if (!held) return false
    const { storedBytes, databaseBytes } = progress
    if (held.storedBytes === storedBytes && held.databaseBytes === databaseBytes) {
      await change(tx, sql`update database_backups set heartbeat_at = now() where id = ${id}`)
      return true
    }
    const changed = await findOne<Backup>(
      tx,
      sql`
      update database_backups set stored_bytes = ${storedBytes}, database_bytes = ${databaseBytes}, heartbeat_at = now(), event_position = event_position + 1
      where id = ${id} returning *`,
    )
    if (changed) await addBackupEvent(tx, changed)
    return true
  })
}

/** Records the result of restoring a backup for a test: a sentence when it failed, null when it did not. */
export async function noteVerification(db: Db, id: string, error: string | null): Promise<void> {
  await transaction(db, async (tx) => {
    const verifiedAt = error === null ? sql`now()` : sql`verified_at`
    const changed = await findOne<Backup>(
      tx,
      sql`
      update database_backups set verified_at = ${verifiedAt}, verification_error = ${error}, event_position = event_position + 1
      where id = ${id} and status = 'completed' returning *`,
    )
    if (changed) await addBackupEvent(tx, changed)
  })
}

/**
 * Enqueues a new job for each backup that no worker has taken for a minute, in case its job was lost. Those that a restore
 * makes first have none. For housekeeping.
 */
export async function requeueBackups({ db, jobs }: Pick<Background, 'db' | 'jobs'>): Promise<void> {
  await transaction(db, async (tx) => {
    const due = await findAll<Pick<Backup, 'id' | 'databaseId'>>(
      tx,
      sql`
      update database_backups set heartbeat_at = now() where id in (
        select id from database_backups where status = 'pending' and triggered_by <> 'pre_restore'
          and coalesce(heartbeat_at, created_at) < now() - ${limits.backupSilenceSeconds} * interval '1 second'
        order by coalesce(heartbeat_at, created_at) limit ${batchMax} for no key update skip locked)
      returning id, database_id`,
    )
    for (const { id, databaseId } of due) {
      const database = await findDatabaseRow(tx, databaseId)
      const nodeId = database && (await findNodeOf(tx, database))
      if (nodeId) await jobs.enqueue(tx, onNode(runBackup, nodeId), { backupId: id })
    }
  })
}

/** Records the backup's state as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addBackupEvent(tx: Tx, backup: Backup): Promise<void> {
  await change(
    tx,
    sql`
    insert into database_backup_events (backup_id, position, status, stored_bytes, error, verified_at, verification_error)
    values (${backup.id}, ${backup.eventPosition}, ${backup.status}, ${backup.storedBytes}, ${backup.error}, ${backup.verifiedAt},
      ${backup.verificationError})`,
  )
  publish(tx, 'backup', backup.id)
}

async function isClaimed(tx: Tx, id: string, workerNumber: number | null): Promise<boolean> {
  const held = await findOne(
    tx,
    sql`select 1 from database_backups where id = ${id} and worker_number = ${workerNumber} and not cancel_requested for no key update`,
  )
  return held !== undefined
}
