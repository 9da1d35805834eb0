/** What a model needs back of its answers, such as its reasoning: stored beside the log, and sent back to it with the conversation. */
import type { CallExtra, ReasoningBlock, ToolCall } from '#src/drivers/models/model.ts'
import { change, findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** What the provider of a model attached to the calls of one answer, in their order; null for a call that has nothing. */
export type CallExtras = { model: string; calls: readonly (CallExtra | null)[] }

/** What is kept of one answer. */
export type Replayed = ReasoningBlock | CallExtras

/** What is to be kept of an answer of this model. */
export function replayedOf(
  model: string,
  { reasoning, calls }: { reasoning: readonly ReasoningBlock[]; calls: readonly ToolCall[] },
): Replayed[] {
  const extras = calls.map(({ extra }) => extra ?? null)
  return extras.every((extra) => extra === null) ? [...reasoning] : [...reasoning, { model, calls: extras }]
}

/** Stores it for one request. @param spanId the uuid of the request's start. */
export async function addReasoning(
  tx: Tx,
  sessionId: string,
  { spanId, blocks }: { spanId: string; blocks: readonly Replayed[] },
): Promise<void> {
  if (blocks.length === 0) return
  await change(
    tx,
    sql`insert into session_reasoning (span_id, session_id, blocks) values (${spanId}, ${sessionId}, ${JSON.stringify(blocks)}::jsonb)`,
  )
}

/** What is kept of a session so far, by the uuid of each request's start. */
export async function readReasoning(db: Db, sessionId: string): Promise<ReadonlyMap<string, Replayed[]>> {
  const rows = await findAll<Pick<Row<'session_reasoning', { blocks: Replayed[] }>, 'spanId' | 'blocks'>>(
    db,
    sql`select span_id, blocks from session_reasoning where session_id = ${sessionId}`,
  )
  return new Map(rows.map(({ spanId, blocks }) => [spanId, blocks]))
}
