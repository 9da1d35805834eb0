/** Writing schedules: a new one, and another plan for one that is there. */
import { now } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { nextMoment, type Cron } from '#src/platform/jobs/cron.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { getOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import { scheduleLimits } from './limits.ts'
import { scheduleTopic, type Overlap, type Schedule } from './rows.ts'

/** A new schedule: exactly one of agent with kickoff, and deployment; ids are uuids. */
export type NewSchedule = Cron & {
  organizationId: string
  userId: string | null
  agentId: string | null
  agentVersion: number | null
  deploymentId: string | null
  kickoff: Kickoff | null
  enabled: boolean
  overlap: Overlap
  name: string | null
}

/** Refuses another schedule where there are too many. @throws BerthError rate_limited. */
export async function checkScheduleCount(tx: Tx, organizationId: string): Promise<void> {
  await checkCount(tx, organizationId, { table: 'schedules', most: scheduleLimits.schedulesMax })
}

/** Writes a new schedule, and plans its first moment. */
export async function insertSchedule(tx: Tx, given: NewSchedule): Promise<Schedule> {
  const id = newUuid()
  const planned = now()
  return getOne<Schedule>(
    tx,
    sql`
    insert into schedules (id, organization_id, owner_user_id, name, agent_id, agent_version, deployment_id, kickoff, cron, timezone,
      enabled, overlap, jitter_ms, next_run_at, planned_at)
    values (${id}, ${given.organizationId}, ${given.userId}, ${given.name}, ${given.agentId}, ${given.agentVersion}, ${given.deploymentId},
      ${json(given.kickoff)}::jsonb, ${given.cron}, ${given.timezone}, ${given.enabled}, ${given.overlap},
      ${jitterOf(id)}, ${given.enabled ? nextMoment(given, planned) : null}, ${planned}) returning *`,
  )
}

/** What may change of a schedule. */
export type SchedulePlan = Cron & { enabled: boolean; overlap: Overlap; kickoff: Kickoff | null; name: string | null }

/**
 * Changes a schedule that this transaction has locked. One that is enabled again counts its failures anew, and moments
 * that passed while it was disabled are not made up for.
 */
export async function changePlan(tx: Tx, before: Schedule, plan: SchedulePlan): Promise<Schedule> {
  const { name, cron, timezone, enabled, overlap, kickoff } = plan
  const isAgain = enabled && !before.enabled
  const isSame = cron === before.cron && timezone === before.timezone && enabled === before.enabled
  const planned = isSame ? before.plannedAt : now()
  const nextRunAt = isSame ? before.nextRunAt : enabled ? nextMoment({ cron, timezone }, now()) : null
  const schedule = await getOne<Schedule>(
    tx,
    sql`
    update schedules
    set name = ${name}, cron = ${cron}, timezone = ${timezone}, enabled = ${enabled}, overlap = ${overlap}, kickoff = ${json(kickoff)}::jsonb,
      next_run_at = ${nextRunAt}, planned_at = ${planned},
      failures = ${isAgain ? 0 : before.failures}, last_error = ${isAgain ? null : before.lastError}, updated_at = now() where id = ${before.id} returning *`,
  )
  publish(tx, scheduleTopic, schedule.id)
  return schedule
}

/** So many milliseconds after its moments a schedule fires: always as many, and not all schedules at once. */
function jitterOf(id: string): number {
  return Number.parseInt(id.slice(-8), 16) % (scheduleLimits.jitterSeconds * 1000)
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
