/**
 * Starting a run of a deployment: by its owner, by a schedule or by a trigger. The session, or why there is none, and
 * its record are written in one transaction.
 */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { change, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { inSavepoint } from '#src/platform/postgres/savepoints.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import { startOnBehalf, type Started, type StartOrder } from '#src/resources/agents/starts.ts'
import { isLastingError, type StartError } from '#src/resources/agents/starts/errors.ts'
import type { StartServices } from '#src/resources/agents/sessions/plans.ts'
import { emitWebhookEvents } from '#src/resources/infra/webhooks/emit.ts'
import { deploymentLimits } from './limits.ts'
import { environmentOf, type Deployment, type DeploymentRun, type PausedReason, type RunTrigger } from './rows.ts'
import { pauseIfActive } from './states.ts'

/** The notice that a deployment has a new run; the id is the deployment's. */
export const deploymentTopic = 'deployment'

/** What starts a run. `agent` and `kickoff`: a trigger's own, in place of the deployment's. */
export type RunStart = { trigger: RunTrigger; agent?: StartOrder['agent']; kickoff?: Kickoff }

/** What became of it: the record, and the session or the error as startOnBehalf answers them. */
export type StartedRun = Started & { run: DeploymentRun }

/**
 * Starts a run in the caller's transaction and records it. Whether the deployment is paused is the caller's question:
 * its owner may run it then, schedules and triggers may not. A lasting failure of a run that nobody asked for pauses it.
 * @returns undefined when the deployment is deleted meanwhile.
 * @throws only faults of Berth itself.
 */
export async function startDeployment(
  services: StartServices,
  tx: Tx,
  deployment: Deployment,
  {
    trigger,
    agent = { id: deployment.agentId, version: deployment.agentVersion },
    kickoff = deployment.kickoff,
  }: RunStart,
): Promise<StartedRun | undefined> {
  // Nothing starts for one that is gone.
  const started = await inSavepoint(
    tx,
    (result) => result !== undefined,
    () => startRecorded(services, tx, deployment, { trigger, agent, kickoff }),
  )
  if (
    started?.error &&
    trigger.type !== 'manual' &&
    isLastingError(started.error.type) &&
    (agent.id === deployment.agentId || placeErrors.includes(started.error.type))
  )
    await pauseByError(tx, deployment.id, started.error)
  return started
}

async function startRecorded(
  services: StartServices,
  tx: Tx,
  deployment: Deployment,
  { trigger, agent, kickoff }: Required<RunStart>,
): Promise<StartedRun | undefined> {
  const started = await startOnBehalf(services, tx, {
    organizationId: deployment.organizationId,
    userId: deployment.ownerUserId,
    agent,
    environment: environmentOf(deployment),
    vaultIds: deployment.vaultIds,
    kickoff,
    budgetNanoUsd: deployment.budgetNanoUsd,
    title: deployment.name,
    metadata: deployment.metadata,
    source: trigger.type === 'manual' ? 'deployment' : trigger.type,
    deploymentId: deployment.id,
  })
  const run = await recordRun(tx, deployment.id, { trigger, agent }, started)
  return run && { ...started, run }
}

async function recordRun(
  tx: Tx,
  id: string,
  { trigger, agent }: Pick<Required<RunStart>, 'trigger' | 'agent'>,
  { session, error }: Started,
): Promise<DeploymentRun | undefined> {
  const version = session?.agentVersion ?? agent.version ?? (await newestVersion(tx, agent.id))
  const run = await findOne<DeploymentRun>(
    tx,
    sql`
    with counted as (
      update deployments set run_position = run_position + 1, last_run_at = case when ${session !== undefined} then now() else last_run_at end
      where id = ${id} returning id, organization_id, owner_user_id, run_position)
    insert into deployment_runs (id, deployment_id, organization_id, owner_user_id, position, agent_id, agent_version, session_id, error, trigger)
    select ${newUuid()}::uuid, id, organization_id, owner_user_id, run_position, ${agent.id}, ${version}, ${session?.id ?? null},
      ${error ? JSON.stringify(error) : null}::jsonb, ${JSON.stringify(trigger)}::jsonb
    from counted returning *`,
  )
  if (!run) return undefined
  if (run.position % deploymentLimits.runsTrimmedEvery === 0)
    await change(
      tx,
      sql`delete from deployment_runs where deployment_id = ${id} and position <= ${run.position - deploymentLimits.runsKept}`,
    )
  publish(tx, deploymentTopic, id)
  const types = error
    ? (['deployment_run.failed'] as const)
    : (['deployment_run.started', 'deployment_run.succeeded'] as const)
  await emitWebhookEvents(
    tx,
    run.organizationId,
    types.map((type) => ({ type, id: encodeId('deploymentRun', run.id) })),
  )
  return run
}

async function newestVersion(tx: Tx, agentId: string): Promise<number> {
  const agent = await findOne<Pick<Row<'agents'>, 'version'>>(tx, sql`select version from agents where id = ${agentId}`)
  return agent?.version ?? 1 // one that is deleted takes its deployments with it
}

/** Errors that are of the deployment, also where a trigger brings an agent of its own. */
const placeErrors: readonly StartError['type'][] = [
  'environment_archived_error',
  'environment_not_found_error',
  'vault_archived_error',
  'vault_not_found_error',
]

/** Pauses a deployment that failed by itself. */
async function pauseByError(tx: Tx, id: string, { type }: StartError): Promise<void> {
  if (type === 'session_rate_limited_error') throw new Error('limits never pause a deployment')
  const reason: PausedReason = {
    type: 'error',
    error: { type: type === 'session_creation_rejected_error' ? 'unknown_error' : type },
  }
  await pauseIfActive(tx, id, reason)
}

/** The error of a run that its owner asked for and that did not start, with the id of its record. */
export function runRefused(refusal: BerthError, details: Record<string, unknown>): BerthError {
  const code = [402, 409, 429, 503].includes(refusal.status) ? refusal.code : 'run_not_started'
  return new BerthError(code, refusal.message, { ...refusal.details, ...details })
}
