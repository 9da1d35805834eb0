/** The events of a function, followed from any position without gaps or repeats. */
import { allow, owned } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import { functionTopic } from './jobs.ts'
import { functionRows, type FunctionEvent } from './rows.ts'

/**
 * The function's events after the cursor (its latest one without), then new ones as they come; ends after `deleted`.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first event.
 */
export async function followFunction(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<FunctionEvent>> {
  const scope = allow(call.caller, 'functions:read')
  const { id, status, eventPosition: last } = await functionRows.read(call.db, publicId, owned(scope))
  const position = after ? eventPosition(after) : last - 1
  // No event can follow, so this is refused, which stops clients that reconnect by themselves.
  if (status === 'deleted' && (!after || position >= last)) throw notFound('function')
  return eventsAfter(call, id, position, {
    topic: functionTopic,
    isLast: (event) => event.status === 'deleted',
    read: (from, most) =>
      findAll<FunctionEvent>(
        call.db,
        sql`select * from function_events where function_id = ${id} and position > ${from} order by position limit ${most}`,
      ),
    isOver: async () =>
      (await findOne(call.db, sql`select 1 from functions where id = ${id} and status <> 'deleted'`)) === undefined,
  })
}
