/**
 * The streams of runs as they are stored: what a session does for a task of a group, chunk by chunk. Whoever writes holds
 * the row of the stream, so numbers have no gaps, and a reader that saw one has seen all before it.
 */
import type { RawBuilder } from 'kysely'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { chunksOfEvents, chunksOfMove, silent, type Chunk, type StreamState } from './chunks.ts'
import { taskStreamLimits } from './limits.ts'
import { chunkTopic, isOpen, type Task } from './rows.ts'

/** The stream of a run as it is stored. */
export type TaskStream = Row<'task_streams', { step: StreamState['step'] }>

/** Tells of events that were appended to the log of a session which works on this task, in the same transaction. */
export async function streamEvents(tx: Tx, taskId: string, events: readonly SessionEvent[]): Promise<void> {
  const stream = await holdStream(tx, taskId)
  if (stream?.endedAt) return
  const { state, chunks } = chunksOfEvents(stream ?? silent, events, await findDenied(tx, events))
  await write(tx, taskId, state, chunks)
}

/** Tells of the status that a task came to, in the same transaction; only a group's run has a stream. */
export async function streamMove(tx: Tx, task: Task): Promise<void> {
  if (task.kind !== 'group_run') return
  const stream = await holdStream(tx, task.id)
  if (stream?.endedAt) return
  const metadata = task.status === 'completed' || task.status === 'failed' ? await metadataOf(tx, task) : {}
  const { state, chunks } = chunksOfMove(stream ?? silent, task, metadata)
  await write(tx, task.id, state, chunks, isOpen(task) ? sql`null` : sql`now()`)
}

/** The stream, locked until the transaction ends. */
async function holdStream(tx: Tx, taskId: string): Promise<TaskStream | undefined> {
  return findOne<TaskStream>(tx, sql`select * from task_streams where task_id = ${taskId} for no key update`)
}

/** The tool uses of a session that these results, of its log, say were denied. */
async function findDenied(tx: Tx, events: readonly SessionEvent[]): Promise<ReadonlySet<string>> {
  const failed = events.flatMap(({ answers, data }) => (answers !== null && data['is_error'] === true ? [answers] : []))
  const [first] = events
  if (!first || failed.length === 0) return new Set()
  const log = sql`session_events where session_id = ${first.sessionId}`
  const denied = await findAll<{ id: string | null }>(
    tx,
    sql`
    select answers as id from ${log} and answers = any(${failed}::uuid[]) and type = 'user.tool_confirmation' and data ->> 'result' = 'deny'
    union all select id from ${log} and id = any(${failed}::uuid[]) and data ->> 'evaluated_permission' = 'deny'`,
  )
  return new Set(denied.flatMap(({ id }) => id ?? []))
}

/** What the end of a run tells: why it ended, the model, and the tokens that it took. */
async function metadataOf(tx: Tx, { sessionId, status, fromPosition }: Task): Promise<Record<string, unknown>> {
  const usage = (name: string): RawBuilder<unknown> =>
    sql`coalesce(sum((data -> 'model_usage' ->> ${name}::text)::bigint), 0)`
  const found = await findOne<{ model: string | null; usage: Record<string, number> }>(
    tx,
    sql`
    select (select agent_definition -> 'model' ->> 'id' from sessions where id = ${sessionId}) as model,
      jsonb_build_object('input_tokens', ${usage('input_tokens')}, 'output_tokens', ${usage('output_tokens')},
        'cache_read_input_tokens', ${usage('cache_read_input_tokens')}, 'cache_creation_input_tokens', ${usage('cache_creation_input_tokens')}) as usage
    from session_events where session_id = ${sessionId} and position > ${fromPosition ?? 0} and type = 'span.model_request_end' and ${fromPosition !== null}`,
  )
  return { finishReason: status === 'completed' ? 'stop' : 'error', model: found?.model ?? null, usage: found?.usage }
}

/** Writes the state of a stream that this transaction holds or makes, and its new chunks. */
async function write(
  tx: Tx,
  taskId: string,
  { step, requestId, pieces }: StreamState,
  chunks: readonly Chunk[],
  endedAt: RawBuilder<unknown> = sql`null`,
): Promise<void> {
  const bodies = chunks.map((chunk) => JSON.stringify(chunk))
  const bytes = sizeOf(bodies)
  const held = sql`
    insert into task_streams as s (task_id, last_number, bytes, step, request_id, pieces, ended_at)
    values (${taskId}, ${bodies.length}, ${bytes}, ${step}, ${requestId}, ${pieces}, ${endedAt})
    on conflict (task_id) do update set last_number = s.last_number + excluded.last_number, bytes = s.bytes + excluded.bytes,
      step = excluded.step, request_id = excluded.request_id, pieces = excluded.pieces, ended_at = excluded.ended_at
    returning s.*`
  await insertChunks(tx, taskId, held, bodies)
}

/** A piece of the text of a request to the model. `number`: how many pieces it has already. */
export type Piece = { taskId: string; requestId: string; number: number; chunks: readonly Chunk[] }

/**
 * Adds a piece of text, if the request is still the one that is being answered and has just so many: the worker that began
 * it has not been replaced, and nothing is written twice.
 * @returns false, having written nothing, when that is not so.
 */
export async function writePiece(db: Db, { taskId, requestId, number, chunks }: Piece): Promise<boolean> {
  const bodies = chunks.map((chunk) => JSON.stringify(chunk))
  const held = sql`
    update task_streams set last_number = last_number + ${bodies.length}, bytes = bytes + ${sizeOf(bodies)}, pieces = pieces + 1, step = 'used'
    where task_id = ${taskId} and request_id = ${requestId} and pieces = ${number} and ended_at is null returning *`
  return insertChunks(db, taskId, held, bodies)
}

/** Whether this piece has been written, when that could not be known at once: then its readers have not been notified. */
export async function hasPiece(db: Db, { taskId, requestId, number }: Piece): Promise<boolean> {
  const found = await findOne(
    db,
    sql`select 1 from task_streams where task_id = ${taskId} and request_id = ${requestId} and pieces = ${number + 1}`,
  )
  if (found) publish(db, chunkTopic, taskId)
  return found !== undefined
}

/** Inserts chunks, and notifies readers. @param held a statement that changes the row of the stream and returns it. */
async function insertChunks(
  db: Db,
  taskId: string,
  held: RawBuilder<unknown>,
  bodies: readonly string[],
): Promise<boolean> {
  if (bodies.length === 0) return (await findOne(db, held)) !== undefined
  const stream = await findOne<TaskStream>(
    db,
    sql`
    with held as (${held}),
    added as (
      insert into task_chunks (task_id, number, body, end_bytes)
      select ${taskId}, last_number - ${bodies.length} + place, body, bytes - ${sizeOf(bodies)} + sum(octet_length(body)) over (order by place)
      from held, unnest(${bodies}::text[]) with ordinality as new (body, place))
    select * from held`,
  )
  if (stream) publish(db, chunkTopic, taskId, `${stream.lastNumber - bodies.length} [${bodies.join(',')}]`)
  if (stream && isLong(stream)) await dropOldest(db, taskId)
  return stream !== undefined
}

function sizeOf(bodies: readonly string[]): number {
  return bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0)
}

function isLong({ firstNumber, lastNumber, bytes, goneBytes }: TaskStream): boolean {
  const { chunksKept, chunksSpare, bytesKept, bytesSpare } = taskStreamLimits
  return lastNumber - firstNumber >= chunksKept + chunksSpare || bytes - goneBytes > bytesKept + bytesSpare
}

/** Removes the chunks that are not among the newest any more. */
async function dropOldest(db: Db, taskId: string): Promise<void> {
  const { chunksKept, bytesKept } = taskStreamLimits
  await change(
    db,
    sql`
    with due as (
      select c.number, c.end_bytes from task_chunks c join task_streams s using (task_id)
      where task_id = ${taskId} and (c.number <= s.last_number - ${chunksKept} or c.end_bytes <= s.bytes - ${bytesKept})
      order by c.number desc limit 1),
    moved as (
      update task_streams s set first_number = due.number + 1, gone_bytes = due.end_bytes from due
      where s.task_id = ${taskId} and s.first_number <= due.number returning s.first_number)
    delete from task_chunks using moved where task_id = ${taskId} and number < moved.first_number`,
  )
}

/** The stream of a task, if it has said something and is still kept. */
export async function findStream(db: Db, taskId: string): Promise<TaskStream | undefined> {
  return findOne<TaskStream>(db, sql`select * from task_streams where task_id = ${taskId}`)
}

/** Removes what is left of runs that ended some time ago; readers have had it. Each of several workers takes other streams. */
export async function removeEndedStreams(db: Db): Promise<void> {
  for (let batch = 1; batch <= taskStreamLimits.removalsOfLook; batch++) if (!(await removeSome(db))) return
}

/** @returns whether there were any. Their chunks go with them. */
async function removeSome(db: Db): Promise<boolean> {
  const { keptSeconds, removedAtOnce, streamsAtOnce } = taskStreamLimits
  const removed = await change(
    db,
    sql`
    with due as (
      select task_id, last_number - first_number + 1 as chunks from task_streams
      where ended_at < now() - ${keptSeconds} * interval '1 second' order by ended_at limit ${streamsAtOnce} for update skip locked),
    counted as (select task_id, sum(chunks) over (order by task_id) - chunks as before from due)
    delete from task_streams using counted where task_streams.task_id = counted.task_id and counted.before < ${removedAtOnce}`,
  )
  return removed > 0
}
