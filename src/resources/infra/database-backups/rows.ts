/** A backup's row, and its queries. */
import { owned, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { job } from '#src/platform/jobs.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { limits } from '#src/platform/limits.ts'

/** A backup that is pending or running is being made; a completed one can be restored. */
export type BackupStatus = 'pending' | 'running' | 'completed' | 'failed' | 'deleting'

/** Why a backup was made; `pre_restore`: before a restore replaced the data. None is `pre_delete` now. */
export type BackupTrigger = 'manual' | 'schedule' | 'pre_restore' | 'pre_delete'

/** A backup as it is stored; times are RFC 3339 text, ids are uuids. */
export type Backup = Row<'database_backups', { status: BackupStatus; triggeredBy: BackupTrigger }>

/** What happened to a backup: positions grow by one and resume a subscription. */
export type BackupEvent = Row<'database_backup_events', { status: BackupStatus }>

/** Makes one backup. Runs on the node of the database's VM. */
export const runBackup = job<{ backupId: string }>('database-backups-run', {
  retryLimit: 5,
  expireInSeconds: limits.backupSeconds + 600,
})

/** Backups as they are found. */
export const backupRows = rowsOf<Backup>('backup', 'database_backups', 'backup')

/** The backup, whoever owns it: for workers. */
export async function findBackupRow(db: Db, id: string): Promise<Backup | undefined> {
  return findOne<Backup>(db, sql`select * from database_backups where id = ${id}`)
}

/**
 * The organization's backup, locked until the transaction ends.
 * @param databaseId the public id of the database that it must be of; any without it.
 * @throws BerthError not_found.
 */
export async function lockBackup(
  tx: Tx,
  scope: Scope,
  publicId: string,
  databaseId: string | null | undefined,
): Promise<Backup> {
  return backupRows.read(tx, publicId, sql`${owned(scope)} and ${ofDatabase(databaseId)}`, sql`for no key update`)
}

/** The condition for backups of a database, by its public id; of any without it. */
export function ofDatabase(databaseId: string | null | undefined) {
  if (databaseId === null || databaseId === undefined) return sql<boolean>`true`
  return sql<boolean>`database_id = ${decodeId('database', databaseId) ?? null}::uuid`
}

/** The key of a backup's file in the object store. */
export function backupKey({
  id,
  organizationId,
  databaseId,
}: Pick<Backup, 'id' | 'organizationId' | 'databaseId'>): string {
  return `backups/${encodeId('organization', organizationId)}/${encodeId('database', databaseId)}/${encodeId('backup', id)}.dump`
}

/** The error while another backup of the database is being made. */
export function backupInProgress(): BerthError {
  return new BerthError(
    'backup_in_progress',
    'A backup of this database is being made. Wait until it has ended, or delete it, then try again.',
  )
}
