/**
 * Previews: what a model is saying before it is said, for those who follow a session and ask for it.
 * Rows of an unlogged table and a notice of their own, not payloads of notices. A notice is heard by every
 * process and holds 8 kB; a row is read only where somebody asked for it, in order, and costs no write-ahead log. The
 * appending of the event that was previewed removes them.
 */
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { change, findAll, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { previewTopic } from './log.ts'

/** The types of events that can be previewed. */
export const previewTypes = ['agent.message', 'agent.thinking'] as const
export type PreviewType = (typeof previewTypes)[number]

/** A preview as it goes out: its beginning, with the type of the event which it becomes; and what follows. */
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
 * Begins a preview; what was left of one before is forgotten.
 * @returns the uuid that the event must have when it is appended.
 */
export async function startPreview(db: Db, sessionId: string, type: PreviewType): Promise<string> {
  const eventId = newUuid()
  const data: ShownPreview = { type: 'event_start', event: { type, id: encodeId('sessionEvent', eventId) } }
  await transaction(db, async (tx) => {
    await change(tx, sql`delete from session_previews where session_id = ${sessionId}`)
    await insertPiece(tx, sessionId, eventId, data)
  })
  return eventId
}

/**
 * Adds text to a preview. Each call is a row and a notice: gather what comes within some 50 ms.
 * @param index which entry of the event's content the text belongs to.
 */
export async function addToPreview(db: Db, sessionId: string, eventId: string, text: string, index = 0): Promise<void> {
  const data: ShownPreview = {
    type: 'event_delta',
    event_id: encodeId('sessionEvent', eventId),
    delta: { type: 'content_delta', index, content: { type: 'text', text } },
  }
  await transaction(db, (tx) => insertPiece(tx, sessionId, eventId, data))
}

/** What was previewed after a piece, oldest first. */
export async function readPreviews(db: Db, sessionId: string, after: number): Promise<PreviewPiece[]> {
  return findAll<PreviewPiece>(
    db,
    sql`select seq, event_id, data from session_previews where session_id = ${sessionId} and seq > ${after} order by seq limit ${pieceMax}`,
  )
}

/** The newest piece there is. */
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

async function insertPiece(db: Db, sessionId: string, eventId: string, data: ShownPreview): Promise<void> {
  await change(
    db,
    sql`insert into session_previews (session_id, event_id, data) select id, ${eventId}, ${JSON.stringify(data)}::jsonb from sessions where id = ${sessionId}`,
  ) // nothing for a session that is gone
  await publish(db, previewTopic, sessionId)
}
