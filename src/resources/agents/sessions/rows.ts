/** A session's row and the entries of its log, and their queries. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { counted } from '#src/platform/texts.ts'
import type { RawBuilder } from 'kysely'
import type { AgentDefinition } from '#src/resources/agents/agents/rows.ts'
import { wireDefinition } from '#src/resources/agents/agents/wire.ts'
import { builtinAgentId } from '#src/resources/agents/agents/builtin-agents.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'
import type { Outcome } from '#src/resources/agents/sessions/outcomes/rows.ts'

/** `terminated` is final. */
export type SessionStatus = 'idle' | 'running' | 'rescheduling' | 'terminated'

/** Why a session is idle; keys as on the wire, event ids public. */
export type StopReason =
  | { type: 'end_turn' }
  | { type: 'requires_action'; event_ids: string[] }
  | { type: 'retries_exhausted' }
  | { type: 'budget_reached' }

/** What started a session. */
export type SessionSource = 'user' | 'schedule' | 'trigger' | 'deployment' | 'run' | 'peer'

/** A session as it is stored; times are RFC 3339 text, ids are uuids, money is in nano-dollars. One of Berth's own agents has a name instead of an id. */
export type Session = Row<
  'sessions',
  {
    agentDefinition: AgentDefinition
    kind: 'chat' | 'computer'
    source: SessionSource
    metadata: Metadata
    outcomes: Outcome[]
    status: SessionStatus
    stopReason: StopReason | null
  }
>

/** One event of a session's log. `processedAt` null: queued. `data` has the fields of its type, with public ids. */
export type SessionEvent = Pick<
  Row<'session_events', { data: Readonly<Record<string, unknown>> }>,
  'sessionId' | 'position' | 'id' | 'type' | 'data' | 'answers' | 'processedAt' | 'takenPosition' | 'createdAt'
>

/** An event as callers are shown it. */
export type LoggedEvent = Pick<SessionEvent, 'id' | 'sessionId' | 'type' | 'data' | 'processedAt' | 'createdAt'>

/** The columns of a SessionEvent. */
export const eventColumns = sql`session_id, position, id, type, data, answers, processed_at, taken_position, created_at`

/** Sessions' rows. */
export const sessionRows = rowsOf<Session>('session', 'sessions', 'session', sql`*`, ['agent_definition', 'outcomes'])

/** The session, whoever owns it: for workers. */
export async function findSessionRow(db: Db, id: string): Promise<Session | undefined> {
  return findOne<Session>(db, sql`select * from sessions where id = ${id}`)
}

/** The same, locked until the transaction ends: its log and its state stay as they are. */
export async function lockSession(tx: Tx, id: string): Promise<Session | undefined> {
  return findOne<Session>(tx, sql`select * from sessions where id = ${id} for no key update`)
}

/** The caller's session. @param lock `for no key update` to hold it. @throws BerthError not_found. */
export function readSession(
  db: Db,
  scope: Scope,
  publicId: string,
  lock: RawBuilder<unknown> = sql``,
): Promise<Session> {
  return sessionRows.read(db, publicId, ownedByCaller(scope), lock)
}

/** Whether the token inside a VM uses a session that works in this environment: then its VM gets nothing that the token may not read. */
export async function isUsedByVm(db: Db, environmentId: string): Promise<boolean> {
  return (
    (await findOne(db, sql`select 1 from sessions where environment_id = ${environmentId} and used_by_vm limit 1`)) !==
    undefined
  )
}

/** Whether a session of `sessions` waits for another agent, and no worker has it. */
export const waitsForPeer = sql<boolean>`(step_beat_at is null and exists (
  select from peer_exchanges e where e.organization_id = sessions.organization_id and e.requester_session_id = sessions.id and e.finished_at is null))`

/** The task to whose stream a session's events go, as an expression; null when there is none. @param session its id. */
export function streamingTask(session: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select id from session_tasks where session_id = ${session} and status in ('running', 'requires_action') and kind = 'group_run')`
}

/** Whether a session is running or waiting for a retry. */
export function isAtWork({ status }: Pick<Session, 'status'>): boolean {
  return status === 'running' || status === 'rescheduling'
}

/** The 409 for actions on a session that has ended. */
export function sessionOver({ archivedAt }: Pick<Session, 'archivedAt'>): BerthError {
  return new BerthError(
    'session_archived',
    archivedAt
      ? 'This session is archived, so nothing can be sent to it. Start a new one.'
      : 'This session has ended permanently. Start a new one.',
  )
}

/**
 * The agent of a session as callers see it: as it was when the session started. One of Berth's own has a fixed id,
 * which GET /v1/agents does not list.
 */
export function wireAgent({
  agentId,
  builtinAgent,
  agentVersion,
  agentDefinition: definition,
}: Pick<Session, 'agentId' | 'builtinAgent' | 'agentVersion' | 'agentDefinition'>): Record<string, unknown> {
  return {
    type: 'agent',
    id: agentId ? encodeId('agent', agentId) : builtinAgentId(builtinAgent ?? ''),
    version: agentVersion,
    ...wireDefinition(definition),
  }
}

/**
 * Limits an organization's running sessions, because all organizations share the workers. Those that wait for another agent
 * take up none, and do not count: otherwise they could keep that one from beginning. Counted without a lock, so sessions that
 * start at the same moment may exceed the limit.
 * @param more how many are to start.
 * @throws BerthError rate_limited.
 */
export async function checkAtWork(
  { rateLimitFactor }: { rateLimitFactor: number },
  db: Db,
  organizationId: string,
  more = 1,
): Promise<void> {
  const { count } = await getOne<{ count: number }>(db, sql`select ${countAtWork(sql`${organizationId}`)} as count`)
  if (count + more > limits.sessionsAtWorkMax * rateLimitFactor)
    throw new BerthError(
      'rate_limited',
      `Your organization has ${counted(count, 'running session')}, which is the limit. Try again when one of them is idle, or interrupt one.`,
      { retryAfterSeconds: 5 },
    )
}

/** Whether an organization may have one more running session, as a condition. @param organization its stored id, as an expression. */
export function hasRoom(
  { rateLimitFactor }: { rateLimitFactor: number },
  organization: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`${countAtWork(organization)} + 1 <= ${limits.sessionsAtWorkMax * rateLimitFactor}::float8`
}

function countAtWork(organization: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select count(*) from sessions where status in ('running', 'rescheduling') and organization_id = ${organization} and not ${waitsForPeer})`
}
