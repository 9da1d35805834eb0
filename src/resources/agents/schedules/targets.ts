/** Starting what a schedule is for: a session with its agent, or a run of its deployment. */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Tx } from '#src/platform/postgres.ts'
import { inSavepoint } from '#src/platform/postgres/savepoints.ts'
import { findDeploymentRow } from '#src/resources/agents/deployments/rows.ts'
import { startDeployment } from '#src/resources/agents/deployments/starting.ts'
import type { StartServices } from '#src/resources/agents/sessions/plans.ts'
import type { Session } from '#src/resources/agents/sessions/rows.ts'
import { mustWait, startAgent, startAgentsTogether, type Started } from '#src/resources/agents/starts.ts'
import type { Schedule } from './rows.ts'

/** Starts it in this transaction, on behalf of the schedule's owner. @returns what startOnBehalf returns. */
export async function startTarget(services: StartServices, tx: Tx, schedule: Schedule): Promise<Started> {
  const { organizationId, ownerUserId, agentId, agentVersion, deploymentId, kickoff } = schedule
  if (deploymentId !== null) return startItsDeployment(services, tx, schedule, deploymentId)
  if (agentId === null || kickoff === null) throw new Error('a schedule has neither an agent nor a deployment')
  const agent = { id: agentId, version: agentVersion }
  return startAgent(services, tx, { organizationId, userId: ownerUserId, agent, kickoff, source: 'schedule' })
}

/**
 * What schedules that can be started together have in common: their owner. Undefined for those of a deployment, whose
 * starts are recorded one by one.
 */
export function commonOwner({ organizationId, ownerUserId, agentId }: Schedule): string | undefined {
  return agentId === null ? undefined : `${organizationId} ${ownerUserId}`
}

/**
 * Starts the agents of schedules of one commonOwner, with few statements for all of them.
 * @returns the sessions in their order; undefined when something keeps one from starting, so that none has.
 */
export async function startTogether(
  services: StartServices,
  tx: Tx,
  schedules: readonly Schedule[],
): Promise<Session[] | undefined> {
  const [first] = schedules
  const starts = schedules.flatMap(({ agentId, agentVersion, kickoff }) =>
    agentId === null || kickoff === null ? [] : { agent: { id: agentId, version: agentVersion }, kickoff },
  )
  if (!first || starts.length < schedules.length) return undefined
  const given = { organizationId: first.organizationId, userId: first.ownerUserId, source: 'schedule' } as const
  return (await startAgentsTogether(services, tx, given, starts)).sessions
}

/** A run of the deployment; one that has to wait leaves no record. */
async function startItsDeployment(
  services: StartServices,
  tx: Tx,
  schedule: Schedule,
  deploymentId: string,
): Promise<Started> {
  const deployment = await findDeploymentRow(tx, deploymentId)
  const scheduled_at = schedule.nextRunAt ?? '' // one that is due has a next moment
  const schedule_id = encodeId('schedule', schedule.id)
  const started =
    deployment &&
    (await inSavepoint(
      tx,
      (result) => !result || !mustWait(result),
      () => startDeployment(services, tx, deployment, { trigger: { type: 'schedule', scheduled_at, schedule_id } }),
    ))
  if (started) return started
  const refusal = new BerthError('not_found', 'Its deployment is deleted.')
  return { error: { type: 'unknown_error', message: refusal.message }, refusal }
}
