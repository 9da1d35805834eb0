/** Rows of schedules and of their runs, and their queries. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import type { StartErrorType } from '#src/resources/agents/starts/errors.ts'

/** What happens at a moment when the session of the run before is still at work. */
export type Overlap = 'skip' | 'allow'

/** A schedule as it is stored; times are RFC 3339 text, ids are uuids. It has an agent with a kickoff, or a deployment. */
export type Schedule = Row<'schedules', { kickoff: Kickoff | null; overlap: Overlap }>

/** What became of a moment. */
export type ScheduleRunStatus = 'started' | 'skipped' | 'failed'

/** Why nothing was started although nothing failed. */
export type SkipReason = 'overlap' | 'missed' | 'rate_limited' | 'deployment_paused'

/** A run: a moment of a schedule, and what became of it. `sessionId` is null too once that session is deleted. */
export type ScheduleRun = Row<
  'schedule_runs',
  { status: ScheduleRunStatus; skipReason: SkipReason | null; errorType: StartErrorType | null }
>

/** The notice that a schedule has a new run, or was changed or deleted; the id is the schedule's. */
export const scheduleTopic = 'schedule'

/** Queries for schedules. */
export const scheduleRows = rowsOf<Schedule>('schedule', 'schedules', 'schedule', sql`*`, ['kickoff'])

/** Queries for runs. */
export const runRows = rowsOf<ScheduleRun>('scheduleRun', 'schedule_runs', 'schedule run')

/** The caller's schedule, locked until the transaction ends. @throws BerthError not_found. */
export async function lockSchedule(tx: Tx, scope: Scope, publicId: string): Promise<Schedule> {
  return scheduleRows.read(tx, publicId, ownedByCaller(scope), sql`for no key update`)
}
