/**
 * The log of a function: what the programs of its instances print, masked, in the order in which it was stored. It has a
 * limited size: its oldest lines are dropped, and whoever reads from before them is told so.
 */
import { allow, owned } from '#src/platform/access.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { countRows, eventPosition, pageSql, readPageBy, type Page, type PageWindow } from '#src/platform/pages.ts'
import { patiently } from '#src/platform/patience.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import { timestamp, nowMs } from '#src/platform/clock.ts'
import { heldInstance, type InstanceClaim, type InstanceProgress } from './runs.ts'
import { functionRows, notDeleted } from './rows.ts'
import { endOf } from '#src/platform/texts.ts'

/** A chunk of what a function's programs printed, 16 KiB at most; `done` is true for the last one, when it is deleted. */
export type FunctionLogEntry = Pick<Row<'function_log_lines'>, 'position' | 'output' | 'createdAt'> & {
  versionNumber: number | null
  done: boolean
}

type StoredLog = Pick<Row<'function_logs'>, 'functionId' | 'position' | 'bytes' | 'droppedTo'>
type Line = Pick<Row<'function_log_lines'>, 'position' | 'versionNumber' | 'output' | 'createdAt'>

/** The topic of notices about logs of functions; the id is the function's. */
export const functionLogTopic = 'function_log'

const lineColumns = sql`position, version_number, output, created_at`

/** Begins the log of a new function. */
export async function beginFunctionLog(tx: Tx, functionId: string): Promise<void> {
  await change(tx, sql`insert into function_logs (function_id) values (${functionId})`)
}

/** Deletes the log of a function, and ends it for those who follow it. */
export async function removeFunctionLog(tx: Tx, functionId: string): Promise<void> {
  await change(tx, sql`delete from function_logs where function_id = ${functionId}`)
  publish(tx, functionLogTopic, functionId)
}

/**
 * Appends output of an instance to its function's log, together with the instance's progress. Sending a batch again
 * duplicates nothing.
 * @returns false when another worker has the instance, or it is gone: nothing was written, and nothing will be.
 */
export async function appendFunctionLog(
  db: Db,
  claim: InstanceClaim,
  outputs: readonly string[],
  progress: InstanceProgress,
): Promise<boolean> {
  const texts = outputs.map((output) => output.replaceAll('\0', '\uFFFD')) // Postgres does not store NUL in text
  return transaction(db, async (tx) => {
    const held = await heldInstance(tx, claim, progress)
    if (held !== 'new' || texts.length === 0) return held !== 'lost'
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    // The row is locked until the transaction ends, so positions grow in the order in which transactions commit.
    const log = await findOne<StoredLog>(
      tx,
      sql`
      update function_logs set position = position + ${texts.length}, bytes = bytes + ${bytes} where function_id = ${claim.functionId} returning *`,
    )
    if (!log) return true // the function is deleted
    await change(
      tx,
      sql`
      insert into function_log_lines (function_id, position, version_number, output)
      select ${claim.functionId}, ${log.position - texts.length} + at, ${claim.versionNumber}, output
      from unnest(${texts}::text[]) with ordinality as line (output, at)`,
    )
    const isLong = log.bytes > functionLimits.logBytes || log.position - log.droppedTo > functionLimits.logLinesMax
    if (isLong) await dropOldest(tx, log)
    publish(tx, functionLogTopic, claim.functionId)
    return true
  })
}

const keptPart = 0.9

/** Drops the oldest lines of a log that is too long, and some more, so that this is rare. */
async function dropOldest(tx: Tx, { functionId, bytes, position }: StoredLog): Promise<void> {
  const excess = bytes - functionLimits.logBytes * keptPart
  const lastExcess = position - functionLimits.logLinesMax * keptPart // positions have no gaps
  const { dropped, upTo } = await getOne<{ dropped: number; upTo: number }>(
    tx,
    sql`
    with summed as (select position, octet_length(output) as size, sum(octet_length(output)) over (order by position) - octet_length(output) as before
      from function_log_lines where function_id = ${functionId}),
    gone as (delete from function_log_lines l using summed s
    where l.function_id = ${functionId} and l.position = s.position and (s.before < ${excess} or s.position <= ${lastExcess})
    returning s.size, l.position)
    select coalesce(sum(size), 0)::bigint as dropped, coalesce(max(position), 0)::bigint as up_to from gone`,
  )
  await change(
    tx,
    sql`
    update function_logs
    set bytes = bytes - ${dropped}, dropped_bytes = dropped_bytes + ${dropped}, dropped_to = greatest(dropped_to, ${upTo})
    where function_id = ${functionId}`,
  )
}

/** The last lines of a version in its function's log, as they may stand in a sentence. */
export async function findLogTail(
  db: Db,
  { functionId, versionNumber }: Pick<InstanceClaim, 'functionId' | 'versionNumber'>,
): Promise<string> {
  const lines = await findAll<Pick<Line, 'output'>>(
    db,
    sql`
    select output from (select * from function_log_lines where function_id = ${functionId} order by position desc limit 10) l
    where version_number = ${versionNumber} order by position desc`,
  )
  const text = lines
    .reverse()
    .map(({ output }) => output)
    .join('')
  return endOf(text.trimEnd().split('\n').slice(-functionLimits.reasonLines).join('\n'), functionLimits.reasonLength)
}

/** A page of a function's log, oldest first. @throws BerthError not_found, invalid_request. */
export async function pageFunctionLog(
  call: Call,
  functionId: string,
  window: PageWindow,
): Promise<Page<FunctionLogEntry>> {
  const scope = allow(call.caller, 'functions:read')
  const rows = sql`function_log_lines where function_id = (select id from functions where id = ${functionId} and ${owned(scope)})`
  return readPageBy<FunctionLogEntry, number>(
    {
      keyOf: (cursor) => (/^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined),
      cursorOf: (entry) => String(entry.position),
    },
    window,
    async (reading) => {
      const { within, cut } = pageSql<number>(sql`position`, reading, 'asc')
      return (await findAll<Line>(call.db, sql`select ${lineColumns} from ${rows} and ${within} ${cut}`)).map(entryOf)
    },
    (reading) => countRows(call.db, sql`${rows} and ${pageSql<number>(sql`position`, reading, 'asc').within}`),
  )
}

/**
 * The entries of a log after this one, then new ones as they come; ends when the function is deleted.
 * @param after an entry's cursor; `0` is the beginning, absent means from now.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first entry.
 */
export async function followFunctionLog(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<FunctionLogEntry>> {
  const scope = allow(call.caller, 'functions:read')
  const { id } = await functionRows.read(call.db, publicId, sql`${owned(scope)} and ${notDeleted}`)
  const position = after ? eventPosition(after) : await lastPosition(call.db, id)
  return followEntries(call, id, position)
}

const { follow: followEntries } = createFanOut<FunctionLogEntry, number>({
  name: 'a log of a function',
  read: readEntries,
  watch(db, id, { listen, ring, signal }) {
    listen(functionLogTopic, ring) // before the position is read, so that no line is missed
    return {
      start: patiently(() => lastPosition(db, id), signal),
      read: (from) => patiently(() => readEntries(db, id, from), signal),
    }
  },
  positionOf: ({ position }) => position,
  isAfter: (one, other) => one > other,
  isAside: () => false,
  isLast: ({ done }) => done,
  sizeBytes: ({ output }) => Buffer.byteLength(output),
})

async function lastPosition(db: Db, functionId: string): Promise<number> {
  const log = await findOne<Pick<Row<'function_logs'>, 'position'>>(
    db,
    sql`select position from function_logs where function_id = ${functionId}`,
  )
  return log?.position ?? 0
}

async function readEntries(db: Db, id: string, after: number): Promise<Piece<FunctionLogEntry>> {
  type Read = Partial<Line> & Pick<Row<'function_logs'>, 'droppedTo' | 'droppedBytes'>
  const rows = await findAll<Read>(
    db,
    sql`
    select log.dropped_to, log.dropped_bytes, line.* from function_logs log left join lateral (
      select position, version_number, output, created_at from (
        select next.*, sum(length(output)) over (order by position) - length(output) as before
        from (select ${lineColumns}
          from function_log_lines
          where function_id = ${id} and position > ${after}
          order by position limit ${functionLimits.logPieceLines}) next
      ) piece where before < ${functionLimits.logPieceBytes}
    ) line on true where log.function_id = ${id} order by line.position`,
  )
  const [log] = rows
  if (!log) return { items: [endEntry(after)], more: false }
  const lines = rows.filter((row): row is Read & Line => typeof row.output === 'string')
  const characters = lines.reduce((sum, { output }) => sum + output.length, 0)
  const more = lines.length >= functionLimits.logPieceLines || characters >= functionLimits.logPieceBytes
  const missed = after < log.droppedTo ? [droppedEntry(log)] : []
  return { items: [...missed, ...lines.map(entryOf)], more }
}

function entryOf({ position, versionNumber, output, createdAt }: Line): FunctionLogEntry {
  return { position, versionNumber, output, createdAt, done: false }
}

/** It stands where the newest dropped line was, so that its cursor leads on. */
function droppedEntry({
  droppedTo,
  droppedBytes,
}: Pick<Row<'function_logs'>, 'droppedTo' | 'droppedBytes'>): FunctionLogEntry {
  const kept = `${functionLimits.logBytes / 1024 / 1024} MiB, in ${functionLimits.logLinesMax} entries at most`
  const output = `[… ${droppedBytes} bytes before this were dropped: a log keeps its last ${kept} …]\n`
  return { position: droppedTo, versionNumber: null, output, createdAt: timestamp(nowMs()), done: false }
}

function endEntry(after: number): FunctionLogEntry {
  return { position: after + 1, versionNumber: null, output: '', createdAt: timestamp(nowMs()), done: true }
}
