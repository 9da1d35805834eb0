/**
 * The field `schedule` of a deployment, as Anthropic's clients have it: the oldest of the schedules that run it. Firing
 * locks a schedule before its deployment, so these are locked before the deployment too.
 */
import { allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Cron } from '#src/platform/jobs/cron.ts'
import { change, findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import type { Deployment } from '#src/resources/agents/deployments/rows.ts'
import { changePlan, checkScheduleCount, insertSchedule } from './making.ts'
import { scheduleTopic, type Schedule } from './rows.ts'

/**
 * Locks the schedules that run a deployment until the transaction ends, before it locks the deployment. Whoever else
 * does waits until then, or one that is made meanwhile would be locked after the deployment.
 */
export async function lockSchedulesOf(tx: Tx, deploymentId: string): Promise<void> {
  await change(tx, sql`select pg_advisory_xact_lock(hashtextextended(${`schedules of deployment ${deploymentId}`}, 0))`)
  await readSchedulesOf(tx, deploymentId)
}

/**
 * Makes this the schedule of a deployment, which is locked; null deletes all that run it. Given again, one that was
 * disabled is enabled.
 * @throws BerthError invalid_request when several run it; rate_limited when the organization has too many.
 */
export async function setScheduleOf(tx: Tx, deployment: Deployment, given: Cron | null): Promise<void> {
  const [before, another] = await readSchedulesOf(tx, deployment.id)
  if (given === null) return deleteSchedulesOf(tx, deployment.id)
  if (another)
    throw new BerthError(
      'invalid_request',
      'Several schedules run this deployment, and schedule would replace only one of them. Change each of them by its id, or send null, which deletes them all.',
      { field: 'schedule' },
    )
  if (before) {
    await changePlan(tx, before, { ...given, enabled: true, overlap: before.overlap, kickoff: null, name: before.name })
    return
  }
  const { id, organizationId, ownerUserId } = deployment
  await checkScheduleCount(tx, organizationId)
  const target = { agentId: null, agentVersion: null, deploymentId: id, kickoff: null, name: null }
  await insertSchedule(tx, { ...given, ...target, organizationId, userId: ownerUserId, enabled: true, overlap: 'skip' })
}

/** The oldest schedule of each deployment of these stored ids that has any. */
export async function findFirstSchedulesOf(
  call: Call,
  deploymentIds: readonly string[],
): Promise<(Schedule & { deploymentId: string })[]> {
  const reach = allowAnywhere(call.caller, 'schedules:read')
  return findAll<Schedule & { deploymentId: string }>(
    call.db,
    sql`
    select first.* from unnest(${deploymentIds}::uuid[]) given(id)
      cross join lateral (select * from schedules where deployment_id = given.id and ${ownedByCaller(reach)} order by id limit 1) first`,
  )
}

/** The oldest first, locked. */
async function readSchedulesOf(tx: Tx, deploymentId: string): Promise<Schedule[]> {
  return findAll<Schedule>(
    tx,
    sql`select * from schedules where deployment_id = ${deploymentId} order by id for no key update`,
  )
}

async function deleteSchedulesOf(tx: Tx, deploymentId: string): Promise<void> {
  const deleted = await findAll<{ id: string }>(tx, sql`select id from schedules where deployment_id = ${deploymentId}`)
  await change(tx, sql`delete from schedules where deployment_id = ${deploymentId}`)
  for (const { id } of deleted) publish(tx, scheduleTopic, id) // subscribers learn that it is deleted
}
