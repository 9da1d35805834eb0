/** The runs of schedules: what became of each of their moments. */
import { allow, allowAnywhere, ownedByCaller, type Reach, type Scope } from '#src/platform/access.ts'
import { daysFromNow } from '#src/platform/clock.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import { scheduleLimits } from './limits.ts'
import { runRows, scheduleRows, scheduleTopic, type Schedule, type ScheduleRun } from './rows.ts'

/** The runs of these stored ids, of the caller's schedules. */
export async function findScheduleRuns(call: Call, ids: readonly string[]): Promise<ScheduleRun[]> {
  return runRows.find(call.db, ids, ofOwn(allowAnywhere(call.caller, 'schedules:read')))
}

/** The runs of a schedule, newest first. @throws BerthError not_found, invalid_request. */
export async function pageScheduleRuns(
  call: Call,
  publicId: string,
  window: PageWindow,
  direction?: Direction,
): Promise<Page<ScheduleRun>> {
  const scope = allow(call.caller, 'schedules:read')
  const { id } = await scheduleRows.read(call.db, publicId, ownedByCaller(scope))
  return runRows.page(call.db, window, sql`schedule_id = ${id}`, direction)
}

/** The runs of each schedule of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageScheduleRunsOfEach(
  call: Call,
  scheduleIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<ScheduleRun>> {
  const scope = allow(call.caller, 'schedules:read')
  return runRows.pageOfEach(call.db, window, {
    parents: sql`select id from schedules where id = any(${scheduleIds}::uuid[]) and ${ownedByCaller(scope)}`,
    parentName: 'schedule',
    chosen: sql`schedule_id = parent.id`,
    direction,
  })
}

/** The caller's schedules that started these sessions, by the sessions' stored ids. */
export async function findSchedulesOfSessions(
  call: Call,
  sessionIds: readonly string[],
): Promise<(Schedule & { sessionId: string })[]> {
  const reach = allowAnywhere(call.caller, 'schedules:read')
  const runs = await findAll<{ scheduleId: string; sessionId: string }>(
    call.db,
    sql`select schedule_id, session_id from schedule_runs where session_id = any(${sessionIds}::uuid[])`,
  )
  const ids = [...new Set(runs.map(({ scheduleId }) => scheduleId))] // each once: a kickoff may be large
  const found = await scheduleRows.find(call.db, ids, ownedByCaller(reach))
  const schedules = new Map(found.map((schedule) => [schedule.id, schedule]))
  return runs.flatMap(({ scheduleId, sessionId }) => {
    const schedule = schedules.get(scheduleId)
    return schedule ? { ...schedule, sessionId } : []
  })
}

/**
 * The schedule's runs after the cursor (its latest one without), then new ones as they come; ends when it is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first run.
 */
export async function followScheduleRuns(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<ScheduleRun>> {
  const scope = allow(call.caller, 'schedules:read')
  const { id, runPosition } = await scheduleRows.read(call.db, publicId, ownedByCaller(scope))
  return followRows<ScheduleRun>(call, id, after, {
    topic: scheduleTopic,
    rows: sql`schedule_runs where schedule_id = ${id}`,
    owner: sql`schedules where id = ${id}`,
    position: runPosition - 1,
    latest: runPosition,
  })
}

/** Forgets all runs that are old, and the oldest of schedules that have too many. For housekeeping. */
export async function forgetScheduleRuns(db: Db): Promise<void> {
  const before = daysFromNow(-scheduleLimits.runDays)
  const { runsKept, sweptAtOnce } = scheduleLimits
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`delete from schedule_runs where id in (select id from schedule_runs where created_at < ${before} order by created_at limit ${sweptAtOnce})`,
  )
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`delete from schedule_runs where id in (
      select r.id from schedule_runs r join schedules s on s.id = r.schedule_id where r.position <= s.run_position - ${runsKept} limit ${sweptAtOnce})`,
  )
}

function ofOwn(scope: Scope | Reach) {
  return sql`schedule_id in (select id from schedules where ${ownedByCaller(scope)})`
}

/** How long runs stay. */
export const scheduleRunRetention: readonly Retention[] = [
  {
    what: 'Runs of schedules',
    until: `after ${scheduleLimits.runDays} days, or when the schedule has ${scheduleLimits.runsKept} newer ones`,
    forget: ({ db }) => forgetScheduleRuns(db),
  },
]
