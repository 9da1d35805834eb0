/** The events of a database, followed from any position without gaps or repeats. */
import { allow, owned } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import { databaseRows, type DatabaseEvent } from './rows.ts'

/**
 * The database's events after the cursor (its latest one without), then new ones as they come; ends after `deleted`.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first event.
 */
export async function followDatabase(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<DatabaseEvent>> {
  const scope = allow(call.caller, 'databases:read')
  const { id, status, eventPosition: last } = await databaseRows.read(call.db, publicId, owned(scope))
  const position = after ? eventPosition(after) : last - 1
  // No event can follow, so this is refused, which stops clients that reconnect by themselves.
  if (status === 'deleted' && (!after || position >= last)) throw notFound('database')
  return eventsAfter(call, id, position, {
    topic: 'database',
    isLast: (event) => event.status === 'deleted',
    read: (from, most) =>
      findAll<DatabaseEvent>(
        call.db,
        sql`select * from database_events where database_id = ${id} and position > ${from} order by position limit ${most}`,
      ),
    isOver: async () =>
      (await findOne(call.db, sql`select 1 from databases where id = ${id} and status <> 'deleted'`)) === undefined,
  })
}
