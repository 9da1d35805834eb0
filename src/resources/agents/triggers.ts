/** Triggers: events of a repository at the code host that start sessions on behalf of whoever made the trigger. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, ownedByCaller, userTokenRequired, type Scope } from '#src/platform/access.ts'
import { newUuid } from '#src/platform/ids.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { readsOf } from '#src/platform/nouns.ts'
import type { PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, findAll, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { readName } from '#src/platform/shapes/fields.ts'
import { readStartDeployment, type StartDeploymentInput } from './deployments/fields.ts'
import { readStartAgent } from './starts/fields.ts'
import { nameError } from './starts/names.ts'
import { belongsTo, belongsToEach } from './parent-filters.ts'
import { readEvents } from './triggers/events.ts'
import { triggerLimits } from './triggers/limits.ts'
import { concerning, readFilters, readFlag, readRepo, type TriggerInput } from './triggers/orders.ts'
import { proveRepository, type ProvenRepository } from './triggers/repositories.ts'
import { triggerRows, triggerTopic, type Trigger } from './triggers/rows.ts'

/** Conditions of a list of triggers. */
export type TriggerFilter = { agentId?: string | null; deploymentId?: string | null }

/** How callers read triggers. */
export const triggerReads = readsOf<Trigger, TriggerFilter>(triggerRows, {
  may: 'triggers:read',
  whose: ownedByCaller,
  listed: ({ agentId, deploymentId }) =>
    sql`${belongsTo('agent', agentId)} and ${belongsTo('deployment', deploymentId)}`,
})

/**
 * Creates a trigger for a repository that the caller's connected account may write to.
 * @throws BerthError invalid_request, not_found, resource_archived, provider_not_connected, rate_limited; as the driver.
 */
export async function createTrigger(call: Call, input: TriggerInput): Promise<Trigger> {
  const scope = allow(call.caller, 'triggers:write')
  if (scope.userId === null) throw userTokenRequired()
  const events = readEvents(input.events)
  const filters = concerning(readFilters(input.filters), events)
  const enabled = readFlag(input.enabled ?? undefined, true, 'enabled')
  const name = input.name === undefined || input.name === null ? null : readName(input.name, 'name')
  const proven = await proveRepository(call, scope, readRepo(input.repo))
  const made = transaction(call.db, async (tx) => {
    await checkCounts(tx, scope, proven)
    const agent = await readStartAgent(call, tx, scope, input.agent)
    const deploymentId = await deploymentOf(tx, scope, input.deployment)
    return getOne<Trigger>(
      tx,
      sql`
      insert into triggers (id, organization_id, owner_user_id, name, agent_id, agent_version, deployment_id, repo, repo_key,
        repository_id, events, filters, enabled, access_checked_at)
      values (${newUuid()}, ${scope.organizationId}, ${scope.userId}, ${name}, ${agent.id}, ${agent.version}, ${deploymentId},
        ${proven.repo}, ${proven.repo.toLowerCase()}, ${proven.repositoryId},
        ${events}::text[], ${JSON.stringify(filters)}::jsonb, ${enabled}, ${proven.repositoryId === null ? null : sql`now()`}) returning *`,
    )
  })
  return made.catch((error: unknown) => {
    throw nameError(error, 'trigger')
  })
}

/** The caller's triggers that started these sessions, by stored ids; each with the session. */
export async function findTriggersOfSessions(
  call: Call,
  sessionIds: readonly string[],
): Promise<(Trigger & { sessionId: string })[]> {
  const reach = allowAnywhere(call.caller, 'triggers:read')
  return findAll<Trigger & { sessionId: string }>(
    call.db,
    sql`
      select t.*, f.session_id
      from trigger_fires f
      join (select * from triggers where ${ownedByCaller(reach)}) t on t.id = f.trigger_id
      where f.session_id = any(${sessionIds}::uuid[])`,
  )
}

/** The caller's triggers of each of these agents or deployments, by stored ids, newest first. @throws BerthError invalid_request. */
export async function pageTriggersOfEach(
  call: Call,
  parent: 'agent' | 'deployment',
  parentIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<Trigger>> {
  const reach = allowAnywhere(call.caller, 'triggers:read')
  return triggerRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${parentIds}::uuid[]) given(id)`,
    parentName: parent,
    chosen: sql`${ownedByCaller(reach)} and ${belongsToEach(parent)}`,
  })
}

/**
 * Changes the given fields; filters are replaced as a whole. A repository is proven again.
 * @throws BerthError as createTrigger.
 */
export async function updateTrigger(call: Call, publicId: string, input: TriggerInput): Promise<Trigger> {
  const scope = allow(call.caller, 'triggers:write')
  const seen = await triggerRows.read(call.db, publicId, ownedByCaller(scope))
  const proven = input.repo === undefined ? null : await proveRepository(call, scope, readRepo(input.repo))
  const changed = transaction(call.db, async (tx) => {
    if (proven && proven.repo.toLowerCase() !== seen.repoKey) await checkCounts(tx, scope, proven, seen.id)
    const before = await triggerRows.read(tx, publicId, ownedByCaller(scope), sql`for no key update`)
    if (changesNothing(input)) return before
    const events = input.events === undefined ? before.events : readEvents(input.events)
    const filters = concerning(input.filters === undefined ? before.filters : readFilters(input.filters), events)
    const { id: agentId, version: agentVersion } =
      input.agent === undefined
        ? { id: before.agentId, version: before.agentVersion }
        : await readStartAgent(call, tx, scope, input.agent)
    const deploymentId =
      input.deployment === undefined ? before.deploymentId : await deploymentOf(tx, scope, input.deployment)
    const place = proven ?? before
    const name = input.name === undefined ? before.name : readName(input.name, 'name')
    return getOne<Trigger>(
      tx,
      sql`
      update triggers
      set name = ${name}, agent_id = ${agentId}, agent_version = ${agentVersion}, deployment_id = ${deploymentId}, events = ${events}::text[],
        filters = ${JSON.stringify(filters)}::jsonb,
        enabled = ${readFlag(input.enabled, before.enabled, 'enabled')}, repo = ${place.repo},
        repo_key = ${place.repo.toLowerCase()}, repository_id = ${place.repositoryId},
        access_checked_at = ${proven && proven.repositoryId !== null ? sql`now()` : before.accessCheckedAt}, updated_at = now()
      where id = ${before.id} returning *`,
    )
  })
  return changed.catch((error: unknown) => {
    throw nameError(error, 'trigger')
  })
}

/** Deletes a trigger with its fires; sessions that it started stay. @throws BerthError not_found. */
export async function deleteTrigger(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'triggers:write')
  await transaction(call.db, async (tx) => {
    const { id } = await triggerRows.read(tx, publicId, ownedByCaller(scope), sql`for update`)
    await change(tx, sql`delete from triggers where id = ${id}`)
    publish(tx, triggerTopic, id) // subscribers learn that it is deleted
  })
}

async function deploymentOf(
  tx: Tx,
  scope: Scope,
  given: StartDeploymentInput | null | undefined,
): Promise<string | null> {
  return given ? (await readStartDeployment(tx, scope, given)).id : null
}

/** @param except one that is changed, which does not count. */
async function checkCounts(
  tx: Tx,
  { organizationId }: Scope,
  { repo }: ProvenRepository,
  except?: string,
): Promise<void> {
  const others = sql`triggers where organization_id = ${organizationId} and id is distinct from ${except ?? null}`
  await checkCount(tx, organizationId, {
    rows: others,
    nouns: 'triggers',
    most: triggerLimits.triggersMax,
  })
  await checkCount(tx, organizationId, {
    rows: sql`${others} and repo_key = ${repo.toLowerCase()} and exists (
      select from memberships m where m.organization_id = triggers.organization_id and m.user_id = owner_user_id and m.deactivated_at is null)`,
    nouns: 'triggers for this repository',
    most: triggerLimits.perRepositoryMax,
    advice: 'Delete those that nobody needs, or name more events in one.',
  })
}
