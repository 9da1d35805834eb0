/** Sharing a session: its transcript, reduced, for anyone with the link. */
import { allow } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import type { Loaded, Page, PageWindow } from '#src/platform/pages.ts'
import { findAll, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import type { SessionEventType } from './event-types.ts'
import { sessionTopic } from './log.ts'
import { pageLog } from './log-pages.ts'
import { readSessionToChange } from './plans.ts'
import type { Session, SessionEvent } from './rows.ts'

/** What anyone with the link may see of a session. */
export type SharedSession = { id: string; title: string | null; agentName: string; sharedAt: string }

/** An entry of a transcript: a message, in full and with its public id, or a tool use, by name only. */
export type TranscriptEntry = {
  type: SessionEventType
  id: string | null
  content: readonly unknown[] | null
  toolName: string | null
  processedAt: string | null
}

/** The types of events that a transcript shows: messages in full, tools by name. */
const shownTypes = ['user.message', 'agent.message', 'agent.tool_use', 'agent.tool_result'] as const

/**
 * Shares a session, or stops sharing it. Repeating it changes nothing.
 * @throws BerthError not_found; url_only_attachment when a message has an attachment that is not in the log itself.
 */
export async function setSharing(call: Call, publicId: string, shared: boolean): Promise<Session> {
  const scope = allow(call.caller, 'sessions:write')
  return transaction(call.db, async (tx) => {
    const session = await readSessionToChange(tx, scope, publicId)
    if ((session.sharedAt !== null) === shared) return session
    if (shared && (await hasAttachmentElsewhere(tx, session.id)))
      throw new BerthError(
        'url_only_attachment',
        'A message of this session has an attachment that is a file of yours, or known by its URL only, so the session cannot be shared.',
      )
    publish(tx, sessionTopic, session.id)
    return getOne<Session>(
      tx,
      sql`update sessions set shared_at = ${shared ? sql`now()` : sql`null`}, updated_at = now() where id = ${session.id} returning *`,
    )
  })
}

/** The shared session of this id. Needs no caller. @throws BerthError not_found for one that is absent or not shared. */
export async function getSharedSession({ db }: Call, publicId: string): Promise<SharedSession> {
  const id = decodeId('session', publicId)
  const session = id
    ? await findOne<Session>(db, sql`select * from sessions where id = ${id} and shared_at is not null`)
    : undefined
  if (!session?.sharedAt) throw notFound('shared session')
  return { id: session.id, title: session.title, agentName: session.agentDefinition.name, sharedAt: session.sharedAt }
}

/** A page of its transcript, oldest first. @throws BerthError invalid_request. */
export async function pageTranscript(
  { db }: Call,
  { id }: SharedSession,
  window: PageWindow,
  bytesMax: number,
): Promise<Loaded<Page<TranscriptEntry>>> {
  const { loaded: page, bytes } = await pageLog({ db }, id, window, { filter: { types: shownTypes }, bytesMax })
  const names = await toolNames({ db }, id, page.nodes)
  const edges = page.edges.map(({ cursor, node }) => ({ cursor, node: reduced(node, names) }))
  return { loaded: { ...page, edges, nodes: edges.map(({ node }) => node) }, bytes }
}

function reduced({ id, data, processedAt, ...row }: SessionEvent, names: ReadonlyMap<string, string>): TranscriptEntry {
  const type = row.type as (typeof shownTypes)[number] // the page that was read
  if (type === 'agent.tool_use') return { type, id: null, content: null, toolName: String(data['name']), processedAt }
  if (type === 'agent.tool_result')
    return { type, id: null, content: null, toolName: names.get(String(data['tool_use_id'])) ?? null, processedAt }
  const content = Array.isArray(data['content']) ? data['content'].filter((block) => !isElsewhere(block)) : []
  return { type, id: encodeId('sessionEvent', id), content, toolName: null, processedAt }
}

/** An entry of a transcript as REST shows it. */
export function wireTranscriptEntry({
  id,
  type,
  content,
  toolName,
  processedAt,
}: TranscriptEntry): Record<string, unknown> {
  return id === null
    ? { type, name: toolName, processed_at: processedAt }
    : { id, type, content, processed_at: processedAt }
}

/** Attachments by URL, and files, that arrived after the session was shared are left out. */
function isElsewhere(block: unknown): boolean {
  return (
    typeof block === 'object' &&
    block !== null &&
    'source' in block &&
    typeof block.source === 'object' &&
    block.source !== null &&
    'type' in block.source &&
    (block.source.type === 'url' || block.source.type === 'file')
  )
}

/** The names of the tools whose results are among these events, by the public id of their use. */
async function toolNames(
  { db }: Pick<Call, 'db'>,
  sessionId: string,
  events: readonly SessionEvent[],
): Promise<ReadonlyMap<string, string>> {
  const uses = events.flatMap(({ type, data }) =>
    type === 'agent.tool_result' ? (decodeId('sessionEvent', String(data['tool_use_id'])) ?? []) : [],
  )
  if (uses.length === 0) return new Map()
  const rows = await findAll<{ id: string; name: string }>(
    db,
    sql`select id, data ->> 'name' as name from session_events where session_id = ${sessionId} and id = any(${uses}::uuid[])`,
  )
  return new Map(rows.map(({ id, name }) => [encodeId('sessionEvent', id), name]))
}

async function hasAttachmentElsewhere(tx: Tx, sessionId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`
        select 1
        from session_events
        where session_id = ${sessionId} and (data -> 'content')::jsonb @? '$[*].source ? (@.type == "url" || @.type == "file")'
        limit 1`,
    )) !== undefined
  )
}
