/** Whether databases with schedules have the backups that they should have, for the metrics. */
import { getOne, sql, type Db } from '#src/platform/postgres.ts'

/** Of all databases with a schedule that is on. */
export type BackupLateness = {
  /** How long ago the last good backup was made of the database for which it is longest; since its schedule, when it has none. */
  oldestSeconds: number
  /** Schedules whose last moment made no good backup. */
  failing: number
}

/** Reads it. A schedule fails when its last moment was skipped or refused, or its newest backup that ended has failed. */
export async function readBackupLateness(db: Db): Promise<BackupLateness> {
  return getOne<BackupLateness>(
    db,
    sql`
    select coalesce(max(extract(epoch from now() - coalesce(good.completed_at, schedule.created_at))), 0)::float8 as oldest_seconds,
      count(*) filter (where schedule.last_error is not null or newest.status = 'failed') as failing
    from backup_schedules schedule join databases d on d.id = schedule.database_id and d.status <> 'deleted'
    left join lateral (
      select max(completed_at) as completed_at from database_backups b
      where b.database_id = schedule.database_id and b.status = 'completed') good on true
    left join lateral (
      select b.status from database_backups b
      where b.schedule_id = schedule.id and b.status in ('completed', 'failed') order by b.scheduled_at desc limit 1) newest on true
    where schedule.enabled`,
  )
}
