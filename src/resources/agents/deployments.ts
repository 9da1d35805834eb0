/**
 * Deployments: an agent with everything that a run of it needs: where it works, vaults, what it is told. Create, read,
 * update, pause, archive, delete, run. They belong to people.
 */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import type { Cron } from '#src/platform/jobs/cron.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { refuseNulls } from '#src/platform/shapes.ts'
import {
  mergeMetadata,
  readDescription,
  readMetadata,
  readName,
  type MetadataInput,
} from '#src/platform/shapes/fields.ts'
import { createdWithin, type CreatedFilter } from './created-filters.ts'
import {
  readDeploymentSchedule,
  readStartEnvironment,
  refuseResources,
  type DeploymentScheduleInput,
  type EnvironmentGiven,
} from './deployments/fields.ts'
import { deploymentLimits } from './deployments/limits.ts'
import { readStartAgent, type StartAgentInput } from './starts/fields.ts'
import {
  deploymentArchived,
  deploymentRows,
  environmentOf,
  readDeployment,
  type Deployment,
  type DeploymentRun,
  type DeploymentStatus,
} from './deployments/rows.ts'
import { deploymentTopic, runRefused, startDeployment } from './deployments/starting.ts'
import { pausedByOwner, pauseIfActive, notifyOfDeployment, unpauseIfPaused } from './deployments/states.ts'
import { readEitherKickoff, type KickoffGiven } from './kickoffs.ts'
import { belongsTo, belongsToEach } from './parent-filters.ts'
import type { StartEnvironment } from './starts.ts'
import { resolveVaults } from './sessions/plans.ts'
import type { Session } from './sessions/rows.ts'
import { readBudget, type BudgetInput } from './sessions/usage.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** A deployment is about to be locked: what starts it is locked before it, in the order of starts. */
export const deploymentLocking = hook<[tx: Tx, deploymentId: string]>('deployment locking')
/** A deployment, which is locked, is given a schedule; null takes away all that it has. */
export const deploymentScheduling =
  hook<[tx: Tx, deployment: Deployment, schedule: Cron | null]>('deployment scheduling')

/** The fields of a deployment as callers send them: absent means the default, or unchanged. */
export type DeploymentFields = {
  name?: string | null
  description?: string | null
  agent?: StartAgentInput | null
  vaultIds?: readonly string[] | null
  metadata?: MetadataInput | null
  budget?: BudgetInput | null
  status?: DeploymentStatus | null
  resources?: readonly unknown[] | null
  schedule?: DeploymentScheduleInput | null
} & EnvironmentGiven &
  KickoffGiven

/** Conditions of a list of deployments; all must hold. */
export type DeploymentFilter = CreatedFilter &
  TextFilter & {
    agentId?: string | null
    status?: DeploymentStatus | null
    includeArchived?: boolean | null
  }

/** A started run: its record, and its session. */
export type RunOfDeployment = { run: DeploymentRun; session: Session }

/** Creates a deployment. @throws BerthError invalid_request, invalid_template, not_found, resource_archived, vault_archived, invalid_cron, invalid_timezone, rate_limited. */
export async function createDeployment(call: Call, fields: DeploymentFields): Promise<Deployment> {
  const scope = allow(call.caller, 'deployments:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  refuseResources(fields.resources)
  const name = readName(fields.name)
  const description = readDescription(fields.description)
  const kickoff = readEitherKickoff(fields)
  if (!kickoff)
    throw new BerthError('invalid_request', 'kickoff is required: a text, or {"events": [...]} with 1 to 50 events.')
  const metadata = readMetadata(fields.metadata)
  const budget = readBudget(fields.budget)
  const paused = fields.status === 'paused' ? JSON.stringify(pausedByOwner) : null
  const schedule = readSchedule(call, fields)
  return transaction(call.db, async (tx) => {
    const agent = await readStartAgent(call, tx, scope, fields.agent)
    const environment = columnsOf((await readStartEnvironment(tx, scope, fields)) ?? { type: 'none' })
    const vaultIds = await resolveVaults(tx, scope, fields.vaultIds)
    await checkCount(tx, scope.organizationId, { table: 'deployments', most: deploymentLimits.deploymentsMax })
    const id = newUuid()
    await notifyOfDeployment(tx, { id, organizationId: scope.organizationId }, 'deployment.created')
    const deployment = await getOne<Deployment>(
      tx,
      sql`
      insert into deployments (id, organization_id, owner_user_id, name, description, agent_id, agent_version, environment_type,
        environment_id, environment_config, vault_ids, kickoff, budget_nano_usd, metadata, status, paused_reason)
      values (${id}, ${scope.organizationId}, ${scope.userId}, ${name}, ${description}, ${agent.id}, ${agent.version},
        ${environment.type}, ${environment.id}, ${environment.config}::jsonb,
        ${vaultIds}::uuid[], ${JSON.stringify(kickoff)}::jsonb, ${budget}, ${JSON.stringify(metadata)}::jsonb,
        ${paused ? 'paused' : 'active'}, ${paused}::jsonb)
        returning *`,
    )
    if (schedule) await deploymentScheduling.run(tx, deployment, schedule)
    return deployment
  })
}

/** The deployment of this id. @throws BerthError not_found. */
export async function getDeployment(call: Call, publicId: string): Promise<Deployment> {
  return readDeployment(call.db, allow(call.caller, 'deployments:read'), publicId)
}

/** The deployments of these stored ids that are the caller's. */
export async function findDeployments(call: Call, ids: readonly string[]): Promise<Deployment[]> {
  return deploymentRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'deployments:read')))
}

/** How deployments are found. */
export const deploymentSearch: Searched = {
  type: 'Deployment',
  may: 'deployments:read',
  table: 'deployments',
  title: sql`name`,
  whose: (scope) => sql`${ownedByCaller(scope)} and archived_at is null`,
}

/** The caller's deployments, newest first by default. @throws BerthError invalid_request. */
export async function pageDeployments(
  call: Call,
  window: PageWindow,
  filter?: DeploymentFilter | null,
  direction?: Direction,
): Promise<Page<Deployment>> {
  const scope = allow(call.caller, 'deployments:read')
  const { status = null, includeArchived } = filter ?? {}
  if (status && includeArchived)
    throw new BerthError('invalid_request', 'Give either status or include_archived: archived ones have no status.')
  const chosen = sql`${ownedByCaller(scope)} and ${belongsTo('agent', filter?.agentId)} and ${createdWithin(filter ?? {})}
    and (${status}::text is null or ${status} = status) and (${includeArchived ?? false} or archived_at is null) and ${hasTextOf(deploymentSearch, filter)}`
  return deploymentRows.page(call.db, window, chosen, direction)
}

/** The caller's deployments of each agent of these stored ids, archived ones too, newest first. @throws BerthError invalid_request. */
export async function pageDeploymentsOfEach(
  call: Call,
  agentIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<Deployment>> {
  const scope = allow(call.caller, 'deployments:read')
  return deploymentRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${agentIds}::uuid[]) given(id)`,
    parentName: 'agent',
    chosen: sql`${ownedByCaller(scope)} and ${belongsToEach('agent')}`,
  })
}

/**
 * Updates a deployment; sessions that have started stay as they are.
 * @throws BerthError not_found, resource_archived; as createDeployment.
 */
export async function updateDeployment(call: Call, publicId: string, fields: DeploymentFields): Promise<Deployment> {
  const scope = allow(call.caller, 'deployments:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  refuseNulls({ kickoff: fields.kickoff, initial_events: fields.initialEvents, status: fields.status })
  refuseResources(fields.resources)
  const schedule = readSchedule(call, fields)
  return transaction(call.db, async (tx) => {
    const seen = await readDeployment(tx, scope, publicId)
    if (changesNothing(fields)) return lockUsable(tx, seen.id)
    // Schedules and the agent are locked before the deployment, in the order of deletions and runs.
    if (schedule !== undefined) await deploymentLocking.run(tx, seen.id)
    const agent = fields.agent === undefined ? undefined : await readStartAgent(call, tx, scope, fields.agent)
    const environment = await readStartEnvironment(tx, scope, fields)
    const vaultIds = fields.vaultIds === undefined ? undefined : await resolveVaults(tx, scope, fields.vaultIds)
    const before = await lockUsable(tx, seen.id)
    const place = columnsOf(environment ?? environmentOf(before))
    const kickoff = readEitherKickoff(fields) ?? before.kickoff
    const changed = await getOne<Deployment>(
      tx,
      sql`
      update deployments set name = ${fields.name === undefined ? before.name : readName(fields.name)},
        description = ${fields.description === undefined ? before.description : readDescription(fields.description)},
        agent_id = ${(agent ?? { id: before.agentId }).id}, agent_version = ${agent ? agent.version : before.agentVersion},
        environment_type = ${place.type}, environment_id = ${place.id}, environment_config = ${place.config}::jsonb,
        vault_ids = ${vaultIds ?? before.vaultIds}::uuid[],
        kickoff = ${JSON.stringify(kickoff)}::jsonb, budget_nano_usd = ${fields.budget === undefined ? before.budgetNanoUsd : readBudget(fields.budget)},
        metadata = ${JSON.stringify(mergeMetadata(before.metadata, fields.metadata))}::jsonb, updated_at = now()
      where id = ${before.id} returning *`,
    )
    if (schedule !== undefined) await deploymentScheduling.run(tx, before, schedule)
    if (Object.keys(fields).some((name) => name !== 'status'))
      await notifyOfDeployment(tx, before, 'deployment.updated')
    if (fields.status === 'paused') return (await pauseIfActive(tx, before.id, pausedByOwner)) ?? changed
    const unpaused = fields.status === 'active' ? await unpauseIfPaused(tx, before.id) : undefined
    if (unpaused) await notifyOfDeployment(tx, unpaused, 'deployment.unpaused')
    return unpaused ?? changed
  })
}

/** Pauses a deployment: nothing starts it but its owner. One that is paused stays as it is. @throws BerthError not_found, resource_archived. */
export function pauseDeployment(call: Call, publicId: string): Promise<Deployment> {
  return updateDeployment(call, publicId, { status: 'paused' })
}

/** Lets schedules and triggers start it again; what they missed is not made up. @throws BerthError not_found, resource_archived. */
export function resumeDeployment(call: Call, publicId: string): Promise<Deployment> {
  return updateDeployment(call, publicId, { status: 'active' })
}

/** Archives a deployment: nothing starts it any more; its sessions go on. Again changes nothing. @throws BerthError not_found. */
export async function archiveDeployment(call: Call, publicId: string): Promise<Deployment> {
  const scope = allow(call.caller, 'deployments:write')
  return transaction(call.db, async (tx) => {
    const before = await readDeployment(tx, scope, publicId, sql`for no key update`)
    if (before.archivedAt) return before
    await unpauseIfPaused(tx, before.id)
    await notifyOfDeployment(tx, before, 'deployment.archived')
    return getOne<Deployment>(
      tx,
      sql`update deployments set archived_at = now(), updated_at = now() where id = ${before.id} returning *`,
    )
  })
}

/** Deletes a deployment with the records of its runs; its sessions stay, and still name it. @throws BerthError not_found. */
export async function deleteDeployment(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'deployments:write')
  await transaction(call.db, async (tx) => {
    const { id, organizationId } = await readDeployment(tx, scope, publicId)
    await deploymentLocking.run(tx, id)
    await readDeployment(tx, scope, publicId, sql`for update`)
    await change(tx, sql`delete from deployments where id = ${id}`)
    await notifyOfDeployment(tx, { id, organizationId }, 'deployment.deleted')
    publish(tx, deploymentTopic, id) // subscribers learn that it is deleted
  })
}

/**
 * Starts a run now, on behalf of the caller, also of a paused deployment. What keeps it from starting is recorded too.
 * @throws BerthError not_found, resource_archived; 409, 402 or 429 with `deploymentRunId` when nothing could start.
 */
export async function runDeployment(call: Call, publicId: string): Promise<RunOfDeployment> {
  const scope = allow(call.caller, 'deployments:write')
  allow(call.caller, 'sessions:write')
  await call.limiter.spend(`deployment-runs:${scope.organizationId}`, deploymentLimits.runsPerMinute)
  const started = await transaction(call.db, async (tx) => {
    const deployment = await readDeployment(tx, scope, publicId)
    if (deployment.archivedAt) throw deploymentArchived()
    return startDeployment(call, tx, deployment, { trigger: { type: 'manual' } })
  })
  if (!started) throw notFound('deployment')
  if (started.error) throw runRefused(started.refusal, { deploymentRunId: encodeId('deploymentRun', started.run.id) })
  return { run: started.run, session: started.session }
}

/** The schedule that a request gives the deployment; null for none, undefined where it says nothing. */
function readSchedule(call: Call, { schedule }: DeploymentFields): Cron | null | undefined {
  if (schedule !== undefined && schedule !== null) allow(call.caller, 'schedules:write')
  return readDeploymentSchedule(schedule)
}

async function lockUsable(tx: Tx, id: string): Promise<Deployment> {
  const deployment = await findOne<Deployment>(tx, sql`select * from deployments where id = ${id} for no key update`)
  if (!deployment) throw notFound('deployment')
  if (deployment.archivedAt) throw deploymentArchived()
  return deployment
}

function columnsOf(environment: StartEnvironment): {
  type: StartEnvironment['type']
  id: string | null
  config: string | null
} {
  const { type } = environment
  return {
    type,
    id: type === 'existing' ? environment.environmentId : null,
    config: type === 'ephemeral' && environment.config ? JSON.stringify(environment.config) : null,
  }
}
