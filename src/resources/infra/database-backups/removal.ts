/** What becomes of backups that nobody needs: those that are deleted, that expire, or whose worker is gone. */
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeLostSeconds } from '#src/resources/infra/nodes.ts'
import { backupKey, type Backup } from './rows.ts'
import { failBackup, moveBackup, requeueBackups } from './states.ts'

type Stored = Pick<Background, 'config' | 'db' | 'sealer'>

const batchMax = 100
/** The reason of a backup whose worker died. */
const lost = 'The worker that made it ended before it was complete. Make another one.'
/** No restore is under way that reads it, or that began with it. */
const isFree = sql<boolean>`not exists (
  select 1 from database_restores r where r.status in ('pending', 'running') and (r.backup_id = b.id or r.safety_backup_id = b.id))`

/** Removes the file of a backup that is being deleted, then its row. What cannot be removed now is tried again later. */
export async function removeBackup(services: Stored, backup: Backup): Promise<void> {
  await clear(services, backup).catch((error: unknown) => {
    log.warn({ err: error, id: backup.id }, 'the file of a backup was not removed; it is tried again')
  })
}

async function clear(services: Stored, backup: Backup): Promise<void> {
  const free = await findAll(
    services.db,
    sql`select 1 from database_backups b where b.id = ${backup.id} and b.status = 'deleting' and ${isFree}`,
  )
  if (free.length === 0) return
  await objectStore(services).remove(backupKey(backup))
  await transaction(services.db, async (tx) => {
    await change(tx, sql`delete from database_backups where id = ${backup.id} and status = 'deleting'`)
    publish(tx, 'backup', backup.id)
  })
}

/** Removes the file of a backup that did not become complete, and the backup itself when it was deleted meanwhile. */
export async function clearFailedBackup(services: Stored, backup: Backup): Promise<void> {
  await objectStore(services).remove(backupKey(backup))
  if (!backup.cancelRequested) return
  const deleting = await moveBackup(services.db, backup.id, 'deleting')
  if (deleting) await removeBackup(services, deleting)
}

/** Ends a backup whose worker died, and removes what it stored. For a job that runs again. */
export async function endLostBackup(services: Stored, id: string): Promise<void> {
  const failed = await failBackup(services.db, id, lost)
  if (failed) await clearFailedBackup(services, failed)
}

/**
 * Ends backups whose worker was silent for a minute, and those that wait for a node that is lost. For housekeeping.
 */
export async function endLostBackups(services: Stored): Promise<void> {
  const silent = await findAll<Pick<Backup, 'id'>>(
    services.db,
    sql`
    select b.id from database_backups b where b.status = 'running' and b.heartbeat_at < now() - ${limits.backupSilenceSeconds} * interval '1 second'
    union all
    select b.id from database_backups b join databases d on d.id = b.database_id left join vms v on v.id = d.vm_id left join nodes n on n.id = v.node_id
    where b.status = 'pending' and b.created_at < now() - ${nodeLostSeconds} * interval '1 second'
      and (n.id is null or n.heartbeat_at < now() - ${nodeLostSeconds} * interval '1 second')
    limit ${batchMax}`,
  )
  for (const { id } of silent) await endLostBackup(services, id)
}

/**
 * Deletes backups that have expired, old failures, and those of databases whose data was deleted for good. The newest
 * completed one of a database stays, however old it is. For housekeeping.
 */
export async function forgetOldBackups(services: Stored): Promise<void> {
  const due = await findAll<Pick<Backup, 'id'>>(
    services.db,
    sql`
    select b.id from database_backups b join databases d on d.id = b.database_id
    where b.status in ('completed', 'failed') and ${isFree} and (
      (d.status = 'deleted' and d.purge_after is null)
      or (b.status = 'failed' and b.created_at < now() - ${limits.failedBackupDays} * interval '1 day')
      or (b.expires_at < now() and (b.status = 'failed' or exists (
        select 1 from database_backups newer where newer.database_id = b.database_id and newer.status = 'completed' and newer.id > b.id))))
    order by b.id limit ${batchMax * 10}`,
  )
  for (const { id } of due) await moveBackup(services.db, id, 'deleting')
  await sweep(
    'a deleted backup',
    (most, stuckIds) =>
      findAll<Backup>(
        services.db,
        sql`select * from database_backups b where b.status = 'deleting' and ${isFree} and b.id <> all(${stuckIds}::uuid[]) order by b.id limit ${most}`,
      ),
    (backup) => clear(services, backup),
  )
}

/** Marks those completed backups of a schedule for deletion that are more than it keeps, the oldest first. */
export async function forgetSurplusBackups(db: Db, scheduleId: string): Promise<void> {
  const surplus = await findAll<Pick<Backup, 'id'>>(
    db,
    sql`
    select b.id from database_backups b join backup_schedules s on s.id = b.schedule_id
    where s.id = ${scheduleId} and b.status = 'completed' and s.keep_count is not null
    order by b.id desc offset (select keep_count from backup_schedules where id = ${scheduleId})`,
  )
  for (const { id } of surplus) await moveBackup(db, id, 'deleting')
}

/**
 * Marks those backups that restores of a database have made first for deletion that are more than it keeps, the oldest
 * first: whoever restores again and again does not fill the store.
 */
export async function forgetSurplusSafetyBackups(db: Db, databaseId: string): Promise<void> {
  const surplus = await findAll<Pick<Backup, 'id'>>(
    db,
    sql`
    select b.id from (
      select *, row_number() over (order by id desc) as place from database_backups
      where database_id = ${databaseId} and triggered_by = 'pre_restore' and status = 'completed') b
    where b.place > ${limits.safetyBackupsKept} and ${isFree}`,
  )
  for (const { id } of surplus) await moveBackup(db, id, 'deleting')
}

/** What workers do for backups. */
export const backupUpkeep: readonly Upkeep[] = [
  { every: 20, doing: 'ending lost backups', work: endLostBackups },
  { every: 20, doing: 'requeueing backups', work: requeueBackups },
  { every: 60, doing: 'deleting backups', work: forgetOldBackups },
]
