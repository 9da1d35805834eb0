/** Sharing a session: its transcript, reduced, for everybody who has the link. */
import { allow } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { ListWindow } from '#src/platform/pages.ts'
import { findAll, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { readEventList, type EventList, type WireEvent } from '#src/resources/agents/session-events.ts'
import { sessionTopic } from './log.ts'
import { readSession, type Session } from './rows.ts'

/** What everybody may see of a shared session. */
export type SharedSession = { id: string; title: string | null; agentName: string; sharedAt: string } & EventList

/** The types of events that a transcript shows: what was said in full, tools by name. */
const shownTypes = ['user.message', 'agent.message', 'agent.tool_use', 'agent.tool_result']

/**
 * Shares a session, or ends that. Again changes nothing.
 * @throws BerthError not_found; url_only_attachment when a message refers to a file that only an address names.
 */
export async function setSharing(call: Call, publicId: string, shared: boolean): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  return transaction(call.db, async (tx) => {
    const session = await readSession(tx, scope, publicId, sql`for no key update`)
    if ((session.sharedAt !== null) === shared) return session
    if (shared && (await hasUrlAttachment(tx, session.id)))
      throw new BerthError(
        'url_only_attachment',
        'A message of this session has an attachment that only an address names, so it cannot be shared.',
      )
    await publish(tx, sessionTopic, session.id)
    return getOne<Session>(
      tx,
      sql`update sessions set shared_at = ${shared ? sql`now()` : sql`null`}, updated_at = now() where id = ${session.id} returning *`,
    )
  })
}

/**
 * A page of the transcript of a shared session. Needs no caller.
 * @throws BerthError not_found for one that is absent or not shared.
 */
export async function getSharedSession({ db }: Call, publicId: string, window: ListWindow): Promise<SharedSession> {
  const id = decodeId('session', publicId)
  const session = id
    ? await findOne<Session>(db, sql`select * from sessions where id = ${id} and shared_at is not null`)
    : undefined
  if (!session?.sharedAt) throw notFound('shared session')
  const list = await readEventList({ db }, session.id, {
    ...window,
    limit: window.limit ?? limits.eventListMax,
    types: shownTypes,
  })
  const names = await toolNames({ db }, session.id, list.data)
  return {
    id: session.id,
    title: session.title,
    agentName: session.agentDefinition.name,
    sharedAt: session.sharedAt,
    ...list,
    data: list.data.map((event) => reduced(event, names)),
  }
}

function reduced(event: WireEvent, names: ReadonlyMap<string, string>): WireEvent {
  const { id, type, processed_at } = event
  if (type === 'agent.tool_use') return { type, name: event['name'], processed_at }
  if (type === 'agent.tool_result') return { type, name: names.get(String(event['tool_use_id'])) ?? null, processed_at }
  return {
    id,
    type,
    content: Array.isArray(event['content']) ? event['content'].filter((block) => !isUrlAttachment(block)) : [],
    processed_at,
  }
}

/** What came by address after a session was shared is left out. */
function isUrlAttachment(block: unknown): boolean {
  return (
    typeof block === 'object' &&
    block !== null &&
    'source' in block &&
    typeof block.source === 'object' &&
    block.source !== null &&
    'type' in block.source &&
    block.source.type === 'url'
  )
}

/** The names of the tools whose results are among these events, by the public id of their use. */
async function toolNames(
  { db }: Pick<Call, 'db'>,
  sessionId: string,
  events: readonly WireEvent[],
): Promise<ReadonlyMap<string, string>> {
  const uses = events.flatMap((event) =>
    event['type'] === 'agent.tool_result' ? (decodeId('sessionEvent', String(event['tool_use_id'])) ?? []) : [],
  )
  if (uses.length === 0) return new Map()
  const rows = await findAll<{ id: string; name: string }>(
    db,
    sql`select id, data ->> 'name' as name from session_events where session_id = ${sessionId} and id = any(${uses}::uuid[])`,
  )
  return new Map(rows.map(({ id, name }) => [encodeId('sessionEvent', id), name]))
}

async function hasUrlAttachment(tx: Tx, sessionId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`select 1 from session_events where session_id = ${sessionId} and data @? '$.content[*].source ? (@.type == "url")' limit 1`,
    )) !== undefined
  )
}
