/** Making sessions, one or several at once. */
import type { Scope } from '#src/platform/access.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { noMasker } from '#src/platform/masking.ts'
import { checkRoughCount } from '#src/platform/metrics/counts.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { checkNamedFiles } from '#src/resources/agents/files/contents.ts'
import { insertResources } from '#src/resources/agents/sessions/resources/orders.ts'
import { refuseWiderReach } from '#src/resources/infra/vms/reach.ts'
import { notifyOfNewSessions } from './webhook-events.ts'
import { stepJob } from './jobs.ts'
import { openLogs, type NewEvent, type Opening } from './log.ts'
import type { SessionAgent, SessionPlan, StartServices } from './plans.ts'
import { checkAtWork, type Session } from './rows.ts'
import { maskedEvents, startMasker } from './secrets.ts'
import { afterAppending, statusEvent } from './states.ts'

/** A session that is to begin: its agent, and what it is told first. */
export type Beginning = { agent: SessionAgent; initialEvents: readonly NewEvent[] }

/**
 * Starts a session: idle, or running if it has initial events, which its first step processes.
 * @throws BerthError invalid_request when they name a file that is not there; rate_limited.
 */
export async function beginSession(
  services: StartServices,
  tx: Tx,
  scope: Scope,
  plan: SessionPlan & Beginning,
): Promise<Session> {
  const [session] = await beginSessions(services, tx, scope, plan, [plan])
  if (!session) throw new Error('a session was not made')
  return session
}

/** The same for several sessions of one plan, in as many statements as for one. @returns them in the order of `beginnings`. */
export async function beginSessions(
  { config, jobs, sealer }: StartServices,
  tx: Tx,
  scope: Scope,
  plan: SessionPlan,
  beginnings: readonly Beginning[],
): Promise<Session[]> {
  const { organizationId, userId } = scope
  await refuseWiderReach(tx, scope)
  await checkStorage({ config, db: tx }, organizationId, 'transcripts')
  const { resources = [] } = plan
  const tokens = resources.flatMap((one) => (one.type === 'file' ? [] : (one.token ?? [])))
  await checkNamedFiles(
    tx,
    { organizationId, userId },
    beginnings.flatMap(({ initialEvents }) => initialEvents),
  )
  const masker =
    userId === null
      ? noMasker
      : await startMasker({ db: tx, sealer }, { organizationId, userId }, plan.vaultIds, tokens)
  const openings: (Opening & { agent: SessionAgent; isWork: boolean })[] = []
  for (const { agent, initialEvents } of beginnings) {
    const isWork = initialEvents.some(({ type }) => type !== 'system.message')
    const events = await maskedEvents(masker, initialEvents)
    if (isWork) events.push(statusEvent('running'))
    openings.push({ sessionId: newUuid(), agent, isWork, events })
    await checkRoughCount(tx, organizationId, { table: 'sessions', most: limits.sessionsMax })
  }
  const working = openings.filter(({ isWork }) => isWork)
  if (working.length > 0) await checkAtWork(config, tx, organizationId, working.length)
  const title = plan.title && masker.text(plan.title)
  const rows = await insertSessions(tx, scope, { ...plan, title }, openings)
  for (const { id } of rows) await insertResources({ sealer }, tx, { sessionId: id, organizationId, userId }, resources)
  const logs = await openLogs(tx, openings)
  const sessions = rows.map((session, at) => afterAppending(session, logs[at] ?? []))
  await notifyOfNewSessions(
    tx,
    organizationId,
    sessions.map(({ id }, at) => ({ id, events: logs[at] ?? [] })),
  )
  await jobs.enqueueEach(
    tx,
    stepJob,
    working.map(({ sessionId }) => ({ data: { sessionId } })),
  )
  return sessions
}

/** @returns the rows in the order of `openings`. */
async function insertSessions(
  tx: Tx,
  { organizationId, userId, vmId }: Scope,
  {
    environmentId,
    deploymentId = null,
    source,
    title,
    metadata,
    vaultIds,
    budgetNanoUsd,
    spendsFrom = [],
  }: SessionPlan,
  openings: readonly { sessionId: string; agent: SessionAgent; isWork: boolean }[],
): Promise<Session[]> {
  const rows = await findAll<Session>(
    tx,
    sql`
    insert into sessions (id, organization_id, owner_user_id, agent_id, builtin_agent, agent_version, agent_definition,
      environment_id, deployment_id, kind, source, title, metadata, vault_ids, budget_nano_usd, spends_from, used_by_vm, status,
      running_since)
    select new.id, ${organizationId}::uuid, ${userId}::uuid, new.agent_id, new.builtin_agent, new.version, new.definition::json,
      ${environmentId}::uuid, ${deploymentId}::uuid,
      ${environmentId ? 'computer' : 'chat'}, ${source}, ${title}::text, ${JSON.stringify(metadata)}::jsonb, ${vaultIds}::uuid[],
      ${budgetNanoUsd}::bigint, ${spendsFrom}::uuid[], ${vmId !== null}::boolean,
      case when new.is_work then 'running' else 'idle' end, case when new.is_work then now() end
    from unnest(${openings.map(({ sessionId }) => sessionId)}::uuid[], ${openings.map(({ isWork }) => isWork)}::boolean[],
      ${openings.map(({ agent }) => agent.agentId)}::uuid[],
      ${openings.map(({ agent }) => agent.builtinAgent)}::text[], ${openings.map(({ agent }) => agent.version)}::integer[],
      ${openings.map(({ agent }) => JSON.stringify(agent.definition))}::text[])
      as new (id, is_work, agent_id, builtin_agent, version, definition) returning *`,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return openings.map(({ sessionId }) => byId.get(sessionId)!) // each was inserted
}
