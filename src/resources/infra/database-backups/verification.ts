/** Which backups are tested by restoring them: the newest completed one of each database, once. */
import { limits } from '#src/platform/limits.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Backup } from './rows.ts'

/**
 * Takes the next backup that is worth a test, for one worker: no other one gets it within a day. The data of a database
 * that is deleted may still come back, so its backups count too. Those that were never tried come first.
 */
export async function takeUnverified(db: Db): Promise<Backup | undefined> {
  return findOne<Backup>(
    db,
    sql`
    update database_backups set verification_begun_at = now() where id = (
      select b.id from database_backups b join databases d on d.id = b.database_id
      where b.status = 'completed' and b.verified_at is null and (d.status <> 'deleted' or d.purge_after is not null)
        and (b.verification_begun_at is null or b.verification_begun_at < now() - ${limits.verificationRetryHours} * interval '1 hour')
        and not exists (select 1 from database_backups newer where newer.database_id = b.database_id and newer.status = 'completed' and newer.id > b.id)
      order by b.verification_begun_at nulls first, b.id limit 1 for no key update of b skip locked)
    returning *`,
  )
}
