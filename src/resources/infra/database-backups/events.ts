/** The events of a backup, followed from any position without gaps or repeats. */
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import { getBackup } from '#src/resources/infra/database-backups.ts'
import type { Backup, BackupEvent } from './rows.ts'

/**
 * The backup's events after the cursor (its latest one without), then new ones as they come; ends when it has failed or
 * is deleted. One that is completed may still be verified.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followBackup(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<BackupEvent>> {
  const { id, eventPosition: latest } = await getBackup(call, publicId)
  return eventsAfter(call, id, after ? eventPosition(after) : latest - 1, {
    topic: 'backup',
    isLast: ({ status }) => status === 'failed' || status === 'deleting',
    read: (position, most) =>
      findAll<BackupEvent>(
        call.db,
        sql`select * from database_backup_events where backup_id = ${id} and position > ${position} order by position limit ${most}`,
      ),
    async isOver() {
      const backup = await findOne<Pick<Backup, 'status'>>(
        call.db,
        sql`select status from database_backups where id = ${id}`,
      )
      return backup === undefined || backup.status === 'failed' || backup.status === 'deleting'
    },
  })
}
