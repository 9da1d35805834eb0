/** Making sessions, one or several at once. */
import type { Scope } from '#src/platform/access.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { noMasker } from '#src/platform/masking.ts'
import { checkRoughCount } from '#src/platform/metrics/counts.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { checkNamedFiles } from '#src/resources/agents/files/contents.ts'
import { insertResources } from '#src/resources/agents/session-resources/orders.ts'
import { tellOfNewSessions } from './happenings.ts'
import { stepJob } from './jobs.ts'
import { openLogs, type NewEvent } from './log.ts'
import type { SessionPlan, StartServices } from './plans.ts'
import { checkAtWork, type Session } from './rows.ts'
import { maskedEvents, startMasker } from './secrets.ts'
import { afterAppending, statusEvent } from './states.ts'

/**
 * Starts a session: idle, or running if it has initial events, which its first step processes.
 * @throws BerthError invalid_request when they name a file that is not there; rate_limited.
 */
export async function beginSession(
  services: StartServices,
  tx: Tx,
  scope: Scope,
  plan: SessionPlan & { initialEvents: readonly NewEvent[] },
): Promise<Session> {
  const [session] = await beginSessions(services, tx, scope, plan, [plan.initialEvents])
  if (!session) throw new Error('a session was not made')
  return session
}

/**
 * The same for several sessions of one plan, in as many statements as for one.
 * @param beginnings the initial events of each.
 */
export async function beginSessions(
  { config, jobs, sealer }: StartServices,
  tx: Tx,
  scope: Scope,
  plan: SessionPlan,
  beginnings: readonly (readonly NewEvent[])[],
): Promise<Session[]> {
  const { organizationId, userId } = scope
  const { resources = [] } = plan
  const tokens = resources.flatMap((one) => (one.type === 'file' ? [] : (one.token ?? [])))
  await checkNamedFiles(tx, { organizationId, userId }, beginnings.flat())
  const masker =
    userId === null
      ? noMasker
      : await startMasker({ db: tx, sealer }, { organizationId, userId }, plan.vaultIds, tokens)
  const openings = []
  for (const given of beginnings) {
    const isWork = given.some(({ type }) => type !== 'system.message')
    const events = await maskedEvents(masker, given)
    openings.push({ sessionId: newUuid(), isWork, events: isWork ? [...events, statusEvent('running')] : events })
    await checkRoughCount(tx, organizationId, {
      rows: sql`sessions where organization_id = ${organizationId}`,
      nouns: 'sessions',
      most: limits.sessionsMax,
      advice: 'Delete those that nobody needs.',
    })
  }
  const working = openings.filter(({ isWork }) => isWork)
  if (working.length > 0) await checkAtWork(config, tx, organizationId, working.length)
  const title = plan.title && masker.text(plan.title)
  const rows = await insertSessions(tx, scope, { ...plan, title }, openings)
  for (const { id } of rows) await insertResources({ sealer }, tx, { sessionId: id, organizationId, userId }, resources)
  const logs = await openLogs(tx, openings)
  const sessions = rows.map((session, at) => afterAppending(session, logs[at] ?? []))
  await tellOfNewSessions(
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
  { agent, environmentId, deploymentId = null, source, title, metadata, vaultIds, budgetNanoUsd }: SessionPlan,
  openings: readonly { sessionId: string; isWork: boolean }[],
): Promise<Session[]> {
  const rows = await findAll<Session>(
    tx,
    sql`
    insert into sessions (id, organization_id, owner_user_id, agent_id, builtin_agent, agent_version, agent_definition, environment_id, deployment_id, kind, source, title, metadata, vault_ids, budget_nano_usd, used_by_vm, status, running_since)
    select new.id, ${organizationId}::uuid, ${userId}::uuid, ${agent.agentId}::uuid, ${agent.builtinAgent}::text, ${agent.version}::integer, ${JSON.stringify(agent.definition)}::jsonb, ${environmentId}::uuid, ${deploymentId}::uuid,
      ${environmentId ? 'computer' : 'chat'}, ${source}, ${title}::text, ${JSON.stringify(metadata)}::jsonb, ${vaultIds}::uuid[], ${budgetNanoUsd}::bigint, ${vmId !== null}::boolean,
      case when new.is_work then 'running' else 'idle' end, case when new.is_work then now() end
    from unnest(${openings.map(({ sessionId }) => sessionId)}::uuid[], ${openings.map(({ isWork }) => isWork)}::boolean[]) as new (id, is_work) returning *`,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return openings.map(({ sessionId }) => byId.get(sessionId)!) // each was inserted
}
