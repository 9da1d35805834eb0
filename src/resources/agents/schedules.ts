/** Schedules: at the moments of a cron expression they start a session, with an agent or by a deployment. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { momentAt } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { momentsFrom, readCron } from '#src/platform/jobs/cron.ts'
import { isGiven, type Direction, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { change, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { refuseNulls } from '#src/platform/shapes.ts'
import { readName } from '#src/platform/shapes/fields.ts'
import { readStartDeployment, type StartDeploymentInput } from './deployments/fields.ts'
import { scheduleLimits } from './schedules/limits.ts'
import { readStartAgent, type StartAgentInput } from './starts/fields.ts'
import { nameError } from './starts/names.ts'
import { readKickoff, type Kickoff, type KickoffInput } from './kickoffs.ts'
import { belongsTo, belongsToEach } from './parent-filters.ts'
import { changePlan, checkScheduleCount, insertSchedule } from './schedules/making.ts'
import { lockSchedule, scheduleRows, scheduleTopic, type Overlap, type Schedule } from './schedules/rows.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** The input of a schedule; absent fields of a change stay. */
export type ScheduleChange = {
  name?: string | null
  cron?: string | null
  timezone?: string | null
  enabled?: boolean | null
  overlap?: Overlap | null
  kickoff?: KickoffInput | null
}
/** The same for a new one: an agent with a kickoff, or a deployment. */
export type ScheduleOrder = ScheduleChange & {
  agent?: StartAgentInput | null
  deployment?: StartDeploymentInput | null
}
/** Conditions of a list of schedules; all must hold. */
export type ScheduleFilter = { agentId?: string | null; deploymentId?: string | null }

/**
 * Creates a schedule.
 * @throws BerthError invalid_cron, invalid_timezone, invalid_request; not_found, resource_archived of the agent or
 * deployment; rate_limited when the organization has too many.
 */
export async function createSchedule(call: Call, order: ScheduleOrder): Promise<Schedule> {
  const scope = allow(call.caller, 'schedules:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  const { cron, timezone } = readCron(order.cron ?? '', order.timezone ?? '')
  const { enabled, overlap } = { enabled: order.enabled ?? true, overlap: order.overlap ?? 'skip' }
  checkOneTarget(order)
  const kickoff = order.kickoff ? readKickoff(order.kickoff) : null
  const name = isGiven(order.name) ? readName(order.name, 'name') : null
  const made = transaction(call.db, async (tx) => {
    await checkScheduleCount(tx, scope.organizationId)
    const target = await resolveTarget(call, tx, scope, order)
    const { organizationId, userId } = scope
    return insertSchedule(tx, { organizationId, userId, name, ...target, kickoff, cron, timezone, enabled, overlap })
  })
  return made.catch((error: unknown) => {
    throw nameError(error, 'schedule')
  })
}

/** The schedule of this id. @throws BerthError not_found. */
export async function getSchedule(call: Call, publicId: string): Promise<Schedule> {
  return scheduleRows.read(call.db, publicId, ownedByCaller(allow(call.caller, 'schedules:read')))
}

/** The schedules of these stored ids that are the caller's. */
export async function findSchedules(call: Call, ids: readonly string[]): Promise<Schedule[]> {
  return scheduleRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'schedules:read')))
}

/** The caller's schedules, newest first. @throws BerthError invalid_request. */
export async function pageSchedules(
  call: Call,
  window: PageWindow,
  filter?: ScheduleFilter | null,
  direction?: Direction,
): Promise<Page<Schedule>> {
  const scope = allow(call.caller, 'schedules:read')
  const chosen = sql`${ownedByCaller(scope)} and ${belongsTo('agent', filter?.agentId)} and ${belongsTo('deployment', filter?.deploymentId)}`
  return scheduleRows.page(call.db, window, chosen, direction)
}

/** The caller's schedules of each agent, or each deployment, of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageSchedulesOfEach(
  call: Call,
  parent: 'agent' | 'deployment',
  parentIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<Schedule>> {
  const scope = allow(call.caller, 'schedules:read')
  return scheduleRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${parentIds}::uuid[]) given(id)`,
    parentName: parent,
    chosen: sql`${ownedByCaller(scope)} and ${belongsToEach(parent)}`,
    direction,
  })
}

/**
 * Changes a schedule; absent fields stay. One that is enabled again counts its failures anew, and moments that passed
 * while it was disabled are not made up for.
 * @throws BerthError not_found; invalid_cron, invalid_timezone, invalid_request.
 */
export async function updateSchedule(call: Call, publicId: string, given: ScheduleChange): Promise<Schedule> {
  const scope = allow(call.caller, 'schedules:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  refuseNulls(given)
  const changed = transaction(call.db, async (tx) => {
    const before = await lockSchedule(tx, scope, publicId)
    if (changesNothing(given)) return before
    const { cron, timezone } = readCron(given.cron ?? before.cron, given.timezone ?? before.timezone)
    const enabled = given.enabled ?? before.enabled
    const overlap = given.overlap ?? before.overlap
    const kickoff = isGiven(given.kickoff) ? readKickoffOf(before, given.kickoff) : before.kickoff
    const name = isGiven(given.name) ? readName(given.name, 'name') : before.name
    return changePlan(tx, before, { name, cron, timezone, enabled, overlap, kickoff })
  })
  return changed.catch((error: unknown) => {
    throw nameError(error, 'schedule')
  })
}

/** Deletes a schedule with its runs; sessions that it started stay. @throws BerthError not_found. */
export async function deleteSchedule(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'schedules:write')
  await transaction(call.db, async (tx) => {
    const { id } = await lockSchedule(tx, scope, publicId)
    await change(tx, sql`delete from schedules where id = ${id}`)
    publish(tx, scheduleTopic, id) // subscribers learn that it is deleted
  })
}

/** The next moments of a schedule, five at most; none while it is disabled. */
export async function upcomingMoments(schedule: Schedule): Promise<Date[]> {
  const { nextRunAt } = schedule
  return momentsFrom(schedule, nextRunAt ? momentAt(nextRunAt) : null, scheduleLimits.upcomingMax)
}

function checkOneTarget({ agent, deployment, kickoff }: ScheduleOrder): void {
  if (isGiven(agent) === isGiven(deployment))
    throw new BerthError('invalid_request', 'Give either agent with a kickoff, or deployment, which has its own.')
  if (isGiven(agent) && !isGiven(kickoff))
    throw new BerthError('invalid_request', 'agent needs a kickoff: what the agent is told first.')
  if (isGiven(deployment) && isGiven(kickoff)) throw kickoffOfDeployment()
}

function kickoffOfDeployment(): BerthError {
  return new BerthError(
    'invalid_request',
    'A deployment has its own kickoff, so leave kickoff out, or change it there.',
  )
}

function readKickoffOf(schedule: Schedule, given: KickoffInput): Kickoff {
  if (schedule.deploymentId !== null) throw kickoffOfDeployment()
  return readKickoff(given)
}

type Target = { agentId: string | null; agentVersion: number | null; deploymentId: string | null }

/** The agent or the deployment that a request names, locked so that it cannot be deleted meanwhile. */
async function resolveTarget(call: Call, tx: Tx, scope: Scope, { agent, deployment }: ScheduleOrder): Promise<Target> {
  if (deployment) {
    const { id } = await readStartDeployment(tx, scope, deployment)
    return { agentId: null, agentVersion: null, deploymentId: id }
  }
  const { id, version } = await readStartAgent(call, tx, scope, agent)
  return { agentId: id, agentVersion: version, deploymentId: null }
}
