/**
 * Restores of databases from backups: start, find, list. The work itself is done on the database's node: see
 * workers/infra/database-restores.ts.
 */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { daysFromNow } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import type { Direction, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { findBusyBackup, insertBackup } from './database-backups.ts'
import { lockBackup, type Backup } from './database-backups/rows.ts'
import { restoreRows, runRestore, type Restore } from './database-restores/rows.ts'
import { addRestoreEvent } from './database-restores/states.ts'
import { findNodeOf } from './databases/jobs.ts'
import { databaseRows, lockDatabaseRow, notDeleted, type Database } from './databases/rows.ts'
import { moveDatabase } from './databases/states.ts'
import { checkFileRoom, filesHeld } from './file-room.ts'

/**
 * What a restore is made from, and into which database: by public ids. `databaseId`: the one that the backup must be of;
 * `targetDatabaseId`: the one whose data is replaced, the same without it.
 */
export type RestoreOrder = { id: string; databaseId?: string | null; targetDatabaseId?: string | null }

/**
 * Starts a restore, which replaces the data of a database by those of a backup. Its clients are disconnected until it
 * has ended.
 * @throws BerthError not_found; backup_not_usable; restore_in_progress; invalid_request when the database is not ready;
 * rate_limited when there is no room for the backup that is made first.
 */
export async function createRestore(call: Call, { id, databaseId, targetDatabaseId }: RestoreOrder): Promise<Restore> {
  const scope = allow(call.caller, 'restore:write')
  await checkFileRoom(call.config, await filesHeld(call.db, scope.organizationId), 0)
  return transaction(call.db, async (tx) => {
    const backup = await lockBackup(tx, scope, id, databaseId)
    const target = targetDatabaseId
      ? await databaseRows.read(tx, targetDatabaseId, sql`${owned(scope)} and ${notDeleted}`).catch(refuseTarget)
      : { id: backup.databaseId }
    const database = await lockDatabaseRow(tx, target.id)
    if (!database || database.status === 'deleted') throw targetDatabaseId ? notThere() : notFound('database')
    await checkUsable(tx, backup, database)
    const safety = await insertBackup(call, tx, database, {
      triggeredBy: 'pre_restore',
      userId: scope.userId,
      expiresAt: daysFromNow(limits.safetyBackupDays),
      withoutJob: true,
    })
    const restore = await getOne<Restore>(
      tx,
      sql`
      insert into database_restores (id, organization_id, database_id, backup_id, safety_backup_id, user_id, number, status, backup_bytes, event_position)
      select ${newUuid()}, ${scope.organizationId}, ${database.id}, ${backup.id}, ${safety.id}, ${scope.userId},
        coalesce(max(number), 0) + 1, 'pending', ${backup.sizeBytes}, 1
      from database_restores where database_id = ${database.id} returning *`,
    )
    await addRestoreEvent(tx, restore)
    await moveDatabase(tx, call, database.id, 'restoring', {}, ['active'])
    const nodeId = await findNodeOf(tx, database)
    if (!nodeId) throw new Error('an active database has no node')
    await call.jobs.enqueue(tx, onNode(runRestore, nodeId), { restoreId: restore.id })
    return restore
  })
}

/** Checks that this backup can be restored into this database now. */
async function checkUsable(tx: Tx, backup: Backup, database: Database): Promise<void> {
  if (backup.status !== 'completed')
    throw new BerthError(
      'backup_not_usable',
      `This backup is ${backup.status}; only a completed one can be restored. ${backup.status === 'failed' ? 'Use another one.' : 'Wait until it is completed, or use another one.'}`,
    )
  const running = await findOne(
    tx,
    sql`select 1 from database_restores where database_id = ${database.id} and status in ('pending', 'running')`,
  )
  if (running)
    throw new BerthError('restore_in_progress', 'A restore of this database is running. Wait until it has ended.')
  if (database.status !== 'active')
    throw new BerthError(
      'invalid_request',
      `The database is ${database.status}; a restore requires an active one. Wait until it is active, then try again.`,
    )
  if (await findBusyBackup(tx, database.id))
    throw new BerthError(
      'invalid_request',
      'A backup of this database is being made. Wait until it has ended, or delete it, then restore.',
    )
}

/** The restore of this id. @throws BerthError not_found. */
export async function getRestore(call: Call, publicId: string): Promise<Restore> {
  return restoreRows.read(call.db, publicId, owned(allow(call.caller, 'backups:read')))
}

/** The restores of these stored ids, of the caller's organizations. */
export async function findRestores(call: Call, ids: readonly string[]): Promise<Restore[]> {
  return restoreRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'backups:read')))
}

/** The newest restores of each of these databases, by their stored ids. @throws BerthError invalid_request. */
export async function pageRestoresOfEach(
  call: Call,
  databaseIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<Restore>> {
  const reach = allowAnywhere(call.caller, 'backups:read')
  return restoreRows.pageOfEach(call.db, window, {
    parents: sql`select id from databases where id = any(${databaseIds}::uuid[]) and ${owned(reach)}`,
    parentName: 'database',
    chosen: sql`database_id = parent.id`,
    direction,
  })
}

function refuseTarget(error: unknown): never {
  throw error instanceof BerthError && error.code === 'not_found' ? notThere() : error
}

function notThere(): BerthError {
  return new BerthError('invalid_request', 'target_database_id names no database of yours.')
}
