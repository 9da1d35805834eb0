/** Agents: versioned definitions. Create, read, update into a new version, archive, delete. */
import { allow, allowAnywhere, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { allowInKnown } from '#src/platform/access/organizations.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  pageSql,
  readPagesOfEach,
  type Direction,
  type Page,
  type PagesOf,
  type PageWindow,
} from '#src/platform/pages.ts'
import { withinPageBytes } from '#src/platform/pages/bytes.ts'
import { change, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import type { Call, Services } from '#src/platform/services.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import { changeDefinition, readDefinition, sameDefinition, type AgentFields } from './agents/definitions.ts'
import { agentRows, findAgentVersion, readAgent, versionColumns, type Agent } from './agents/rows.ts'
import {
  changeLock,
  hasOthersStarters,
  hasPendingFires,
  refuseConnectorsToVmTokens,
  refuseStartersToVmTokens,
} from './agents/starters.ts'
import { createdWithin, type CreatedFilter } from './created-filters.ts'

/** The largest possible version: Postgres stores it in 32 bits. */
const lastVersion = 2_147_483_647

/** An agent is asked to be deleted, and its row is locked for update: whoever works with it throws why it cannot be. */
export const agentDeletionAsked = hook<[tx: Tx, scope: Scope, agentId: string]>('deletion of an agent asked')
/** An agent is deleted: what belongs to it goes with it, before its row. */
export const agentDeleting = hook<[services: Services, tx: Tx, agentId: string]>('agent deleting')

/** Conditions of a list of agents: one organization (the active one by default); archived ones only on request. */
export type AgentFilter = CreatedFilter &
  TextFilter & { organizationId?: string | null; includeArchived?: boolean | null }

/**
 * Creates an agent: a person's own, or the organization's when its API key creates it.
 * @throws BerthError invalid_request, unknown_model, unknown_tool.
 */
export async function createAgent(call: Call, fields: AgentFields): Promise<Agent> {
  const scope = allow(call.caller, 'agents:write')
  const { organizationId, userId, vmId } = scope
  const id = newUuid()
  const read = readDefinition(call.config, fields)
  refuseConnectorsToVmTokens(scope, read)
  const definition = JSON.stringify(read)
  await checkStorage(call, organizationId, 'definitions')
  return transaction(call.db, async (tx) => {
    await checkCount(tx, organizationId, { table: 'agents', most: limits.agentsMax })
    await emitWebhookEvent(tx, organizationId, { type: 'agent.created', id: encodeId('agent', id) })
    return getOne<Agent>(
      tx,
      sql`
      with made as (insert into agents (id, organization_id, owner_user_id, version, definition)
        values (${id}, ${organizationId}, ${userId}, 1, ${definition})
        returning *),
        versioned as (insert into agent_versions (agent_id, version, definition, by_vm_token)
        select id, version, definition, ${vmId !== null}::boolean
        from made)
      select * from made`,
    )
  })
}

/** The agent, in its newest version or the requested one. @throws BerthError not_found. */
export async function getAgent(call: Call, publicId: string, version?: number | null): Promise<Agent> {
  const agent = await readAgent(call.db, allow(call.caller, 'agents:read'), publicId)
  if (version === undefined || version === null || version === agent.version) return agent
  const older = await findAgentVersion(call.db, agent.id, version)
  if (!older) throw notFound('version of this agent')
  return older
}

/** The agents of these stored ids that are the caller's or their organization's. */
export async function findAgents(call: Call, ids: readonly string[]): Promise<Agent[]> {
  return agentRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'agents:read')))
}

/** How agents are found. */
export const agentSearch: Searched = {
  type: 'Agent',
  may: 'agents:read',
  table: 'agents',
  title: sql`name`,
  whose: (scope) => sql`${ownedByCaller(scope)} and archived_at is null`,
}

/**
 * Agents, newest first.
 * @throws BerthError invalid_request; not_found for an organization that the caller does not belong to.
 */
export async function pageAgents(
  call: Call,
  window: PageWindow,
  filter?: AgentFilter | null,
  direction?: Direction,
): Promise<Page<Agent>> {
  const scope = scopeOf(call, filter ?? {})
  const chosen = sql`${ownedByCaller(scope)} and (${filter?.includeArchived ?? false} or archived_at is null) and ${createdWithin(filter ?? {})}
    and ${hasTextOf(agentSearch, filter)}`
  return agentRows.page(call.db, window, chosen, direction)
}

/** Every version of each agent of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageVersionsOfEach(
  call: Call,
  agentIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<Agent>> {
  const scope = allow(call.caller, 'agents:read')
  const keyOf = (cursor: string): number | undefined =>
    /^v\d{1,15}$/.test(cursor) ? Math.min(Number(cursor.slice(1)), lastVersion) : undefined
  return readPagesOfEach(call.db, window, {
    cursors: { keyOf, cursorOf: ({ version }: Agent) => `v${version}` },
    parents: sql`select id from agents where id = any(${agentIds}::uuid[]) and ${ownedByCaller(scope)}`,
    rows: (reading) => {
      const { within, cut } = pageSql(sql`v.version`, reading)
      const listed = sql`
        select ${versionColumns}, octet_length(v.definition::text) as size_bytes
        from agents a
        join agent_versions v on v.agent_id = a.id
        where a.id = parent.id and ${within} ${cut}`
      return withinPageBytes(listed, sql`version`, reading, 'desc')
    },
    bytesMax: limits.pageBytes,
    whole: sql`agent_versions where agent_id = parent.id`,
    parentName: 'agent',
  })
}

/**
 * Updates an agent, which makes a new version; an update that changes nothing makes none.
 * @param version the version that the caller saw; null when omitted, which is allowed in POST.
 * @throws BerthError not_found, resource_archived, agent_version_mismatch; as createAgent.
 */
export async function updateAgent(
  call: Call,
  publicId: string,
  version: number | null | undefined,
  fields: AgentFields,
): Promise<Agent> {
  const scope = allow(call.caller, 'agents:write')
  return transaction(call.db, async (tx) => {
    const agent = await readAgent(tx, scope, publicId, changeLock(scope))
    await refuseStartersToVmTokens(tx, scope, agent.id, 'newest')
    if (agent.archivedAt)
      throw new BerthError('resource_archived', 'This agent is archived, so it cannot be changed. Create a new one.')
    if (version !== null && version !== undefined && version !== agent.version) {
      throw new BerthError(
        'agent_version_mismatch',
        `The agent is now at version ${agent.version}. Read it again, and send that version with your change.`,
      )
    }
    const definition = changeDefinition(call.config, agent.definition, fields)
    if (sameDefinition(agent.definition, definition)) return agent
    refuseConnectorsToVmTokens(scope, definition)
    if (agent.version >= limits.agentVersionsMax)
      throw new BerthError(
        'rate_limited',
        `This agent has ${limits.agentVersionsMax} versions, which is the limit. Create a new agent.`,
        { retryAfterSeconds: 60 },
      )
    await checkStorage({ ...call, db: tx }, agent.organizationId, 'definitions')
    const text = JSON.stringify(definition)
    await change(
      tx,
      sql`
      insert into agent_versions (agent_id, version, definition, by_vm_token)
      select agent_id, version + 1, ${text}, by_vm_token or ${scope.vmId !== null}::boolean
      from agent_versions
      where agent_id = ${agent.id} and version = ${agent.version}`,
    )
    await emitWebhookEvent(tx, agent.organizationId, { type: 'agent.updated', id: encodeId('agent', agent.id) })
    return getOne<Agent>(
      tx,
      sql`update agents set version = version + 1, definition = ${text}, updated_at = now() where id = ${agent.id} returning *`,
    )
  })
}

/**
 * Archives an agent: it cannot be changed, and no session can start with it; running sessions continue. Again changes
 * nothing.
 * @throws BerthError not_found.
 */
export async function archiveAgent(call: Call, publicId: string): Promise<Agent> {
  const scope = allow(call.caller, 'agents:write')
  return transaction(call.db, async (tx) => {
    const agent = await readAgent(tx, scope, publicId, changeLock(scope))
    if (agent.archivedAt) return agent
    await refuseStartersToVmTokens(tx, scope, agent.id, 'any')
    await emitWebhookEvent(tx, agent.organizationId, { type: 'agent.archived', id: encodeId('agent', agent.id) })
    return getOne<Agent>(
      tx,
      sql`update agents set archived_at = now(), updated_at = now() where id = ${agent.id} returning *`,
    )
  })
}

/** Deletes an agent with its versions and its sessions. @throws BerthError not_found, work_active, forbidden. */
export async function deleteAgent(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'agents:delete')
  await transaction(call.db, async (tx) => {
    const { id, organizationId } = await readAgent(tx, scope, publicId, sql`for update`) // from here on no row that refers to it can be inserted
    await refuseStartersToVmTokens(tx, scope, id, 'any')
    await agentDeletionAsked.run(tx, scope, id)
    if (await hasOthersStarters(tx, scope, id))
      throw new BerthError(
        'work_active',
        'Deployments, schedules or triggers of other people start this agent, and would be deleted with it. Archive it instead.',
      )
    if (await hasPendingFires(tx, id))
      throw new BerthError(
        'work_active',
        'An event of a repository is about to start this agent. Delete the agent when its trigger has decided about it.',
      )
    await agentDeleting.run(call, tx, id)
    await change(tx, sql`delete from agents where id = ${id}`)
    await emitWebhookEvent(tx, organizationId, { type: 'agent.deleted', id: encodeId('agent', id) })
  })
}

function scopeOf({ caller }: Call, { organizationId }: AgentFilter): Scope {
  if (organizationId === undefined || organizationId === null) return allow(caller, 'agents:read')
  return allowInKnown(caller, 'agents:read', decodeId('organization', organizationId))
}
