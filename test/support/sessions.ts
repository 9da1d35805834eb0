/** Agents, sessions and the part of the agent loop, for tests of the web process alone. */
import { newUuid } from '#src/platform/ids.ts'
import { findAll, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { appendEvents, takeEvents, type NewEvent } from '#src/resources/agents/sessions/log.ts'
import { eventColumns, lockSession, type SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { idsOf } from './makers.ts'

const definition = {
  name: 'helper',
  description: null,
  model: { id: 'berth/demo', effort: null, speed: 'standard' },
  system: null,
  tools: [],
  mcp_servers: [],
  mcp_services: [],
  skills: [],
  metadata: {},
}

/** An agent of the token's owner, as a row; its stored id. */
export async function makeAgentRow(db: Db, token: string): Promise<string> {
  const { organizationId, userId } = idsOf(token)
  const { id } = await getOne<{ id: string }>(
    db,
    sql`
    insert into agents (id, organization_id, owner_user_id, version, definition) values (${newUuid()}, ${organizationId}, ${userId}, 1, ${JSON.stringify(definition)}) returning id`,
  )
  return id
}

/** An idle session of the token's owner, as rows; its stored id. With an agent of its own unless one is given. */
export async function makeSessionRow(db: Db, token: string, ofAgent?: string): Promise<string> {
  const { organizationId, userId } = idsOf(token)
  const agentId = ofAgent ?? (await makeAgentRow(db, token))
  const { id } = await getOne<{ id: string }>(
    db,
    sql`
    insert into sessions (id, organization_id, owner_user_id, agent_id, agent_version, agent_definition, kind, source, status)
    values (${newUuid()}, ${organizationId}, ${userId}, ${agentId}, 1, ${JSON.stringify(definition)}, 'chat', 'user', 'idle') returning id`,
  )
  return id
}

/** An event of any type, also of one that the service does not know. */
type AnyEvent = Omit<NewEvent, 'type'> & { type: string }

/** Appends events as the service or a client would. */
export function append(db: Db, sessionId: string, ...events: AnyEvent[]): Promise<SessionEvent[]> {
  return transaction(db, (tx) => appendEvents(tx, sessionId, events as NewEvent[])) // as the type says
}

/** Takes queued events as a step would. */
export function take(db: Db, sessionId: string, ...ids: string[]): Promise<SessionEvent[]> {
  return transaction(db, async (tx) => {
    await lockSession(tx, sessionId)
    return takeEvents(tx, sessionId, ids)
  })
}

/** Every event of a session, in the order of the log. */
export function readWholeLog(db: Db, sessionId: string): Promise<SessionEvent[]> {
  return findAll<SessionEvent>(
    db,
    sql`select ${eventColumns} from session_events where session_id = ${sessionId} order by position`,
  )
}
