/** The events of a build, followed from any position without gaps or repeats. */
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import { eventsAfter, type RowEvents } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import type { Build, BuildEvent } from './rows.ts'
import { isFinished } from './states.ts'
import { readableBuild } from '#src/resources/infra/builds.ts'

/**
 * The build's events after the cursor (its latest one without), then new ones as they come; ends when the build does.
 * @throws BerthError not_found, forbidden; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followBuild(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<BuildEvent>> {
  const build = await readableBuild(call, publicId, 'builds:read')
  return eventsAfter(call, build.id, after ? eventPosition(after) : build.eventPosition - 1, eventsOf(call, build.id))
}

function eventsOf({ db }: Call, id: string): RowEvents<BuildEvent> {
  return {
    topic: 'build',
    isLast: isFinished,
    read: (position, most) =>
      findAll(
        db,
        sql`select * from build_events where job_id = ${id} and position > ${position} order by position limit ${most}`,
      ),
    async isOver() {
      const build = await findOne<Pick<Build, 'status'>>(db, sql`select status from build_jobs where id = ${id}`)
      return build === undefined || isFinished(build)
    },
  }
}
