/**
 * Previews: what a model is producing before its event is logged, for subscribers that ask for it. They are rows of an
 * unlogged table with a notice of their own, not payloads of notices: every process receives a notice, which has at
 * most 8 kB, but a row is read only where it is wanted, in order, and costs no write-ahead log. Appending the previewed
 * event removes them.
 */
import { encodeId, newUuid } from '#src/platform/ids.ts'
import type { RawBuilder } from 'kysely'
import { change, findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { previewTopic } from './log.ts'

/** The types of events that can be previewed. */
export const previewTypes = ['agent.message', 'agent.thinking'] as const
export type PreviewType = (typeof previewTypes)[number]

/** A preview as subscribers receive it: its start, with the type of the later event, and its pieces. */
export type ShownPreview =
  | { type: 'event_start'; event: { type: PreviewType; id: string } }
  | {
      type: 'event_delta'
      event_id: string
      delta: { type: 'content_delta'; index: number; content: { type: 'text'; text: string } }
    }
/** A piece of a preview. */
export type PreviewPiece = Pick<Row<'session_previews', { data: ShownPreview }>, 'seq' | 'eventId' | 'data'>

const pieceMax = 500

/**
 * Starts a preview; the rest of an earlier one is removed.
 * @returns the uuid that the event must have when it is appended.
 */
export async function startPreview(db: Db, sessionId: string, type: PreviewType): Promise<string> {
  const eventId = newUuid()
  const data: ShownPreview = { type: 'event_start', event: { type, id: encodeId('sessionEvent', eventId) } }
  await insertPiece(
    db,
    sessionId,
    eventId,
    data,
    sql`with earlier as (delete from session_previews where session_id = ${sessionId})`,
  )
  return eventId
}

/**
 * Adds text to a preview. Each call is a row and a notice, so collect text for some 50 ms.
 * @param index the index of the content block that the text belongs to.
 */
export async function addToPreview(db: Db, sessionId: string, eventId: string, text: string, index = 0): Promise<void> {
  const data: ShownPreview = {
    type: 'event_delta',
    event_id: encodeId('sessionEvent', eventId),
    delta: { type: 'content_delta', index, content: { type: 'text', text } },
  }
  await insertPiece(db, sessionId, eventId, data)
}

/** The pieces of previews after this one, oldest first. */
export async function readPreviews(db: Db, sessionId: string, after: number): Promise<PreviewPiece[]> {
  return findAll<PreviewPiece>(
    db,
    sql`select seq, event_id, data from session_previews where session_id = ${sessionId} and seq > ${after} order by seq limit ${pieceMax}`,
  )
}

/** The newest piece. */
export async function lastPreview(db: Db, sessionId: string): Promise<number> {
  return (
    (
      await findOne<{ seq: Row<'session_previews'>['seq'] | null }>(
        db,
        sql`select max(seq) as seq from session_previews where session_id = ${sessionId}`,
      )
    )?.seq ?? 0
  )
}

/** One statement, because it is written while the model's answer arrives. @param before what goes before it. */
async function insertPiece(
  db: Db,
  sessionId: string,
  eventId: string,
  data: ShownPreview,
  before: RawBuilder<unknown> = sql``,
): Promise<void> {
  const inserted = await change(
    db,
    sql`${before} insert into session_previews (session_id, event_id, data)
    select id, ${eventId}, ${JSON.stringify(data)}::jsonb from sessions where id = ${sessionId}`,
  )
  if (inserted > 0) publish(db, previewTopic, sessionId) // nothing for a session that is gone
}
