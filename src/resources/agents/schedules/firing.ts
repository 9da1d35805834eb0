/**
 * Firing schedules: each moment counts once, however many workers look. What became of it and the next moment are
 * written in the transaction that starts the session, while the schedule is locked; a worker that dies leaves it due.
 */
import type { Config } from '#src/platform/config.ts'
import { createBoundedMap, type BoundedMap } from '#src/platform/caches/bounded-map.ts'
import { now } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Jobs } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { findAll, isDatabaseAway, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { scheduleLimits } from './limits.ts'
import type { Schedule } from './rows.ts'
import { startsNothingSql } from '#src/resources/agents/deployments/rows.ts'
import { mustWait } from '#src/resources/agents/starts.ts'
import { commonOwner, startTarget, startTogether } from './targets.ts'
import {
  failedTick,
  missedTick,
  overloadedTick,
  passedTick,
  recordTicks,
  skippedTick,
  startedTick,
  type Tick,
} from './ticks.ts'

/** What firing needs of a process. */
export type Firing = { config: Config; db: Db; jobs: Jobs; sealer: Sealer }

/** A schedule that is due, and what decides about its moment. */
type Due = Schedule & { isDone: boolean; isAtWork: boolean; isPaused: boolean }

/** Organizations that have as many running sessions as they may: until when their schedules wait, and why. */
type Held = BoundedMap<string, { organizationId: string; untilMs: number; reason: string }>

const heldMax = 10_000
/** How long after a refusal it explains why a moment was missed. */
const explainsMs = 60_000

/** Fires what is due in this process. */
export type ScheduleFiring = {
  /** Fires batches until nothing is due, or the signal fires. */
  fireDue: (signal?: AbortSignal) => Promise<void>
}

/** Makes what fires schedules in this process; any number of processes may. */
export function createScheduleFiring(services: Firing): ScheduleFiring {
  const held: Held = createBoundedMap({ entriesMax: heldMax })
  return {
    async fireDue(signal) {
      while (!signal?.aborted && (await fireBatch(services, held)));
    },
  }
}

/**
 * Fires some schedules in one transaction. Every organization that has some due gets its share of the batch, so that
 * one with many does not hold back the others.
 * @returns whether any fired, so that there may be more.
 */
async function fireBatch(services: Firing, held: Held): Promise<boolean> {
  const organizationIds = await findDueOrganizations(services.db, waiting(held))
  if (organizationIds.length === 0) return false
  const share = Math.ceil(scheduleLimits.batch / organizationIds.length)
  let locked: string[] = []
  try {
    return await transaction(services.db, async (tx) => {
      const due = await lockDue(tx, organizationIds, share)
      locked = due.map(({ id }) => id)
      return fireEach(services, tx, due, held)
    })
  } catch (error) {
    if (isDatabaseAway(error) || locked.length === 0) throw error
    log.warn({ err: error, schedules: locked.length }, 'schedules could not be fired together; each is fired alone')
    for (const id of locked) await fireAlone(services, id, held)
    return true
  }
}

/** @returns whether anything became of a moment, or of an organization that has to wait now: there may be more. */
async function fireEach(services: Firing, tx: Tx, due: readonly Due[], held: Held): Promise<boolean> {
  const ticks: Tick[] = []
  const ready: Due[] = []
  for (const schedule of due) {
    if (isWaiting(held, schedule.organizationId)) continue
    const tick = withoutStart(schedule, held)
    if (tick) ticks.push(tick)
    else ready.push(schedule)
  }
  for (const alike of Map.groupBy(ready, (schedule) => commonOwner(schedule) ?? schedule.id).values())
    ticks.push(...(await fireAlike(services, tx, alike, held)))
  await recordTicks(tx, ticks)
  return ticks.length > 0 || ready.length > 0 // what is ready starts, or its organization has to wait from now on
}

/** Starts schedules that may be started together; where that fails, each alone. */
async function fireAlike(services: Firing, tx: Tx, alike: readonly Due[], held: Held): Promise<Tick[]> {
  const sessions = alike.length > 1 ? await startTogether(services, tx, alike) : undefined
  if (sessions) return sessions.map(({ id }, at) => startedTick(alike[at]!, id)) // in their order
  const ticks: Tick[] = []
  for (const schedule of alike) {
    const tick = isWaiting(held, schedule.organizationId) ? undefined : await fire(services, tx, schedule, held)
    if (tick) ticks.push(tick)
  }
  return ticks
}

/** Fires one whose batch failed, so that no schedule can keep others from firing. */
async function fireAlone(services: Firing, id: string, held: Held): Promise<void> {
  const one = sql`s.id = ${id}`
  try {
    await transaction(services.db, async (tx) => {
      await fireEach(services, tx, await findAll<Due>(tx, dueSql(one)), held)
    })
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    log.error({ err: error, schedule: encodeId('schedule', id) }, 'a schedule could not be fired')
    await transaction(services.db, async (tx) => {
      const due = await findAll<Due>(tx, dueSql(one))
      const failure = { type: 'unknown_error' as const, message: 'Berth itself failed to start it. Its log says why.' }
      await recordTicks(
        tx,
        due.map((schedule) => failedTick(schedule, failure)),
      )
    })
  }
}

/** What becomes of a moment at which nothing is started; undefined when something is. */
function withoutStart(schedule: Due, held: Held): Tick | undefined {
  if (schedule.isDone) return passedTick(schedule) // the clock was set back since
  const late = missedTick(schedule)
  if (late) {
    const refusal = held.peek(schedule.organizationId)
    return refusal && performance.now() < refusal.untilMs + explainsMs ? overloadedTick(schedule, refusal.reason) : late
  }
  if (schedule.isPaused) return skippedTick(schedule, 'deployment_paused', 'Its deployment is paused or archived.')
  if (schedule.overlap === 'skip' && schedule.isAtWork)
    return skippedTick(schedule, 'overlap', 'The session of its previous run was still at work.')
  return undefined
}

/** Starts what a schedule is for. @returns what became of it; undefined when it has to wait. */
async function fire(services: Firing, tx: Tx, schedule: Due, held: Held): Promise<Tick | undefined> {
  const started = await startTarget(services, tx, schedule)
  if (started.session) return startedTick(schedule, started.session.id)
  if (!mustWait(started)) return failedTick(schedule, started.error)
  held.set(schedule.organizationId, {
    organizationId: schedule.organizationId,
    untilMs: performance.now() + scheduleLimits.heldSeconds * 1000,
    reason: started.error.message,
  })
  return undefined
}

/** What is due at this moment. */
function isDue() {
  const at = now()
  return sql`s.enabled and s.next_run_at <= ${at} and s.next_run_at + s.jitter_ms * interval '1 millisecond' <= ${at}`
}

/** Some of the organizations that have schedules due, in no order, so that all get their turn. */
async function findDueOrganizations(db: Db, except: readonly string[]): Promise<string[]> {
  const rows = await findAll<{ organizationId: string }>(
    db,
    sql`
    select organization_id from (select distinct organization_id from schedules s where ${isDue()} and organization_id <> all(${except}::uuid[])) due
    order by random() limit ${scheduleLimits.organizationsAtOnce}`,
  )
  return rows.map(({ organizationId }) => organizationId)
}

/** The schedules of these organizations that have been due for longest, locked; by organization, as all lock them. */
async function lockDue(tx: Tx, organizationIds: readonly string[], share: number): Promise<Due[]> {
  const chosen = sql`
    s.id = any (select due.id from unnest(${organizationIds}::uuid[]) o(id) cross join lateral (
      select s.id
      from schedules s
      where s.organization_id = o.id and ${isDue()}
      order by s.next_run_at, s.id limit ${share}
      for no key update skip locked) due)`
  return (await findAll<Due>(tx, dueSql(chosen))).toSorted((one, other) =>
    one.organizationId < other.organizationId ? -1 : one.organizationId > other.organizationId ? 1 : 0,
  )
}

function dueSql(chosen: ReturnType<typeof sql>) {
  return sql<Due>`
    select s.*, exists (select from schedule_runs r where r.schedule_id = s.id and r.scheduled_at = s.next_run_at) as is_done,
      exists (select from sessions where id = s.last_session_id and status in ('running', 'rescheduling')) as is_at_work,
      exists (select from deployments d where d.id = s.deployment_id and ${startsNothingSql}) as is_paused
    from schedules s where ${chosen} and ${isDue()} for no key update of s skip locked`
}

/** The organizations whose schedules wait now. */
function waiting(held: Held): string[] {
  return [...held.values()].flatMap(({ organizationId, untilMs }) =>
    performance.now() < untilMs ? [organizationId] : [],
  )
}

function isWaiting(held: Held, organizationId: string): boolean {
  return performance.now() < (held.peek(organizationId)?.untilMs ?? 0)
}
