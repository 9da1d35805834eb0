/** What becomes of the moments of schedules, and writing it down. */
import { fromNow, momentAt, now, timestamp } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { nextMoment } from '#src/platform/jobs/cron.ts'
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { change, findAll, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { isLastingError, type StartError } from '#src/resources/agents/starts/errors.ts'
import { scheduleLimits } from './limits.ts'
import { scheduleTopic, type Schedule, type SkipReason } from './rows.ts'

type NewRun = { at: Date } & (
  | { status: 'started'; sessionId: string }
  | { status: 'skipped'; skipReason: SkipReason; message: string }
  | { status: 'failed'; error: StartError }
)

/** What became of a schedule's moment, and of others that were missed with it; `next` is the moment after them. */
export type Tick = { schedule: Schedule; runs: readonly NewRun[]; next: Date | null }

/** A session was started. */
export function startedTick(schedule: Schedule, sessionId: string): Tick {
  return tickOf(schedule, (at) => ({ at, status: 'started', sessionId }))
}

/** Nothing was to be started. */
export function skippedTick(schedule: Schedule, skipReason: SkipReason, message: string): Tick {
  return tickOf(schedule, (at) => ({ at, status: 'skipped', skipReason, message }))
}

/** Nothing could be started. */
export function failedTick(schedule: Schedule, error: StartError): Tick {
  return tickOf(schedule, (at) => ({ at, status: 'failed', error }))
}

/** The moment was dealt with before. */
export function passedTick(schedule: Schedule): Tick {
  return { schedule, runs: [], next: nextMoment(schedule, momentOf(schedule)) }
}

/** The moment came while the organization had as many running sessions as it may, and passed. */
export function overloadedTick(schedule: Schedule, refusal: string): Tick {
  const message = `It could not start within ${lateMinutes} minutes of its moment. ${refusal}`
  return missed(schedule, 'rate_limited', message)
}

/** The moments that passed too long ago while no worker was running; undefined when this one is still to be fired. */
export function missedTick(schedule: Schedule): Tick | undefined {
  if (momentOf(schedule) >= tooLate()) return undefined
  return missed(schedule, 'missed', `No worker started it within ${lateMinutes} minutes of its moment.`)
}

const lateMinutes = scheduleLimits.lateSeconds / 60

function tickOf(schedule: Schedule, runAt: (at: Date) => NewRun): Tick {
  const at = momentOf(schedule)
  return { schedule, runs: [runAt(at)], next: nextMoment(schedule, at) }
}

/** The moments that are too long ago, one by one; after a long time only the first, and the last says so. */
function missed(schedule: Schedule, skipReason: SkipReason, message: string): Tick {
  const runs: NewRun[] = []
  let next: Date | null = momentOf(schedule)
  for (; next && next < tooLate() && runs.length < scheduleLimits.missedMax; next = nextMoment(schedule, next))
    runs.push({ at: next, status: 'skipped', skipReason, message })
  const last = runs.at(-1)
  if (!last || !next || next >= tooLate()) return { schedule, runs, next }
  const following = nextMoment(schedule, tooLate())
  runs.splice(-1, 1, {
    at: last.at,
    status: 'skipped',
    skipReason,
    message: `${message} So it was at every later moment until ${timestamp(tooLate())}.`,
  })
  return { schedule, runs, next: following }
}

function momentOf({ nextRunAt }: Schedule): Date {
  return momentAt(nextRunAt ?? '') // one that is due has a next moment
}

function tooLate(): Date {
  return fromNow(-scheduleLimits.lateSeconds * 1000)
}

/** Writes down what became of moments, each schedule's once. The schedules are locked by this transaction. */
export async function recordTicks(tx: Tx, ticks: readonly Tick[]): Promise<void> {
  if (ticks.length === 0) return
  const runs = ticks.flatMap(runRowsOf)
  if (runs.length > 0)
    await change(
      tx,
      sql`
      insert into schedule_runs (id, schedule_id, scheduled_at, position, status, session_id, skip_reason, error_type, message)
      select *
      from jsonb_to_recordset(${JSON.stringify(runs)}::jsonb) as r(id uuid, schedule_id uuid, scheduled_at timestamptz,
        position bigint, status text, session_id uuid, skip_reason text, error_type text, message text)`,
    )
  const moved = await findAll<{ id: string }>(
    tx,
    sql`
      update schedules s
      set next_run_at = t.next_run_at, planned_at = ${now()}, enabled = t.enabled,
        last_run_at = coalesce(t.last_run_at, s.last_run_at), last_session_id = coalesce(t.last_session_id, s.last_session_id),
        last_error = t.last_error, failures = t.failures, run_position = t.run_position, updated_at = case when t.enabled then s.updated_at else now() end
      from jsonb_to_recordset(${JSON.stringify(ticks.map(scheduleRowOf))}::jsonb) as t(id uuid, next_run_at timestamptz,
        enabled boolean, last_run_at timestamptz, last_session_id uuid, last_error text, failures integer, run_position bigint)
      where s.id = t.id returning s.id`,
  )
  for (const { id } of moved) publish(tx, scheduleTopic, id)
}

function runRowsOf({ schedule, runs }: Tick): object[] {
  const ids = runs.map(newUuid).sort() // lists are ordered by id, and those of one millisecond are in no order
  return runs.map((run, at) => ({
    id: ids[at],
    schedule_id: schedule.id,
    scheduled_at: timestamp(run.at),
    position: schedule.runPosition + at + 1,
    status: run.status,
    session_id: run.status === 'started' ? run.sessionId : null,
    skip_reason: run.status === 'skipped' ? run.skipReason : null,
    error_type: run.status === 'failed' ? run.error.type : null,
    message: run.status === 'skipped' ? run.message : run.status === 'failed' ? run.error.message : null,
  }))
}

/** The schedule after its moment: what failed too often in a row is disabled. */
function scheduleRowOf({ schedule, runs, next }: Tick): object {
  const run = runs.at(-1)
  const started = run?.status === 'started' ? run : undefined
  const failure = run?.status === 'failed' ? run.error : undefined
  const failures = started ? 0 : schedule.failures + (failure && isLastingError(failure.type) ? 1 : 0)
  const isGivenUp = failures >= scheduleLimits.failuresMax
  const enabled = next !== null && !isGivenUp
  const prefix = isGivenUp ? `Disabled after ${failures} failures in a row. The last one: ` : ''
  return {
    id: schedule.id,
    next_run_at: enabled ? timestamp(next) : null,
    enabled,
    last_run_at: started ? timestamp(now()) : null,
    last_session_id: started?.sessionId ?? null,
    last_error: started ? null : failure ? prefix + failure.message : schedule.lastError,
    failures,
    run_position: schedule.runPosition + runs.length,
  }
}

/**
 * Lets schedules look for their next moment again after the clock was set back: what they found out in a future that
 * is over would keep them waiting. For housekeeping.
 */
export async function replanAfterClockChange(db: Db): Promise<void> {
  const future = fromNow(scheduleLimits.clockBackSeconds * 1000)
  await transaction(db, async (tx) => {
    const misled = await findAll<Schedule>(
      tx,
      sql`select * from schedules where enabled and planned_at > ${future} order by id limit ${scheduleLimits.replannedAtOnce} for no key update skip locked`,
    )
    const ticks = misled.map((schedule): Tick => ({ schedule, runs: [], next: nextMoment(schedule, now()) }))
    await recordTicks(tx, ticks)
  })
}

/** What workers do for schedules. */
export const scheduleUpkeep: readonly Upkeep[] = [
  { every: 20, doing: 'looking whether the clock was set back', work: ({ db }) => replanAfterClockChange(db) },
]
