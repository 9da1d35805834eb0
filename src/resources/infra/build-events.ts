/** What happens to a build, followed from any position without gap or repeat. */
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { BuildEvent } from './build-rows.ts'
import { isFinished } from './build-states.ts'
import { readableBuild } from './builds.ts'

const batchMax = 100

/**
 * The build's events after the cursor (its latest one without), then new ones as they come; ends when it is over.
 * @throws BerthError not_found, forbidden; invalid_request for a text that is no cursor. All before the first event.
 */
export async function followBuild(call: Call & { signal?: AbortSignal }, publicId: string, after: string | null | undefined): Promise<AsyncIterableIterator<BuildEvent>> {
  const build = await readableBuild(call, publicId, 'builds:read')
  return eventsAfter(call, build.id, after ? eventPosition(after) : build.eventPosition - 1)
}

async function* eventsAfter(call: Call & { signal?: AbortSignal }, id: string, position: number): AsyncIterableIterator<BuildEvent> {
  const left = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, left.signal]) : left.signal
  const notices = call.pubsub.subscribe('build', id, signal)
  try {
    for (;;) {
      const events = await findAll<BuildEvent>(call.db, sql`select * from build_events where job_id = ${id} and position > ${position} order by position limit ${batchMax}`)
      for (const event of events) {
        position = event.position
        yield event
        if (isFinished(event)) return
      }
      if (events.length === 0 && (await isOver(call, id))) return // the cursor was of the last event
      if (events.length < batchMax && (await notices.next()).done) return
    }
  } finally {
    left.abort()
  }
}

async function isOver(call: Call, id: string): Promise<boolean> {
  const [row] = await findAll<{ status: BuildEvent['status'] }>(call.db, sql`select status from build_jobs where id = ${id}`)
  return row === undefined || isFinished(row)
}
