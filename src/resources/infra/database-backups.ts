/**
 * Backups of databases: make, find, list, delete. The dump itself is made on the database's node: see
 * workers/infra/database-backups.ts.
 */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import type { ListWindow } from '#src/platform/nouns.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { removeBackup } from './database-backups/removal.ts'
import {
  backupInProgress,
  backupRows,
  findBackupRow,
  lockBackup,
  ofDatabase,
  runBackup,
  type Backup,
  type BackupStatus,
  type BackupTrigger,
} from './database-backups/rows.ts'
import { addBackupEvent, moveBackup } from './database-backups/states.ts'
import { findNodeOf } from './databases/jobs.ts'
import { checkActive, lockDatabase, type Database } from './databases/rows.ts'
import { checkFileRoom, filesHeld } from './file-room.ts'

/** Conditions of a list of backups. */
export type BackupFilter = { statuses?: readonly BackupStatus[] | null }

/**
 * Starts a backup of a database.
 * @throws BerthError not_found; 400 when the database has no VM that runs, database_not_ready, backup_in_progress;
 * rate_limited when the organization has too many backups or files.
 */
export async function createBackup(call: Call, databaseId: string): Promise<Backup> {
  const scope = allow(call.caller, 'backups:write')
  await checkFileRoom(call.config, await filesHeld(call.db, scope.organizationId), 0)
  return transaction(call.db, async (tx) => {
    await checkBackupCount(tx, scope.organizationId)
    const database = await lockDatabase(tx, scope, databaseId)
    return insertBackup(call, tx, database, { triggeredBy: 'manual', userId: scope.userId })
  })
}

/** Refuses one backup more than an organization may have. @throws BerthError rate_limited. */
export async function checkBackupCount(tx: Tx, organizationId: string): Promise<void> {
  await checkCount(tx, organizationId, {
    rows: sql`database_backups where organization_id = ${organizationId}`,
    nouns: 'backups',
    most: limits.backupsMax,
    advice: 'Delete those that nobody needs, or let schedules keep fewer.',
  })
}

/** What a new backup is for. `withoutJob`: the caller's own job makes it. */
export type NewBackup = {
  triggeredBy: BackupTrigger
  userId?: string | null
  schedule?: { id: string; scheduledAt: Date }
  expiresAt?: Date | null
  withoutJob?: true
}

/**
 * Adds a backup of a locked database, and its job.
 * @throws BerthError as createBackup.
 */
export async function insertBackup(
  services: Pick<Background, 'jobs'>,
  tx: Tx,
  database: Database,
  { triggeredBy, userId = null, schedule, expiresAt = null, withoutJob }: NewBackup,
): Promise<Backup> {
  const nodeId = database.vmId && database.status !== 'error' ? await findNodeOf(tx, database) : undefined
  if (database.status === 'error' || (database.status === 'active' && !nodeId))
    throw new BerthError(
      'invalid_request',
      'This database has no VM that runs, so it cannot be backed up. Its statusReason in GraphQL says why.',
    )
  checkActive(database)
  if (await findBusyBackup(tx, database.id)) throw backupInProgress()
  const backup = await getOne<Backup>(
    tx,
    sql`
    insert into database_backups (id, organization_id, database_id, user_id, schedule_id, scheduled_at, status, triggered_by, expires_at, event_position)
    values (${newUuid()}, ${database.organizationId}, ${database.id}, ${userId}, ${schedule?.id ?? null},
      ${schedule?.scheduledAt ?? null}, 'pending', ${triggeredBy}, ${expiresAt}, 1)
    returning *`,
  )
  await addBackupEvent(tx, backup)
  if (nodeId && !withoutJob) await services.jobs.enqueue(tx, onNode(runBackup, nodeId), { backupId: backup.id })
  return backup
}

/** The backup of a database that is being made now. */
export async function findBusyBackup(db: Db, databaseId: string): Promise<Backup | undefined> {
  return findOne<Backup>(
    db,
    sql`select * from database_backups where database_id = ${databaseId} and status in ('pending', 'running')`,
  )
}

/**
 * The backup of this id.
 * @param databaseId the public id of the database that it must be of; any without it.
 * @throws BerthError not_found.
 */
export async function getBackup(call: Call, publicId: string, databaseId?: string | null): Promise<Backup> {
  const scope = allow(call.caller, 'backups:read')
  return backupRows.read(call.db, publicId, sql`${owned(scope)} and ${ofDatabase(databaseId)}`)
}

/** The backups of these stored ids, of the caller's organizations. */
export async function findBackups(call: Call, ids: readonly string[]): Promise<Backup[]> {
  return backupRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'backups:read')))
}

/** How a list of backups is read. */
export type BackupList = { filter?: BackupFilter | null; direction?: Direction | undefined }

/** The backups of a database, by its stored id, newest first: 1000 at most at once. @throws BerthError invalid_request. */
export async function pageBackups(
  call: Call,
  databaseId: string,
  window: ListWindow,
  { filter, direction }: BackupList = {},
): Promise<Page<Backup>> {
  const reach = allowAnywhere(call.caller, 'backups:read')
  const chosen = sql`${owned(reach)} and database_id = ${databaseId} and ${isChosen(filter)}`
  return backupRows.page(call.db, { ...window, most: limits.infraListMax }, chosen, direction)
}

/** The same page of each of these databases, by their stored ids. @throws BerthError invalid_request. */
export async function pageBackupsOfEach(
  call: Call,
  databaseIds: readonly string[],
  window: PageWindow,
  { filter, direction }: BackupList = {},
): Promise<PagesOf<Backup>> {
  const reach = allowAnywhere(call.caller, 'backups:read')
  return backupRows.pageOfEach(call.db, window, {
    parents: sql`select id from databases where id = any(${databaseIds}::uuid[]) and ${owned(reach)}`,
    parentName: 'database',
    chosen: sql`database_id = parent.id and ${isChosen(filter)}`,
    direction,
    most: limits.infraListMax,
  })
}

function isChosen(filter: BackupFilter | null | undefined) {
  return filter?.statuses ? sql<boolean>`status = any(${filter.statuses}::text[])` : sql<boolean>`true`
}

/**
 * Deletes a backup and its file. One that is being made is cancelled first, which may take some seconds longer than
 * this; one from which a restore is running goes when that has ended.
 * @throws BerthError not_found.
 */
export async function deleteBackup(call: Call, publicId: string, databaseId?: string | null): Promise<void> {
  const scope = allow(call.caller, 'backups:delete')
  const id = decodeId('backup', publicId) ?? ''
  await waitUntil<Backup | undefined>(call.pubsub, {
    topic: 'backup',
    id,
    limitSeconds: limits.backupCancelSeconds,
    async first() {
      const marked = await transaction(call.db, async (tx) =>
        markForDeletion(tx, await lockBackup(tx, scope, publicId, databaseId)),
      )
      if (marked.status !== 'deleting') return marked
      await removeBackup(call, marked)
      return undefined
    },
    again: () => findBackupRow(call.db, id),
    isDone: (backup) => backup === undefined,
  })
}

/** Marks a locked backup for deletion; one that a worker is making is asked to stop. */
async function markForDeletion(tx: Tx, backup: Backup): Promise<Backup> {
  if (backup.status === 'deleting') return backup
  if (backup.status === 'running') {
    const asked = await getOne<Backup>(
      tx,
      sql`update database_backups set cancel_requested = true where id = ${backup.id} returning *`,
    )
    publish(tx, 'backup', backup.id)
    return asked
  }
  if (backup.status === 'pending')
    await moveBackup(tx, backup.id, 'failed', sql`cancel_requested = true, error = ${cancelled}`)
  return (await moveBackup(tx, backup.id, 'deleting')) ?? backup
}

/** The error of a backup that was deleted while it was made. */
export const cancelled = 'It was cancelled.'
