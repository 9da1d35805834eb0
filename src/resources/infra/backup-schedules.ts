/** Schedules of backups: when Berth backs a database up by itself, and how many of these backups it keeps. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { momentAt, now } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { momentsFrom, nextMoment, readCron } from '#src/platform/jobs/cron.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import type { Direction, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { lockSchedule, scheduleRows, type BackupSchedule } from './backup-schedules/rows.ts'
import { lockDatabase } from './databases/rows.ts'

/** The input of a schedule. Null for `keepCount` and `keepDays` means that they limit nothing; absent ones stay. */
export type ScheduleInput = {
  cron?: string | null
  timezone?: string | null
  enabled?: boolean | null
  keepCount?: number | null
  keepDays?: number | null
}

/** What a schedule is without further input: seven backups, each kept for a month at most. */
const usual = { timezone: 'UTC', keepCount: 7, keepDays: 30 }
const upcomingMax = 5

/**
 * Adds a schedule to a database.
 * @throws BerthError not_found; invalid_cron, invalid_timezone, invalid_request; rate_limited when there are too many.
 */
export async function createBackupSchedule(
  call: Call,
  databaseId: string,
  input: ScheduleInput,
): Promise<BackupSchedule> {
  const scope = allow(call.caller, 'backups:write')
  const { cron, timezone } = readCron(input.cron ?? '', input.timezone ?? usual.timezone)
  const enabled = input.enabled ?? true
  const keepCount = readKept(input.keepCount, usual.keepCount, limits.scheduleKeepCountMax, 'keep_count')
  const keepDays = readKept(input.keepDays, usual.keepDays, limits.scheduleKeepDaysMax, 'keep_days')
  return transaction(call.db, async (tx) => {
    await checkCount(tx, scope.organizationId, { table: 'backup_schedules', most: limits.backupSchedulesMax })
    const database = await lockDatabase(tx, scope, databaseId)
    return getOne<BackupSchedule>(
      tx,
      sql`
      insert into backup_schedules (id, organization_id, database_id, user_id, cron, timezone, enabled, keep_count, keep_days, next_run_at)
      values (${newUuid()}, ${scope.organizationId}, ${database.id}, ${scope.userId}, ${cron}, ${timezone}, ${enabled},
        ${keepCount}, ${keepDays}, ${enabled ? nextMoment({ cron, timezone }, now()) : null})
      returning *`,
    )
  })
}

/**
 * Changes a schedule; absent fields stay. What it made before stays as it is.
 * @throws BerthError not_found; invalid_cron, invalid_timezone, invalid_request.
 */
export async function updateBackupSchedule(
  call: Call,
  publicId: string,
  input: ScheduleInput,
): Promise<BackupSchedule> {
  const scope = allow(call.caller, 'backups:write')
  return transaction(call.db, async (tx) => {
    const before = await lockSchedule(tx, scope, publicId)
    if (changesNothing(input)) return before
    const { cron, timezone } = readCron(input.cron ?? before.cron, input.timezone ?? before.timezone)
    const enabled = input.enabled ?? before.enabled
    const keepCount = readKept(input.keepCount, before.keepCount, limits.scheduleKeepCountMax, 'keep_count')
    const keepDays = readKept(input.keepDays, before.keepDays, limits.scheduleKeepDaysMax, 'keep_days')
    const isSame = cron === before.cron && timezone === before.timezone && enabled === before.enabled
    const nextRunAt = isSame ? before.nextRunAt : enabled ? nextMoment({ cron, timezone }, now()) : null
    return getOne<BackupSchedule>(
      tx,
      sql`
      update backup_schedules set cron = ${cron}, timezone = ${timezone}, enabled = ${enabled}, keep_count = ${keepCount}, keep_days = ${keepDays},
        next_run_at = ${nextRunAt}, updated_at = now() where id = ${before.id} returning *`,
    )
  })
}

/** Deletes a schedule; the backups that it made stay until they expire. @throws BerthError not_found. */
export async function deleteBackupSchedule(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'backups:delete')
  await transaction(call.db, async (tx) => {
    const { id } = await lockSchedule(tx, scope, publicId)
    await change(tx, sql`delete from backup_schedules where id = ${id}`)
  })
}

/** The schedule of this id. @throws BerthError not_found. */
export async function getBackupSchedule(call: Call, publicId: string): Promise<BackupSchedule> {
  return scheduleRows.read(call.db, publicId, owned(allow(call.caller, 'backups:read')))
}

/** The schedules of these stored ids, of the caller's organizations. */
export async function findBackupSchedules(call: Call, ids: readonly string[]): Promise<BackupSchedule[]> {
  return scheduleRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'backups:read')))
}

/** The schedules of each of these databases, by their stored ids, newest first. @throws BerthError invalid_request. */
export async function pageBackupSchedulesOfEach(
  call: Call,
  databaseIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<BackupSchedule>> {
  const reach = allowAnywhere(call.caller, 'backups:read')
  return scheduleRows.pageOfEach(call.db, window, {
    parents: sql`select id from databases where id = any(${databaseIds}::uuid[]) and ${owned(reach)}`,
    parentName: 'database',
    chosen: sql`database_id = parent.id`,
    direction,
  })
}

/** The next five moments of a schedule; none while it is disabled. */
export async function upcomingRuns(schedule: BackupSchedule): Promise<Date[]> {
  const { enabled, nextRunAt } = schedule
  return momentsFrom(schedule, enabled && nextRunAt ? momentAt(nextRunAt) : null, upcomingMax)
}

function readKept(given: number | null | undefined, before: number | null, most: number, name: string): number | null {
  const kept = given === undefined ? before : given
  if (kept !== null && (!Number.isInteger(kept) || kept < 1 || kept > most))
    throw new BerthError('invalid_request', `${name} must be a whole number from 1 to ${most}, or null for no limit.`)
  return kept
}
