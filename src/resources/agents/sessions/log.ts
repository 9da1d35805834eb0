/**
 * The log of a session: the only place that writes it. Positions grow under the lock of the session's row, so a reader
 * that saw one position has seen all before it. An event that a client sends has two entries: queued, and taken.
 */
import type { RawBuilder } from 'kysely'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { isLargeJson, writeInPieces } from '#src/platform/json/text.ts'
import { findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { publish, noticePayloadBytesMax } from '#src/platform/pubsub.ts'
import { readTimestamp } from '#src/platform/postgres/statements.ts'
import { definedBy } from '#src/resources/agents/sessions/outcomes/rows.ts'
import { streamedTypes, type SessionEventType } from './event-types.ts'
import { notifyOfEvents } from './webhook-events.ts'
import { eventColumns, streamingTask, type SessionEvent } from './rows.ts'

/**
 * An event to append. `data` has the fields of its type, as on the wire, without id, type and processed_at.
 * @property id a uuid, if it had to be known before, as for a preview.
 * @property queued whether it waits until a worker takes it; by default true for clients' events.
 */
export type NewEvent = { type: SessionEventType; data?: SessionEvent['data']; id?: string; queued?: boolean }

/** Events were appended for a task of which a stream tells. */
export const taskEventsAppended =
  hook<[tx: Tx, taskId: string, events: readonly SessionEvent[]]>('events of a task appended')

/** The notice that a session's log or state changed; the id is the session's. */
export const sessionTopic = 'session'
/** The notice that a session was interrupted. */
export const interruptTopic = 'session_interrupt'
/** The notice that a preview has new pieces. */
export const previewTopic = 'session_preview'

/**
 * The bytes that a notice needs besides an entry's data: position, id, type, size and times, with commas and quotes.
 */
const payloadOverheadBytes = 250

/**
 * Appends events to a session's log, in this order and all or none, and notifies subscribers. Their previews are
 * removed.
 * @returns the stored events; none when the session is deleted.
 * @throws the database's unique violation of session_events_answers when a tool use has that answer already.
 */
export async function appendEvents(tx: Tx, sessionId: string, events: readonly NewEvent[]): Promise<SessionEvent[]> {
  const { stored, taskId } = await appendWhere(tx, sessionId, events, sql`true`)
  await notifyOfEvents(tx, sessionId, stored)
  if (taskId !== null) await taskEventsAppended.run(tx, taskId, stored)
  return stored
}

/**
 * The same for a running session that matches the condition, in one statement without a transaction around it: the fast
 * path for messages to a running session.
 * @returns none, having appended nothing, when it does not match.
 */
export async function appendToWorking(
  db: Db,
  sessionId: string,
  events: readonly NewEvent[],
  condition: RawBuilder<boolean>,
): Promise<SessionEvent[]> {
  const working = sql<boolean>`status in ('running', 'rescheduling') and ${condition}`
  return (await appendWhere(db, sessionId, events, working)).stored
}

/** What was appended, and the task whose stream tells of it; null when none does. */
type Appended = { stored: SessionEvent[]; taskId: string | null }

async function appendWhere(
  db: Db,
  sessionId: string,
  events: readonly NewEvent[],
  condition: RawBuilder<unknown>,
): Promise<Appended> {
  if (events.length === 0) return { stored: [], taskId: null }
  const rows = await rowsOf(events)
  const fromService = rows.filter(({ type }) => !isClientType(type)).length
  const outcomes = definedBy(rows)
  const interrupts = rows.some(({ type }) => type === 'user.interrupt')
  const entry = sql`
    '[' || position || (${rows.map(payloadOf)}::text[])[position - (select before from counted)]
      || coalesce('"' || processed_at::text || '"', 'null') || ',"' || created_at::text || '"]'`
  const isStreamed = rows.some(({ type }) => streamedTypes.includes(type))
  const stored = await findAll<
    Pick<SessionEvent, 'position' | 'processedAt' | 'createdAt'> & { payload: string | null; taskId?: string | null }
  >(
    db,
    sql`
    with counted as (
      update sessions
      set event_position = event_position + ${rows.length}, service_events = service_events + ${fromService},
        last_event_id = ${rows.at(-1)?.id ?? null}, last_event_at = now(), updated_at = now()
        ${outcomes.length > 0 ? sql`, outcomes = outcomes || ${JSON.stringify(outcomes)}::jsonb` : sql``}
      where id = ${sessionId} and ${condition}
      returning event_position - ${rows.length} as before ${isStreamed ? sql`, ${streamingTask(sql`sessions.id`)} as task_id` : sql``})
    ${rows.some(({ type }) => isPreviewable(type)) ? sql`, forgotten as (delete from session_previews where session_id = ${sessionId})` : sql``}
    insert into session_events (session_id, position, id, type, data, size_bytes, answers, processed_at)
    select ${sessionId}, before + new.place, new.id, new.type, new.data::json, new.size_bytes, new.answers, case when new.queued then null else now() end
    from counted, unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ type }) => type)}::text[], ${textsOf(rows)},
      ${rows.map(({ sizeBytes }) => sizeBytes)}::int[], ${rows.map(({ answers }) => answers)}::uuid[], ${rows.map(({ queued }) => queued)}::boolean[])
      with ordinality as new (id, type, data, size_bytes, answers, queued, place)
    order by place
    returning position, processed_at, created_at, ${entry} as payload ${isStreamed ? sql`, (select task_id from counted) as task_id` : sql``}`,
  )
  for (const { payload } of stored) publish(db, sessionTopic, sessionId, payload)
  if (interrupts && stored.length > 0) publish(db, interruptTopic, sessionId)
  return {
    stored: stored.map((values, at) => eventOf({ sessionId, ...rows[at]! }, values)), // in their order, which is that of the rows
    taskId: stored[0]?.taskId ?? null,
  }
}

/** The first events of a session. */
export type Opening = { sessionId: string; events: readonly NewEvent[] }

/**
 * Begins the logs of sessions that this transaction has made. Nobody knows their ids before it ends, so nobody is notified;
 * webhook endpoints are told by whoever made the sessions.
 * @returns the stored events of each, in the order of `openings`.
 */
export async function openLogs(tx: Tx, openings: readonly Opening[]): Promise<SessionEvent[][]> {
  const rowsOfEach: OpeningRow[][] = []
  for (const { sessionId, events } of openings)
    rowsOfEach.push((await rowsOf(events)).map((row, at) => ({ ...row, sessionId, position: at + 1 })))
  const rows = rowsOfEach.flat()
  if (rows.length === 0) return openings.map(() => [])
  const logs = openings.map(({ sessionId, events }, at) => ({
    id: sessionId,
    events: events.length,
    service_events: events.filter(({ type }) => !isClientType(type)).length,
    last_event_id: rowsOfEach[at]?.at(-1)?.id ?? null,
    outcomes: definedBy(events),
  }))
  const [stored] = await findAll<Pick<SessionEvent, 'createdAt'>>(
    tx,
    sql`
    with opened as (
      update sessions s
      set event_position = log.events, service_events = log.service_events, last_event_id = log.last_event_id,
        last_event_at = now(), outcomes = log.outcomes
      from jsonb_to_recordset(${JSON.stringify(logs)}::jsonb) as log(id uuid, events bigint, service_events bigint, last_event_id uuid, outcomes jsonb)
      where s.id = log.id)
    insert into session_events (session_id, position, id, type, data, size_bytes, answers, processed_at)
    select new.session_id, new.position, new.id, new.type, new.data::json, new.size_bytes, new.answers, case when new.queued then null else now() end
    from unnest(${rows.map(({ sessionId }) => sessionId)}::uuid[], ${rows.map(({ position }) => position)}::bigint[], ${rows.map(({ id }) => id)}::uuid[],
      ${rows.map(({ type }) => type)}::text[], ${textsOf(rows)}, ${rows.map(({ sizeBytes }) => sizeBytes)}::int[],
      ${rows.map(({ answers }) => answers)}::uuid[], ${rows.map(({ queued }) => queued)}::boolean[]) as new (session_id, position, id, type, data, size_bytes, answers, queued)
    returning created_at`,
  )
  const createdAt = stored?.createdAt ?? '' // every row's: the transaction's time
  return rowsOfEach.map((log) =>
    log.map((row) => eventOf(row, { position: row.position, createdAt, processedAt: row.queued ? null : createdAt })),
  )
}

function eventOf(
  { sessionId, id, type, data, answers }: Pick<OpeningRow, 'sessionId' | 'id' | 'type' | 'data' | 'answers'>,
  { position, processedAt, createdAt }: Pick<SessionEvent, 'position' | 'processedAt' | 'createdAt'>,
): SessionEvent {
  return { sessionId, position, id, type, data, answers, processedAt, takenPosition: null, createdAt }
}

async function rowsOf(events: readonly NewEvent[]): Promise<NewRow[]> {
  const rows: NewRow[] = []
  for (const event of events) rows.push(isLargeJson(event.data) ? await largeRow(event) : newRow(event))
  return rows
}

/** An event with the other values of its row. */
function newRow({ type, data = {}, id = newUuid(), queued = isClientType(type) }: NewEvent): NewRow {
  const text = JSON.stringify(data)
  const sizeBytes = Buffer.byteLength(text)
  return { id, type, data, text, sizeBytes, queued, answers: answeredId(data) }
}

type NewRow = {
  id: string
  type: string
  data: Readonly<Record<string, unknown>>
  text: string | Buffer
  sizeBytes: number
  queued: boolean
  answers: string | null
}

/**
 * The payload of an event's notice, without the parts that only Postgres knows; null when it is too long. It is built here
 * because in Postgres it would take a fifth of the whole append.
 */
function payloadOf({ id, type, text, sizeBytes }: NewRow): string | null {
  if (typeof text !== 'string' || sizeBytes > noticePayloadBytesMax - payloadOverheadBytes) return null
  return `,"${id}",${JSON.stringify(type)},${text},${sizeBytes},`
}

type OpeningRow = NewRow & { sessionId: string; position: number }

/** The same for data of many MiB, which is serialized in steps and sent to Postgres as bytes. */
async function largeRow({ type, data = {}, id = newUuid(), queued = isClientType(type) }: NewEvent): Promise<NewRow> {
  const text = Buffer.concat(await writeInPieces(data))
  return { id, type, data, text, sizeBytes: text.length, queued, answers: answeredId(data) }
}

/**
 * The texts as one list. If one is large, each gets a parameter of its own, because the driver scans every text of a
 * list parameter for quotes.
 */
function textsOf(rows: readonly NewRow[]): RawBuilder<unknown> {
  if (rows.some(({ text }) => typeof text !== 'string'))
    return sql`array[${sql.join(rows.map(({ text }) => sql`${text}::text`))}]`
  return sql`${rows.map(({ text }) => text)}::text[]`
}

/**
 * Takes queued events: from now on they count as processed, and subscribers receive them again. Events that were
 * already taken stay as they are.
 * @param ids uuids. The session must be locked by this transaction.
 * @returns the events taken by this call, in the order of the log.
 */
export async function takeEvents(tx: Tx, sessionId: string, ids: readonly string[]): Promise<SessionEvent[]> {
  if (ids.length === 0) return []
  const taken = await findAll<SessionEvent & { payload: string | null }>(
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
        returning event.*, ${takenEntry} as entry)
      select ${eventColumns}, case when octet_length(entry) <= ${noticePayloadBytesMax} then entry end as payload from taken order by position`,
  )
  return taken.map(({ payload, ...event }) => {
    publish(tx, sessionTopic, sessionId, payload)
    return event
  })
}

/** The queued events of clients, in the order of the log. */
export async function queuedEvents(db: Db, sessionId: string): Promise<SessionEvent[]> {
  return findAll<SessionEvent>(
    db,
    sql`select ${eventColumns} from session_events where session_id = ${sessionId} and processed_at is null order by position`,
  )
}

const takenEntry = sql`json_build_array(taken_position, id, type, data, size_bytes, processed_at::text, created_at::text)::text`

/** An entry of the log: an event at the position where it was sent, or where it was taken. */
export type LogEntry = Pick<SessionEvent, 'id' | 'type' | 'data' | 'processedAt' | 'createdAt'> & {
  at: number
  sizeBytes: number
}

/**
 * The entry in a notice of sessionTopic; undefined for a notice of an earlier version of Berth, which had fewer fields.
 */
export function readNotice(payload: string): LogEntry | undefined {
  const [at, id, type, data, sizeBytes, processedAt, createdAt] = parseExactly(payload) as [
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

/** Whether events of this type come from clients, and are queued until they are taken. */
export function isClientType(type: string): boolean {
  return type.startsWith('user.') || type === 'system.message'
}

/** Whether events of this type can be previewed. */
export function isPreviewable(type: string): boolean {
  return type === 'agent.message' || type === 'agent.thinking'
}

/** The stored id of the tool use that an event confirms or gives the result of; null for any other event. */
function answeredId(data: Readonly<Record<string, unknown>>): string | null {
  const id = data['tool_use_id'] ?? data['custom_tool_use_id'] ?? data['mcp_tool_use_id']
  return typeof id === 'string' ? (decodeId('sessionEvent', id) ?? null) : null
}
