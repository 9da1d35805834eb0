/**
 * Making the backups of schedules: each moment of a schedule counts once, however many workers look. The next moment is
 * written in the transaction that adds the backup.
 */
import { daysFromNow, momentAt, now } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { nextMoment } from '#src/platform/jobs/cron.ts'
import type { Retention, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { checkBackupCount, insertBackup } from '#src/resources/infra/database-backups.ts'
import { lockDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import type { BackupSchedule } from './rows.ts'

const firedAtOnceMax = 1000

type Firing = Pick<Background, 'db' | 'jobs'>

/** Starts the backups that are due. For housekeeping, of any number of workers at once. */
export async function fireBackupSchedules(services: Firing): Promise<void> {
  for (let fired = 0; fired < firedAtOnceMax; fired++) if (!(await fireNext(services))) return
}

/** Starts the backup that has been due for longest. @returns whether one was due. */
async function fireNext(services: Firing): Promise<boolean> {
  return transaction(services.db, async (tx) => {
    const schedule = await findOne<BackupSchedule>(
      tx,
      sql`select * from backup_schedules where enabled and next_run_at <= ${now()} order by next_run_at, id limit 1 for no key update skip locked`,
    )
    if (!schedule) return false
    const at = momentAt(schedule.nextRunAt ?? '') // an enabled one has a next moment
    const error = await makeBackup(services, tx, schedule, at)
    if (error !== null)
      log.warn({ schedule: encodeId('backupSchedule', schedule.id), reason: error }, 'a schedule made no backup')
    const following = nextMoment(schedule, latest(at, now()))
    await change(
      tx,
      sql`
      update backup_schedules set next_run_at = ${following}, enabled = ${following !== null}, last_error = ${error},
        last_run_at = ${error === null ? now() : sql`last_run_at`} where id = ${schedule.id}`,
    )
    return true
  })
}

/** Adds the backup of this moment. @returns why there is none; null when there is. */
async function makeBackup(services: Firing, tx: Tx, schedule: BackupSchedule, at: Date): Promise<string | null> {
  if (now().getTime() - at.getTime() > limits.scheduleLateSeconds * 1000)
    return 'No worker was running at its moment, so it was skipped.'
  const { keepDays } = schedule
  try {
    // The lock on the organization comes first, as everywhere.
    await checkBackupCount(tx, schedule.organizationId)
    const database = await lockDatabaseRow(tx, schedule.databaseId)
    if (!database) return 'Its database is gone.'
    await insertBackup(services, tx, database, {
      triggeredBy: 'schedule',
      userId: schedule.userId,
      schedule: { id: schedule.id, scheduledAt: at },
      expiresAt: keepDays === null ? null : daysFromNow(keepDays),
    })
    return null
  } catch (error) {
    if (error instanceof BerthError) return error.message
    throw error
  }
}

/** Deletes the schedules of databases whose data was deleted for good. For housekeeping. */
export async function forgetBackupSchedules(db: Db): Promise<void> {
  await change(
    db,
    sql`delete from backup_schedules s using databases d where d.id = s.database_id and d.status = 'deleted' and d.purge_after is null`,
  )
}

function latest(one: Date, other: Date): Date {
  return one > other ? one : other
}

/** What workers do for schedules of backups. */
export const backupScheduleUpkeep: readonly Upkeep[] = [
  { every: 5, doing: 'starting scheduled backups', work: fireBackupSchedules },
]

/** How long schedules of backups stay. */
export const backupScheduleRetention: readonly Retention[] = [
  {
    what: 'Schedules of backups',
    until: 'when the data of their database are gone',
    forget: ({ db }) => forgetBackupSchedules(db),
  },
]
