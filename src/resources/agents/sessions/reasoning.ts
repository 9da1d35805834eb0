/** A model's reasoning before its answers: stored beside the log, and sent back to the model with the conversation. */
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { change, findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Stores the reasoning of one request. @param spanId the uuid of the request's start. */
export async function addReasoning(
  tx: Tx,
  sessionId: string,
  { spanId, blocks }: { spanId: string; blocks: readonly ReasoningBlock[] },
): Promise<void> {
  if (blocks.length === 0) return
  await change(
    tx,
    sql`insert into session_reasoning (span_id, session_id, blocks) values (${spanId}, ${sessionId}, ${JSON.stringify(blocks)}::jsonb)`,
  )
}

/** The reasoning of a session so far, by the uuid of each request's start. */
export async function readReasoning(db: Db, sessionId: string): Promise<ReadonlyMap<string, ReasoningBlock[]>> {
  const rows = await findAll<Pick<Row<'session_reasoning', { blocks: ReasoningBlock[] }>, 'spanId' | 'blocks'>>(
    db,
    sql`select span_id, blocks from session_reasoning where session_id = ${sessionId}`,
  )
  return new Map(rows.map(({ spanId, blocks }) => [spanId, blocks]))
}
