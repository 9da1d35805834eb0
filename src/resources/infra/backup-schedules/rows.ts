/** A schedule's row, and its queries. */
import { owned, type Scope } from '#src/platform/access.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** A schedule as it is stored; times are RFC 3339 text, ids are uuids. */
export type BackupSchedule = Row<'backup_schedules', { cron: string; timezone: string }>

/** Schedules as they are found. */
export const scheduleRows = rowsOf<BackupSchedule>('backupSchedule', 'backup_schedules', 'backup schedule')

/** The organization's schedule, locked until the transaction ends. @throws BerthError not_found. */
export async function lockSchedule(tx: Tx, scope: Scope, publicId: string): Promise<BackupSchedule> {
  return scheduleRows.read(tx, publicId, owned(scope), sql`for no key update`)
}
