/** The events of an environment, followed from any position without gaps or repeats. */
import { allow } from '#src/platform/access.ts'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import { findEnvironmentRow, readEnvironment, type EnvironmentEvent } from './rows.ts'

/**
 * The environment's events after the cursor (its latest one without), then new ones as they come; ends when it is
 * archived or deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first event.
 */
export async function followEnvironment(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<EnvironmentEvent>> {
  const { id, eventPosition: latest } = await readEnvironment(
    call.db,
    allow(call.caller, 'environments:read'),
    publicId,
  )
  return eventsAfter(call, id, after ? eventPosition(after, latest) : latest - 1, {
    topic: 'environment',
    isLast: ({ status }) => status === 'archived',
    read: (position, most) =>
      findAll<EnvironmentEvent>(
        call.db,
        sql`select * from environment_events where environment_id = ${id} and position > ${position} order by position limit ${most}`,
      ),
    async isOver() {
      const environment = await findEnvironmentRow(call.db, id)
      return environment === undefined || environment.status === 'archived'
    },
  })
}
