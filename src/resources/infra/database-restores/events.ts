/** The events of a restore, followed from any position without gaps or repeats. */
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import { getRestore } from '#src/resources/infra/database-restores.ts'
import type { Restore, RestoreEvent } from './rows.ts'
import { restoreStates } from './states.ts'

/**
 * The restore's events after the cursor (its latest one without), then new ones as they come; ends when it does.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followRestore(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<RestoreEvent>> {
  const { id, eventPosition: latest } = await getRestore(call, publicId)
  const isLast = ({ status }: Pick<Restore, 'status'>): boolean => restoreStates.moves[status].length === 0
  return eventsAfter<RestoreEvent>(call, id, after ? eventPosition(after) : latest - 1, {
    topic: 'restore',
    isLast,
    read: (position, most) =>
      findAll<RestoreEvent>(
        call.db,
        sql`select * from database_restore_events where restore_id = ${id} and position > ${position} order by position limit ${most}`,
      ),
    async isOver() {
      const restore = await findOne<Pick<Restore, 'status'>>(
        call.db,
        sql`select status from database_restores where id = ${id}`,
      )
      return restore === undefined || isLast(restore)
    },
  })
}
