/** The records of deployments' runs: read, listed, followed from any position without gaps or repeats. */
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import { createdWithin, type CreatedFilter } from '#src/resources/agents/created-filters.ts'
import { belongsTo, belongsToEach } from '#src/resources/agents/parent-filters.ts'
import { deploymentRunRows, readDeployment, type DeploymentRun, type RunTrigger } from './rows.ts'
import { deploymentTopic } from './starting.ts'

/** Conditions of a list of runs; all must hold. */
export type DeploymentRunFilter = CreatedFilter & {
  deploymentId?: string | null
  hasError?: boolean | null
  triggerType?: RunTrigger['type'] | null
}

/** The record of this id. @throws BerthError not_found. */
export async function getDeploymentRun(call: Call, publicId: string): Promise<DeploymentRun> {
  return deploymentRunRows.read(call.db, publicId, ownedByCaller(allow(call.caller, 'deployments:read')))
}

/** The records of these stored ids that are the caller's. */
export async function findDeploymentRuns(call: Call, ids: readonly string[]): Promise<DeploymentRun[]> {
  return deploymentRunRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'deployments:read')))
}

/** The caller's records, newest first by default; none for a deployment that is not there. @throws BerthError invalid_request. */
export async function pageDeploymentRuns(
  call: Call,
  window: PageWindow,
  filter?: DeploymentRunFilter | null,
  direction?: Direction,
): Promise<Page<DeploymentRun>> {
  const scope = allow(call.caller, 'deployments:read')
  const { hasError = null, triggerType = null } = filter ?? {}
  const chosen = sql`${ownedByCaller(scope)} and ${belongsTo('deployment', filter?.deploymentId)} and ${createdWithin(filter ?? {})}
    and (${hasError}::boolean is null or (error is not null) = ${hasError}) and (${triggerType}::text is null or trigger ->> 'type' = ${triggerType})`
  return deploymentRunRows.page(call.db, window, chosen, direction)
}

/** The records of each deployment of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageDeploymentRunsOfEach(
  call: Call,
  deploymentIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<DeploymentRun>> {
  const scope = allow(call.caller, 'deployments:read')
  return deploymentRunRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${deploymentIds}::uuid[]) given(id)`,
    parentName: 'deployment',
    chosen: sql`${ownedByCaller(scope)} and ${belongsToEach('deployment')}`,
  })
}

/**
 * The deployment's runs after the cursor (only new ones without), as they are started; ends when it is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first run.
 */
export async function followRuns(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<DeploymentRun>> {
  const { id, runPosition } = await readDeployment(call.db, allow(call.caller, 'deployments:read'), publicId)
  return followRows<DeploymentRun>(call, id, after, {
    topic: deploymentTopic,
    rows: sql`deployment_runs where deployment_id = ${id}`,
    owner: sql`deployments where id = ${id}`,
    position: runPosition,
    latest: runPosition,
  })
}
