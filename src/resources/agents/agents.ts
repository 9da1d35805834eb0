/** Agents: versioned definitions. Made, read, changed into a new version, archived, deleted. */
import { allow, allowInKnown, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  cursorId,
  listBy,
  listOf,
  numberOfPage,
  page,
  pageSize,
  readListPage,
  wholeNumber,
  type List,
  type ListWindow,
  type Page,
  type PageWindow,
} from '#src/platform/pages.ts'
import { change, findAll, getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { changeDefinition, readDefinition, sameDefinition, type AgentFields } from './agents/definitions.ts'
import { findAgentVersion, readAgent, versionColumns, type Agent } from './agents/rows.ts'
import { hasActiveWork } from './sessions/work.ts'
import { createdWithin, type CreatedFilter } from './created-filters.ts'
import { endWorkOf } from './sessions/deletion.ts'

/** Which agents a list shows: those of one organization (the active one without it), archived ones only when asked for. */
export type AgentFilter = CreatedFilter & { organizationId?: string | null; includeArchived?: boolean | null }

/** Makes an agent: a person's own, or the organization's when its key makes it. @throws BerthError invalid_request, unknown_model, unknown_tool. */
export async function createAgent(call: Call, fields: AgentFields): Promise<Agent> {
  const { organizationId, userId } = allow(call.caller, 'agents:write')
  const id = newUuid()
  const definition = JSON.stringify(readDefinition(call.config, fields))
  return transaction(call.db, async (tx) => {
    await checkCount(tx, organizationId, {
      rows: sql`agents where organization_id = ${organizationId}`,
      nouns: 'agents',
      most: limits.agentsMax,
      advice: 'Delete those that nobody needs.',
    })
    return getOne<Agent>(
      tx,
      sql`
      with made as (insert into agents (id, organization_id, owner_user_id, version, definition) values (${id}, ${organizationId}, ${userId}, 1, ${definition}) returning *),
        versioned as (insert into agent_versions (agent_id, version, definition) select id, version, definition from made)
      select * from made`,
    )
  })
}

/** The agent, at its newest version or the one named. @throws BerthError not_found. */
export async function getAgent(call: Call, publicId: string, version?: number | null): Promise<Agent> {
  const agent = await readAgent(call.db, allow(call.caller, 'agents:read'), publicId)
  if (version === undefined || version === null || version === agent.version) return agent
  const older = await findAgentVersion(call.db, agent.id, version)
  if (!older) throw notFound('version of this agent')
  return older
}

/** Agents, newest first, as the documented list shows them. @throws BerthError not_found for an organization that is not theirs. */
export async function listAgents(call: Call, filter: AgentFilter, window: ListWindow): Promise<List<Agent>> {
  const scope = scopeOf(call, filter)
  const { limit, after } = readListPage('agent', window)
  return listOf('agent', await readAgents(call, scope, filter, limit + 1, after), limit)
}

/** The same as a page. */
export async function pageAgents(call: Call, filter: AgentFilter, { first, after }: PageWindow): Promise<Page<Agent>> {
  const scope = scopeOf(call, filter)
  const size = pageSize(first)
  return page('agent', await readAgents(call, scope, filter, size + 1, cursorId('agent', after)), size, after)
}

/** Every version of an agent, newest first. @throws BerthError not_found. */
export async function listAgentVersions(call: Call, publicId: string, window: ListWindow): Promise<List<Agent>> {
  const { id } = await readAgent(call.db, allow(call.caller, 'agents:read'), publicId)
  const limit = wholeNumber('limit', window.limit ?? limits.agentsListMax, 1, limits.agentsListMax)
  const below = numberOfPage('v', window.page)
  const rows = await findAll<Agent>(
    call.db,
    sql`
    select ${versionColumns} from agents a join agent_versions v on v.agent_id = a.id
    where a.id = ${id} and (${below}::bigint is null or v.version < ${below}::bigint) order by v.version desc limit ${limit + 1}`,
  )
  return listBy(({ version }) => `v${version}`, rows, limit)
}

/**
 * Changes an agent into a new version; a change that says the same as before makes none.
 * @param version what the caller saw; null where the client may leave it out, in POST.
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
    const agent = await readAgent(tx, scope, publicId, sql`for no key update`)
    if (agent.archivedAt)
      throw new BerthError('resource_archived', 'This agent is archived, so it cannot be changed. Create a new one.')
    if (version !== null && version !== undefined && version !== agent.version) {
      throw new BerthError(
        'agent_version_mismatch',
        `The agent is at version ${agent.version} by now. Read it again, and send that version with your change.`,
      )
    }
    const definition = changeDefinition(call.config, agent.definition, fields)
    if (sameDefinition(agent.definition, definition)) return agent
    if (agent.version >= limits.agentVersionsMax)
      throw new BerthError(
        'rate_limited',
        `This agent has ${limits.agentVersionsMax} versions, which is the limit. Create a new agent.`,
        { retryAfterSeconds: 60 },
      )
    const text = JSON.stringify(definition)
    await change(
      tx,
      sql`insert into agent_versions (agent_id, version, definition) values (${agent.id}, ${agent.version + 1}, ${text})`,
    )
    return getOne<Agent>(
      tx,
      sql`update agents set version = version + 1, definition = ${text}, updated_at = now() where id = ${agent.id} returning *`,
    )
  })
}

/** Archives an agent: it cannot be changed or begun with any more, what runs goes on. Again changes nothing. @throws BerthError not_found. */
export async function archiveAgent(call: Call, publicId: string): Promise<Agent> {
  const scope = allow(call.caller, 'agents:write')
  return transaction(call.db, async (tx) => {
    const agent = await readAgent(tx, scope, publicId, sql`for no key update`)
    if (agent.archivedAt) return agent
    return getOne<Agent>(
      tx,
      sql`update agents set archived_at = now(), updated_at = now() where id = ${agent.id} returning *`,
    )
  })
}

/** Deletes an agent with its versions, sessions and all that began with it. @throws BerthError not_found, work_active. */
export async function deleteAgent(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'agents:delete')
  await transaction(call.db, async (tx) => {
    const { id } = await readAgent(tx, scope, publicId, sql`for update`) // nothing that refers to it can be inserted from here on
    if (await hasActiveWork(tx, id))
      throw new BerthError('work_active', 'This agent has work that is not over. Stop its sessions, then delete it.')
    await endWorkOf(call, tx, id)
    await change(tx, sql`delete from agents where id = ${id}`)
  })
}

function scopeOf({ caller }: Call, { organizationId }: AgentFilter): Scope {
  if (organizationId === undefined || organizationId === null) return allow(caller, 'agents:read')
  return allowInKnown(caller, 'agents:read', decodeId('organization', organizationId))
}

async function readAgents(
  { db }: Call,
  scope: Scope,
  filter: AgentFilter,
  most: number,
  after: string | null,
): Promise<Agent[]> {
  return findAll<Agent>(
    db,
    sql`
    select * from agents where ${ownedByCaller(scope)} and (${filter.includeArchived ?? false} or archived_at is null) and ${createdWithin(filter)} and (${after}::uuid is null or id < ${after})
    order by id desc limit ${most}`,
  )
}
