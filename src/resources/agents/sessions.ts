/**
 * Sessions: start, read, list, update, archive. Deletion is in sessions/deletion.ts, sending events in
 * session-events.ts.
 */
import type { RawBuilder } from 'kysely'
import { allow, allowAnywhere, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { isGiven, type Direction, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { changeDefinition, sameDefinition, type AgentFields } from './agents/definitions.ts'
import { builtinNameOf } from './agents/builtin-agents.ts'
import { createdWithin, type CreatedFilter } from './created-filters.ts'
import { belongsTo, belongsToEach, type Parent } from './parent-filters.ts'
import { discardEnvironment } from './environments.ts'
import { hasNamedFiles } from './files/contents.ts'
import { readInitialEvents, type ClientEventInput } from './sessions/event-shapes.ts'
import { mergeMetadata, readText, type MetadataInput } from '#src/platform/shapes/fields.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { checkHasVm, readResourceOrders, type ResourceInput } from './sessions/resources/orders.ts'
import { leaveMcpSessions } from './mcp-tools/kept-sessions.ts'
import { forgetTokens } from './sessions/resources/rows.ts'
import { checkOutcomes, definedBy, endedOutcomes, openOutcome } from './sessions/outcomes/rows.ts'
import { notifyOfSession } from './sessions/webhook-events.ts'
import { appendEvents, takeEvents } from './sessions/log.ts'
import { beginSession } from './sessions/beginning.ts'
import {
  noteVmToken,
  readLabels,
  readSessionToChange,
  resolveAgent,
  resolveEnvironment,
  resolveVaults,
  type AgentChoice,
} from './sessions/plans.ts'
import {
  isAtWork,
  readSession,
  sessionOver,
  sessionRows,
  wireAgent,
  type Session,
  type SessionStatus,
} from './sessions/rows.ts'
import { forgetSessionSecrets, sessionMasker } from './sessions/secrets.ts'
import { afterAppending, moveSession } from './sessions/states.ts'
import { budgetOf, readBudget, type BudgetInput } from './sessions/usage.ts'

/** The input to start a session; either `agent` or `agentId`. */
export type SessionOrder = {
  agent?: AgentChoice | null
  agentId?: string | null
  environmentId?: string | null
  vaultIds?: readonly string[] | null
  title?: string | null
  metadata?: MetadataInput | null
  budget?: BudgetInput | null
  resources?: readonly ResourceInput[] | null
  initialEvents?: readonly ClientEventInput[] | null
}
/** The input to update a session: absent means unchanged. */
export type SessionChange = Pick<SessionOrder, 'title' | 'metadata' | 'budget' | 'vaultIds'> & {
  agent?: Pick<AgentFields, 'tools' | 'mcpServers'> | null
}
/** Conditions of a list of sessions; all must hold. */
export type SessionFilter = CreatedFilter &
  TextFilter & {
    agentId?: string | null
    agentVersion?: number | null
    deploymentId?: string | null
    archived?: 'exclude' | 'include' | 'only' | null
    includeArchived?: boolean | null
    statuses?: readonly SessionStatus[] | null
    /** Whether they wait for somebody to approve or answer a tool use. */
    isActionRequired?: boolean | null
  }

/**
 * Starts a session.
 * @throws BerthError invalid_request, not_found, resource_archived, vault_archived, unknown_model, unknown_tool.
 */
export async function createSession(call: Call, order: SessionOrder): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  const labels = readLabels(order)
  const budgetNanoUsd = readBudget(order.budget)
  const initialEvents = readInitialEvents(order.initialEvents)
  checkOutcomes({ outcomes: [] }, definedBy(initialEvents))
  const resources = readResourceOrders(order.resources)
  if (hasNamedFiles(initialEvents) || resources.some(({ type }) => type === 'file')) allow(call.caller, 'files:read')
  if (order.agentId && isGiven(order.agent))
    throw new BerthError('invalid_request', 'Give either agent or agent_id, not both.')
  return transaction(call.db, async (tx) => {
    const named = order.agent ?? (isGiven(order.agentId) ? { agent: { id: order.agentId } } : {})
    const agent = await resolveAgent(call, tx, scope, named)
    const environment = await resolveEnvironment(tx, scope, order.environmentId)
    if (resources.length > 0) checkHasVm(environment)
    const vaultIds = await resolveVaults(tx, scope, order.vaultIds)
    return beginSession(call, tx, scope, {
      agent,
      environmentId: environment?.id ?? null,
      vaultIds,
      ...labels,
      budgetNanoUsd,
      source: 'user',
      initialEvents,
      resources,
    })
  })
}

/** The session of this id. @throws BerthError not_found. */
export async function getSession(call: Call, publicId: string): Promise<Session> {
  return readSession(call.db, allow(call.caller, 'sessions:read'), publicId)
}

/** The sessions of these stored ids that are the caller’s. */
export async function findSessions(call: Call, ids: readonly string[]): Promise<Session[]> {
  const reach = allowAnywhere(call.caller, 'sessions:read')
  return sessionRows.find(call.db, ids, ownedByCaller(reach))
}

/** How a list of sessions is read: `columns` of its rows are read, all without it. */
export type SessionReading = { direction?: Direction | undefined; columns?: readonly string[] | undefined }

/** The caller’s sessions, newest first by default. @throws BerthError invalid_request. */
export async function pageSessions(
  call: Call,
  window: PageWindow,
  filter?: SessionFilter | null,
  { direction, columns }: SessionReading = {},
): Promise<Page<Session>> {
  const scope = allow(call.caller, 'sessions:read')
  return sessionRows.page(call.db, window, chosenBy(scope, filter ?? {}), direction, columns)
}

/** The caller’s sessions with each agent, by each deployment or in each environment of these stored ids, archived ones too, newest first by default. @throws BerthError invalid_request. */
export async function pageSessionsOfEach(
  call: Call,
  parent: Parent,
  parentIds: readonly string[],
  window: PageWindow,
  { direction, columns }: SessionReading = {},
): Promise<PagesOf<Session>> {
  const scope = allow(call.caller, 'sessions:read')
  return sessionRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${parentIds}::uuid[]) given(id)`,
    parentName: parent,
    chosen: sql`${ownedByCaller(scope)} and ${belongsToEach(parent)}`,
    direction,
    columns,
  })
}

/**
 * Updates a session from its next turn on; `session.updated` tells subscribers.
 * @throws BerthError not_found, session_archived, invalid_request, vault_archived, unknown_tool; rate_limited when the
 * organization may store no more.
 */
export async function updateSession(call: Call, publicId: string, given: SessionChange): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  await checkStorage(call, scope.organizationId, 'transcripts')
  return transaction(call.db, async (tx) => {
    const before = await readSessionToChange(tx, scope, publicId)
    if (before.status === 'terminated') throw sessionOver(before)
    await noteVmToken(tx, scope, before)
    const after: Session = {
      ...before,
      title: given.title === undefined ? before.title : readText(given.title, 'title', limits.nameLength),
      metadata: mergeMetadata(before.metadata, given.metadata),
      budgetNanoUsd: given.budget === undefined ? before.budgetNanoUsd : readBudget(given.budget),
      vaultIds: given.vaultIds === undefined ? before.vaultIds : await resolveVaults(tx, scope, given.vaultIds),
      agentDefinition: changeDefinition(call.config, before.agentDefinition, given.agent ?? {}),
    }
    if (after.title !== before.title && after.title !== null)
      after.title = (await sessionMasker({ db: tx, sealer: call.sealer }, after)).text(after.title)
    const changed = {
      ...(after.title === before.title ? {} : { title: after.title }),
      ...(JSON.stringify(after.metadata) === JSON.stringify(before.metadata) ? {} : { metadata: after.metadata }),
      ...(after.budgetNanoUsd === before.budgetNanoUsd ? {} : { budget: budgetOf(after) }),
      ...(sameDefinition(after.agentDefinition, before.agentDefinition) ? {} : { agent: wireAgent(after) }),
    }
    const sameVaults = JSON.stringify(after.vaultIds) === JSON.stringify(before.vaultIds)
    if (Object.keys(changed).length === 0 && sameVaults) return before
    const session = await getOne<Session>(
      tx,
      sql`
      update sessions
      set title = ${after.title}, metadata = ${JSON.stringify(after.metadata)}, budget_nano_usd = ${after.budgetNanoUsd},
        vault_ids = ${after.vaultIds}::uuid[],
        agent_definition = ${JSON.stringify(after.agentDefinition)}, updated_at = now() where id = ${before.id} returning *`,
    )
    return afterAppending(session, await appendEvents(tx, session.id, [{ type: 'session.updated', data: changed }]))
  })
}

/**
 * Archives a session: it ends permanently and disappears from default lists; the VM of a run is deleted. Again changes
 * nothing.
 * @throws BerthError not_found, session_running.
 */
export async function archiveSession(call: Call, publicId: string): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  return transaction(call.db, async (tx) => {
    const session = await readSessionToChange(tx, scope, publicId)
    if (session.archivedAt) return session
    if (isAtWork(session))
      throw new BerthError(
        'session_running',
        'This session is running. Send user.interrupt and wait until it is idle, then archive it.',
      )
    const outcomes = openOutcome(session)
      ? sql`${JSON.stringify(endedOutcomes(session, timestamp(nowMs())))}::jsonb`
      : sql`outcomes`
    const archived = sql`archived_at = now(), updated_at = now(), outcomes = ${outcomes}`
    // Queued events, such as one of two confirmations, count as processed: nothing will process them any more.
    const queued = await findAll<Pick<Row<'session_events'>, 'id'>>(
      tx,
      sql`select id from session_events where session_id = ${session.id} and processed_at is null`,
    )
    await takeEvents(
      tx,
      session.id,
      queued.map(({ id }) => id),
    )
    const moved =
      session.status === 'terminated' ? undefined : await moveSession(tx, session.id, { to: 'terminated' }, archived)
    if (session.environmentId) await discardEnvironment(call, tx, session.environmentId)
    await forgetSessionSecrets(tx, session.id)
    await forgetTokens(tx, session.id)
    await leaveMcpSessions(tx, session.id)
    await notifyOfSession(tx, session, 'session.archived')
    return (
      moved?.session ?? getOne<Session>(tx, sql`update sessions set ${archived} where id = ${session.id} returning *`)
    )
  })
}

/** How sessions are found. */
export const sessionSearch: Searched = {
  type: 'Session',
  may: 'sessions:read',
  table: 'sessions',
  title: sql`title`,
  whose: (scope) => sql`${ownedByCaller(scope)} and archived_at is null`,
}

function checkFilter({ agentId, agentVersion, archived, includeArchived }: SessionFilter): void {
  if (agentVersion !== undefined && agentVersion !== null && !agentId)
    throw new BerthError('invalid_request', 'agent_version requires agent_id; give both.')
  if (archived && archived !== 'include' && includeArchived)
    throw new BerthError(
      'invalid_request',
      `include_archived contradicts archived, which is ${archived}; give only one of them.`,
    )
}

/** The condition on the rows of a list. @throws BerthError invalid_request. */
function chosenBy(scope: Scope, filter: SessionFilter): RawBuilder<unknown> {
  checkFilter(filter)
  const given = filter.agentId ?? null
  const agentId = given === null ? null : decodeId('agent', given)
  if (agentId === undefined) return sql`false` // a malformed id matches nothing
  const archived = filter.archived ?? (filter.includeArchived ? 'include' : 'exclude')
  const conditions: RawBuilder<unknown>[] = [
    ownedByCaller(scope),
    sql`(${agentId}::uuid is null or agent_id = ${agentId} or builtin_agent = ${agentId && builtinNameOf(agentId)})`,
    sql`(${filter.agentVersion ?? null}::int is null or agent_version = ${filter.agentVersion ?? null})`,
    belongsTo('deployment', filter.deploymentId),
    archived === 'include' ? sql`true` : archived === 'only' ? sql`archived_at is not null` : sql`archived_at is null`,
    sql`(${filter.statuses ?? null}::text[] is null or status = any(${filter.statuses ?? null}::text[]))`,
    waitingForAction(filter.isActionRequired),
    createdWithin(filter),
    hasTextOf(sessionSearch, filter),
  ]
  return sql.join(conditions, sql` and `)
}

function waitingForAction(isWaiting: boolean | null | undefined): RawBuilder<unknown> {
  if (!isGiven(isWaiting)) return sql`true`
  const waits = sql`(status = 'idle' and stop_reason ->> 'type' = 'requires_action')` // as the index sessions_waiting has it
  return isWaiting ? waits : sql`not coalesce(${waits}, false)`
}
