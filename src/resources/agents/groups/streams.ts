/** Following the reply of a run while it is written: from its beginning, or from any chunk, without gaps or repeats. */
import { allow, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { taskStreamLimits } from '#src/platform/limits/tasks.ts'
import { patiently } from '#src/platform/patience.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { chunkTopic, findStream } from '#src/resources/agents/tasks/streams.ts'
import { findRunsWhere, isRunOpen, readGroupRun, type GroupRun } from './rows.ts'

/** A chunk of the reply of a run, by its stored id; `number` counts from 1, and is its cursor. */
export type RunChunk = { runId: string; number: number; chunk: Chunk; sizeBytes: number }

type Following = Call & { signal?: AbortSignal }
type ChunkRow = Pick<Row<'task_chunks'>, 'number' | 'body'> & { found: number }

/**
 * The chunks of a run's reply after a cursor, by default all of them, then new ones as they come, until its last. A run
 * that is queued is waited for.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor of this run; replay_retention_exceeded when
 * the next chunk is not kept any more; log_over when nothing follows, or the run ended more than a minute ago. All before
 * the first chunk, except that a reader who is too slow may fall out of what is kept.
 */
export async function followGroupRun(
  call: Following,
  groupId: string | null,
  runId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<RunChunk>> {
  const scope = allow(call.caller, 'groups:read')
  const run =
    groupId === null ? await readAnyRun(call.db, scope, runId) : await readGroupRun(call.db, scope, groupId, runId)
  const position = after === null || after === undefined ? 0 : readCursor(after)
  await checkPosition(call.db, run, position)
  return followChunks(call, run.id, position)
}

async function readAnyRun(db: Db, scope: Scope, runId: string): Promise<GroupRun> {
  const id = decodeId('groupRun', runId)
  const [run] = id ? await findRunsWhere(db, sql`r.id = ${id} and ${ownedByCaller(scope)}`) : []
  if (!run) throw notFound('run')
  return run
}

function readCursor(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw unknownCursor()
}

async function checkPosition(db: Db, run: GroupRun, position: number): Promise<void> {
  const { lastNumber, firstNumber, endedAt, isLate } = await getOne<Place>(
    db,
    sql`
    select coalesce(max(last_number), 0) as last_number, coalesce(max(first_number), 1) as first_number, max(ended_at) as ended_at,
      coalesce(max(ended_at) < now() - ${taskStreamLimits.readSeconds} * interval '1 second', false) as is_late
    from task_streams where task_id = ${run.id}`,
  )
  const isGone = lastNumber === 0 && !isRunOpen(run)
  if (isGone || isLate || (endedAt !== null && position === lastNumber))
    throw new BerthError('log_over', 'Nothing more follows. The run has what it said, as its reply.')
  if (position > lastNumber) throw unknownCursor()
  if (position + 1 < firstNumber) throw notKept()
}

type Place = { lastNumber: number; firstNumber: number; endedAt: string | null; isLate: boolean }

function unknownCursor(): BerthError {
  return new BerthError(
    'invalid_request',
    'after must be the id of a chunk of this run; pass that of the last one that you saw, or none.',
  )
}

function notKept(): BerthError {
  const { chunksKept, bytesKept } = taskStreamLimits
  return new BerthError(
    'replay_retention_exceeded',
    `The next chunk is not kept any more: only the newest ${chunksKept} are, and ${bytesKept / 1024 ** 2} MiB. Read the run for what it has said when it has ended.`,
  )
}

/** The chunks after a number. @throws BerthError replay_retention_exceeded when some of them are not kept any more. */
async function readChunks(db: Db, taskId: string, after: number): Promise<Piece<RunChunk>> {
  const { readChunks: most, readBytes } = taskStreamLimits
  const rows = await findAll<ChunkRow>(
    db,
    sql`
    select number, body, found from (
      select number, body, end_bytes - octet_length(body) - min(end_bytes) over () as before, count(*) over () as found from (
        select number, body, end_bytes from task_chunks where task_id = ${taskId} and number > ${after} order by number limit ${most}) next) counted
    where before <= ${readBytes} order by number`,
  )
  const [first] = rows
  if (first && first.number !== after + 1) throw notKept()
  return {
    items: rows.map((row) => chunkOf(taskId, row)),
    more: rows.length === most || (first?.found ?? 0) > rows.length,
  }
}

function chunkOf(runId: string, { number, body }: ChunkRow): RunChunk {
  return { runId, number, chunk: JSON.parse(body) as Chunk, sizeBytes: body.length } // as tasks/streams.ts wrote it
}

/** The chunks in a notice, which has those after a number if they are short. */
function readNotice(runId: string, said: string): RunChunk[] {
  const space = said.indexOf(' ')
  const before = Number(said.slice(0, space))
  const chunks = JSON.parse(said.slice(space + 1)) as Chunk[] // as tasks/streams.ts wrote it
  const sizeBytes = Math.ceil(said.length / chunks.length)
  return chunks.map((chunk, at) => ({ runId, number: before + at + 1, chunk, sizeBytes }))
}

/** All readers of a run in this process share one reader of its chunks. */
const { follow: followChunks } = createFanOut<RunChunk, number>({
  name: 'the reply of a run',
  read: readChunks,
  watch(db, id, { listen, ring, tell, signal }) {
    listen(chunkTopic, (said) => (said === null ? ring() : tell(readNotice(id, said)))) // before the position is read
    return {
      start: patiently(async () => (await findStream(db, id))?.lastNumber ?? 0, signal),
      read: (after) => patiently(() => readChunks(db, id, after), signal),
    }
  },
  positionOf: ({ number }) => number,
  isAfter: (one, other) => one > other,
  isNext: (one, other) => one === other + 1,
  isAside: () => false,
  isLast: ({ chunk: { type } }) => type === 'finish' || type === 'abort',
  sizeBytes: ({ sizeBytes }) => sizeBytes,
})
