/**
 * The log of a session: the only place that writes it. Every entry has a position, which grows under the lock of the
 * session's row, so a reader that saw one position has seen all before it. What a client sends stands in the log twice:
 * queued, and taken.
 */
import type { RawBuilder } from 'kysely'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { isLargeJson, writeInPieces } from '#src/platform/json/text.ts'
import { findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { ifShort, noticeOf, saidBytesMax } from '#src/platform/pubsub.ts'
import { readTimestamp } from '#src/platform/postgres/statements.ts'
import { definedBy } from '#src/resources/agents/outcomes/rows.ts'
import { eventColumns, type SessionEvent } from './rows.ts'

/**
 * An event to append. `data` is what its type says, as on the wire, without id, type and processed_at.
 * @property id a uuid, where it had to be known before: that of a preview.
 * @property queued it waits until somebody takes it; what clients send, unless said otherwise.
 */
export type NewEvent = { type: string; data?: Readonly<Record<string, unknown>>; id?: string; queued?: boolean }

/** What tells that a session's log or state changed; the id is the session's. */
export const sessionTopic = 'session'
/** What tells that somebody asked a session to stop what it does. */
export const interruptTopic = 'session_interrupt'
/** What tells that there is more of a preview. */
export const previewTopic = 'session_preview'

/** What the notice of an entry says beside its data: position, id, type, size and moments, with commas and quotes. */
const saidBesidesDataBytes = 250

/**
 * Appends events to a session's log, in this order and all or none, and tells whoever follows it. What they previewed
 * is forgotten.
 * @returns them as stored; none when the session is gone.
 * @throws the database's unique violation of session_events_answers when a tool use has that answer already.
 */
export async function appendEvents(tx: Tx, sessionId: string, events: readonly NewEvent[]): Promise<SessionEvent[]> {
  return appendWhere(tx, sessionId, events, sql`true`)
}

/**
 * The same for a session that is at work and fits the condition, in one statement that needs no transaction around it:
 * what most messages to a running session take.
 * @returns none, with nothing appended, when it is not so.
 */
export async function appendToWorking(
  db: Db,
  sessionId: string,
  events: readonly NewEvent[],
  condition: RawBuilder<boolean>,
): Promise<SessionEvent[]> {
  return appendWhere(db, sessionId, events, sql<boolean>`status in ('running', 'rescheduling') and ${condition}`)
}

async function appendWhere(
  db: Db,
  sessionId: string,
  events: readonly NewEvent[],
  condition: RawBuilder<unknown>,
): Promise<SessionEvent[]> {
  if (events.length === 0) return []
  const rows: NewRow[] = []
  for (const event of events) rows.push(isLargeJson(event.data) ? await largeRow(event) : newRow(event))
  const fromService = rows.filter(({ type }) => !isClientType(type)).length
  const outcomes = definedBy(rows)
  const interrupts = rows.some(({ type }) => type === 'user.interrupt')
  const entry = sql`'[' || position || (${rows.map(({ said }) => said)}::text[])[position - (select before from counted)] || coalesce('"' || processed_at::text || '"', 'null') || ',"' || created_at::text || '"]'`
  const stored = await findAll<Pick<SessionEvent, 'position' | 'processedAt' | 'createdAt'>>(
    db,
    sql`
    with counted as (
      update sessions set event_position = event_position + ${rows.length}, service_events = service_events + ${fromService}, last_event_id = ${rows.at(-1)?.id ?? null}, last_event_at = now(), updated_at = now()
        ${outcomes.length > 0 ? sql`, outcomes = outcomes || ${JSON.stringify(outcomes)}::jsonb` : sql``}
      where id = ${sessionId} and ${condition}
      returning event_position - ${rows.length} as before ${interrupts ? sql`, ${noticeOf(interruptTopic, sql`id`)} as interrupted` : sql``})
    ${rows.some(({ type }) => isPreviewable(type)) ? sql`, forgotten as (delete from session_previews where session_id = ${sessionId})` : sql``}
    insert into session_events (session_id, position, id, type, data, size_bytes, answers, processed_at)
    select ${sessionId}, before + new.place, new.id, new.type, new.data::jsonb, new.size_bytes, new.answers, case when new.queued then null else now() end
    from counted, unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ type }) => type)}::text[], ${textsOf(rows)}, ${rows.map(({ sizeBytes }) => sizeBytes)}::int[],
      ${rows.map(({ answers }) => answers)}::uuid[], ${rows.map(({ queued }) => queued)}::boolean[]) with ordinality as new (id, type, data, size_bytes, answers, queued, place)
    order by place
    returning position, processed_at, created_at, ${noticeOf(sessionTopic, sql`session_id`, entry)} as told`,
  )
  return stored.map(({ position, processedAt, createdAt }, at) => {
    const { id, type, data, answers } = rows[at]! // in their order, which is that of the rows
    return { sessionId, position, id, type, data, answers, processedAt, takenPosition: null, createdAt }
  })
}

/**
 * An event with what else its row says. `said` is what its notice says, but for what only Postgres knows: written here,
 * because it takes Postgres a fifth of the whole append. Null where it is too long.
 */
function newRow({ type, data = {}, id = newUuid(), queued = isClientType(type) }: NewEvent): NewRow {
  const text = JSON.stringify(data)
  const sizeBytes = Buffer.byteLength(text)
  const said =
    sizeBytes <= saidBytesMax - saidBesidesDataBytes ? `,"${id}",${JSON.stringify(type)},${text},${sizeBytes},` : null
  return { id, type, data, text, sizeBytes, said, queued, answers: answeredId(data) }
}

type NewRow = {
  id: string
  type: string
  data: Readonly<Record<string, unknown>>
  text: string | Buffer
  sizeBytes: number
  said: string | null
  queued: boolean
  answers: string | null
}

/** The same for data of many MiB, whose JSON is written in steps and goes to Postgres as bytes. */
async function largeRow({ type, data = {}, id = newUuid(), queued = isClientType(type) }: NewEvent): Promise<NewRow> {
  const text = Buffer.concat(await writeInPieces(data))
  return { id, type, data, text, sizeBytes: text.length, said: null, queued, answers: answeredId(data) }
}

/** The texts as one list: in a parameter of its own each where one is large, because the driver looks through every text of a list for quotes. */
function textsOf(rows: readonly NewRow[]): RawBuilder<unknown> {
  if (rows.some(({ text }) => typeof text !== 'string'))
    return sql`array[${sql.join(rows.map(({ text }) => sql`${text}::text`))}]`
  return sql`${rows.map(({ text }) => text)}::text[]`
}

/**
 * Takes queued events: from now on they are processed, and those who follow the log are told once more. Events that
 * are taken already stay as they are.
 * @param ids uuids. The session must be locked by this transaction.
 * @returns those that were taken now, in the order of the log.
 */
export async function takeEvents(tx: Tx, sessionId: string, ids: readonly string[]): Promise<SessionEvent[]> {
  if (ids.length === 0) return []
  return findAll<SessionEvent>(
    tx,
    sql`
      with due as (
        select position, row_number() over (order by position) as place from session_events
        where session_id = ${sessionId} and id = any(${ids}::uuid[]) and processed_at is null),
      counted as (
        update sessions set event_position = event_position + (select count(*) from due), updated_at = now() where id = ${sessionId}
        returning event_position - (select count(*) from due) as before),
      taken as (
        update session_events event set processed_at = now(), taken_position = counted.before + due.place
        from due, counted where event.session_id = ${sessionId} and event.position = due.position
        returning event.*, ${noticeOf(sessionTopic, sql`session_id`, ifShort(takenEntry))} as told)
      select ${eventColumns} from taken order by position`,
  )
}

/** What clients have sent and nobody has taken, in the order of the log. */
export async function queuedEvents(db: Db, sessionId: string): Promise<SessionEvent[]> {
  return findAll<SessionEvent>(
    db,
    sql`select ${eventColumns} from session_events where session_id = ${sessionId} and processed_at is null order by position`,
  )
}

const takenEntry = sql`json_build_array(taken_position, id, type, data, size_bytes, processed_at::text, created_at::text)::text`

/** An entry of the log: an event where it was sent, or where it was taken. */
export type LogEntry = Pick<SessionEvent, 'id' | 'type' | 'data' | 'processedAt' | 'createdAt'> & {
  at: number
  sizeBytes: number
}

/** The entry that a notice of sessionTopic tells of; undefined for one of a Berth before this one, which said less. */
export function readNotice(said: string): LogEntry | undefined {
  const [at, id, type, data, sizeBytes, processedAt, createdAt] = JSON.parse(said) as [
    number,
    string,
    string,
    Record<string, unknown>,
    number,
    string | null,
    string | undefined,
  ] // appendWhere and takeEvents made it
  if (createdAt === undefined) return undefined
  return {
    at,
    id,
    type,
    data,
    sizeBytes,
    processedAt: processedAt && readTimestamp(processedAt),
    createdAt: readTimestamp(createdAt),
  }
}

/** Whether events of this type come from clients; they wait until they are taken. */
export function isClientType(type: string): boolean {
  return type.startsWith('user.') || type === 'system.message'
}

/** Whether readers may see events of this type while they are made. */
export function isPreviewable(type: string): boolean {
  return type === 'agent.message' || type === 'agent.thinking'
}

/** An event as callers see it. */
export function wireEvent({
  id,
  type,
  data,
  processedAt,
}: Pick<SessionEvent, 'id' | 'type' | 'data' | 'processedAt'>): Record<string, unknown> {
  return { id: encodeId('sessionEvent', id), type, ...data, processed_at: processedAt }
}

/** The stored id of the tool use that an event confirms or gives the result of; null for any other event. */
function answeredId(data: Readonly<Record<string, unknown>>): string | null {
  const id = data['tool_use_id'] ?? data['custom_tool_use_id'] ?? data['mcp_tool_use_id']
  return typeof id === 'string' ? (decodeId('sessionEvent', id) ?? null) : null
}
