/** Following the reply of a run while it is written: from its beginning, or from any chunk, without gaps or repeats. */
import { isParent, type ParentId } from '#src/platform/nouns.ts'
import { allowAnywhere, ownedByCaller, type Reach } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { readStored } from '#src/platform/json/stored.ts'
import { patiently } from '#src/platform/patience.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { taskStreamLimits } from '#src/resources/agents/tasks/limits.ts'
import { chunkTopic } from '#src/resources/agents/tasks/rows.ts'
import { findStream } from '#src/resources/agents/tasks/streams.ts'

/** A chunk of the reply of a run, by its stored id; `number` counts from 1, and is its cursor. */
export type RunChunk = { runId: string; number: number; chunk: Chunk; sizeBytes: number }

type Following = Call & { signal?: AbortSignal }
type ChunkRow = Pick<Row<'task_chunks'>, 'number' | 'body'> & { found: number }
/** A chunk, or none; `isKept`: there is a stream, or will be. */
type ReadRow = (ChunkRow | { number: null }) & { isKept: boolean }

/**
 * The chunks of a run's reply after a cursor, by default all of them, then new ones as they come, until its last. A run
 * that is queued is waited for.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor of this run; replay_retention_exceeded when
 * the next chunk is not kept any more; log_over when nothing follows, or the run ended more than a minute ago. All before
 * the first chunk, except that a reader who is too slow may fall out of what is kept.
 */
export async function followGroupRun(
  call: Following,
  groupId: ParentId,
  runId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<RunChunk>> {
  const scope = allowAnywhere(call.caller, 'groups:read')
  const run = await readPlace(call.db, scope, groupId, runId)
  const position = after === null || after === undefined ? 0 : readCursor(after)
  checkPosition(run, position)
  return followChunks(call, run.id, position)
}

/** A run of the caller's, and how far its stream is. `isLate`: it ended too long ago. */
type Place = {
  id: string
  isOpen: boolean
  firstNumber: number
  lastNumber: number
  endedAt: string | null
  isLate: boolean
}

/** One light statement: a client comes back as often as its connection breaks. @throws BerthError not_found. */
async function readPlace(db: Db, scope: Reach, groupId: ParentId, runId: string): Promise<Place> {
  const id = decodeId('groupRun', runId)
  const place =
    id &&
    (await findOne<Place>(
      db,
      sql`
      select r.id, t.finished_at is null as is_open, coalesce(s.first_number, 1) as first_number, coalesce(s.last_number, 0) as last_number, s.ended_at,
        coalesce(s.ended_at < now() - ${taskStreamLimits.readSeconds} * interval '1 second', false) as is_late
      from group_runs r join (select id as task_id, finished_at from session_tasks) t on t.task_id = r.id left join task_streams s on s.task_id = r.id
      where r.id = ${id} and ${isParent('group', groupId, sql`r.group_id`)} and ${ownedByCaller(scope)}`,
    ))
  if (!place) throw notFound('run of this group')
  return place
}

function readCursor(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw unknownCursor()
}

function checkPosition({ isOpen, firstNumber, lastNumber, endedAt, isLate }: Place, position: number): void {
  const isGone = lastNumber === 0 && !isOpen
  if (isGone || isLate || (endedAt !== null && position === lastNumber))
    throw new BerthError('log_over', 'Nothing more follows. The run has what it said, as its reply.')
  if (position > lastNumber) throw unknownCursor()
  if (position + 1 < firstNumber) throw notKept(firstNumber)
}

function unknownCursor(): BerthError {
  return new BerthError(
    'invalid_request',
    'after must be the id of a chunk of this run; pass that of the last one that you saw, or none.',
  )
}

function notKept(firstNumber: number): BerthError {
  const { chunksKept, bytesKept } = taskStreamLimits
  return new BerthError(
    'replay_retention_exceeded',
    `The next chunk is not kept any more: only the newest ${chunksKept} are, and ${bytesKept / 1024 ** 2} MiB. Pass after=${firstNumber - 1} to begin with the oldest that is kept, or read the run for what it has said when it has ended.`,
  )
}

/**
 * The chunks after a number, which are over when the run is deleted, or was forgotten before they were read.
 * @throws BerthError replay_retention_exceeded when some of them are not kept any more.
 */
async function readChunks(db: Db, taskId: string, after: number): Promise<Piece<RunChunk>> {
  const { readChunks: most, readBytes } = taskStreamLimits
  const read = await findAll<ReadRow>(
    db,
    sql`
    select number, body, found, is_kept
    from (select exists (select from task_streams where task_id = ${taskId})
      or exists (select from session_tasks where id = ${taskId} and finished_at is null) as is_kept) run
    left join (
      select number, body, end_bytes - octet_length(body) - min(end_bytes) over () as before, count(*) over () as found from (
        select number, body, end_bytes from task_chunks where task_id = ${taskId} and number > ${after} order by number limit ${most}) next) counted
      on before <= ${readBytes} order by number`,
  )
  const rows = read.filter((row) => row.number !== null)
  const [first] = rows
  if (first && first.number !== after + 1) throw notKept(first.number)
  return {
    items: await chunksOf(taskId, rows),
    more: rows.length === most || (first?.found ?? 0) > rows.length,
    isOver: read.some(({ isKept }) => !isKept),
  }
}

async function chunksOf(runId: string, rows: readonly ChunkRow[]): Promise<RunChunk[]> {
  const chunks: RunChunk[] = []
  for (const { number, body } of rows)
    chunks.push({ runId, number, chunk: (await readStored(body)) as Chunk, sizeBytes: body.length }) // as tasks/streams.ts wrote it
  return chunks
}

/** The chunks in a notice, which has those after a number if they are short. */
function readNotice(runId: string, payload: string): RunChunk[] {
  const space = payload.indexOf(' ')
  const before = Number(payload.slice(0, space))
  const chunks = parseExactly(payload.slice(space + 1)) as Chunk[] // as tasks/streams.ts wrote it
  const sizeBytes = Math.ceil(payload.length / chunks.length)
  return chunks.map((chunk, at) => ({ runId, number: before + at + 1, chunk, sizeBytes }))
}

/** All readers of a run in this process share one reader of its chunks. */
const { follow: followChunks } = createFanOut<RunChunk, number>({
  name: 'the reply of a run',
  read: readChunks,
  watch(db, id, { listen, ring, push, signal }) {
    listen(chunkTopic, (payload) => (payload === null ? ring() : push(readNotice(id, payload)))) // before the position is read
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
