/**
 * The lines of a build's log: raw chunks in a table with one partition per day, so that deleting old ones costs
 * nothing. An entry's id is `<unix ms>-<seq>`; each build has one writer, so its ids only grow.
 */
import { nowMs, timestamp } from '#src/platform/clock.ts'
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import { forgetPart } from '#src/platform/metrics/rooms.ts'
import type { Build } from './rows.ts'
import { heldBuildRun, type BuildClaim, type BuildProgress } from './runs.ts'
import { endOf } from '#src/platform/texts.ts'

/** A place in a log; both grow. */
export type LogPosition = Pick<Row<'build_log_lines'>, 'ms' | 'seq'>

/** A chunk of a build's output, masked, 16 KiB at most. */
export type LogLine = LogPosition & Pick<Row<'build_log_lines'>, 'output'>

const dayMs = 86_400_000
const daysAhead = 2
/**
 * A day's lines are dropped when every build that may have written them ended more than 24 h ago: 2 h of build, 24 h
 * after it, the day itself.
 */
const daysKept = 2
const tailChunksMax = 200
const pieceLinesMax = 500
const pieceCharactersMax = 512 * 1024

/**
 * Makes the ids of one build's entries: the clock's milliseconds, never decreasing, and a number within each; all after
 * the given one.
 */
export function createNumbering(after: LogPosition = { ms: 0, seq: 0 }): () => LogPosition {
  let last = after
  return () => {
    const ms = nowMs()
    last = ms > last.ms ? { ms, seq: 0 } : { ms: last.ms, seq: last.seq + 1 }
    return last
  }
}

/**
 * Appends lines to a running build's log together with the build's progress, and notifies readers. Sending a batch
 * again duplicates nothing.
 * @returns false when the build has ended or another worker has it: nothing was written, and nothing will be.
 */
export async function appendBuildLog(
  db: Db,
  claim: BuildClaim,
  lines: readonly LogLine[],
  progress?: BuildProgress,
): Promise<boolean> {
  if (lines.length > 0) for (const ms of new Set([lines[0]?.ms ?? 0, lines.at(-1)?.ms ?? 0])) await ensureDay(db, ms)
  const outputs = lines.map(({ output }) => output.replaceAll('\0', '\uFFFD')) // Postgres does not store NUL in text
  return transaction(db, async (tx) => {
    const running = await findOne(
      tx,
      sql`
      with run as (${heldBuildRun(claim, progress)}),
      written as (
        insert into build_log_lines (job_id, ms, seq, output)
        select run.job_id, line.ms, line.seq, line.output
        from run, unnest(${lines.map(({ ms }) => ms)}::bigint[], ${lines.map(({ seq }) => seq)}::int[], ${outputs}::text[]) as line (ms, seq, output)
        on conflict do nothing)
      select job_id from run`,
    )
    if (running && lines.length > 0) publish(tx, 'build_log', claim.buildId)
    return running !== undefined
  })
}

/**
 * A piece of a log: lines, oldest first; whether there may be more already; and the id of the last entry if the log has
 * ended.
 */
export type LogPiece = { lines: LogLine[]; more: boolean; end: LogPosition | null }

/**
 * The lines after a position: up to 500 or half a megabyte. The row and the lines are read in one snapshot, so a log
 * that has ended without more lines will never have more.
 */
export async function readLog(db: Db, id: string, { ms, seq }: LogPosition): Promise<LogPiece> {
  const rows = await findAll<Partial<LogLine> & { endMs: number | null; endSeq: number | null }>(
    db,
    sql`
    select job.log_end_ms as end_ms, job.log_end_seq as end_seq, line.ms, line.seq, line.output
    from build_jobs job left join lateral (
      select piece.* from (
        select ms, seq, output, sum(length(output)) over (order by ms, seq) - length(output) as before
        from (select ms, seq, output
          from build_log_lines
          where job_id = ${id} and ms >= ${ms} and (ms, seq) > (${ms}, ${seq})
          order by ms, seq limit ${pieceLinesMax}) next
      ) piece where before < ${pieceCharactersMax}
    ) line on true where job.id = ${id} order by line.ms, line.seq`,
  )
  const lines = rows.filter((row): row is LogLine & typeof row => row.output !== undefined && row.output !== null)
  const characters = lines.reduce((sum, { output }) => sum + output.length, 0)
  const [first] = rows
  const end = first && first.endMs !== null && first.endSeq !== null ? { ms: first.endMs, seq: first.endSeq } : null
  return { lines, more: lines.length >= pieceLinesMax || characters >= pieceCharactersMax, end }
}

/** The last so many lines, oldest first. */
export async function lastLines(db: Db, id: string, most: number): Promise<LogLine[]> {
  return (
    await findAll<LogLine>(
      db,
      sql`select ms, seq, output from build_log_lines where job_id = ${id} order by ms desc, seq desc limit ${most}`,
    )
  ).reverse()
}

/** The last lines of a log that ends now, and the id of its last entry. The build's row must be locked. */
export async function endOfLog(tx: Tx, { id }: Pick<Build, 'id'>): Promise<LogPosition & { tail: string[] }> {
  const chunks = await lastLines(tx, id, tailChunksMax)
  const last = chunks.at(-1)
  const ms = Math.max(nowMs(), last?.ms ?? 0)
  return {
    ms,
    seq: last && last.ms === ms ? last.seq + 1 : 0,
    tail: tailOf(chunks.map(({ output }) => output).join('')),
  }
}

function tailOf(text: string): string[] {
  const lines = endOf(text, limits.buildTailCharacters).replace(/\n$/, '').split('\n')
  return text === '' ? [] : lines.slice(-limits.buildTailLines).map((line) => line.replace(/\r$/, ''))
}

const readyDays = new WeakMap<Db, Set<number>>()

/** Makes sure that there is a partition for lines of this time. */
async function ensureDay(db: Db, ms: number): Promise<void> {
  const day = Math.floor(ms / dayMs)
  const ready = readyDays.get(db) ?? new Set()
  readyDays.set(db, ready)
  if (ready.has(day)) return
  await makeDay(db, day)
  ready.add(day)
}

/** Creates the partitions of today and the next days, and drops expired ones. For housekeeping, every hour. */
export async function rotateLogPartitions(db: Db): Promise<void> {
  const today = Math.floor(nowMs() / dayMs)
  for (let day = today; day <= today + daysAhead; day++) await ensureDay(db, day * dayMs)
  const partitions = await findAll<{ name: string }>(
    db,
    sql`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'build_log_lines'::regclass`,
  )
  const oldest = nameOfDay(today - daysKept)
  for (const { name } of partitions) {
    if (name >= oldest) continue
    const [day] = await findAll<{ day: number }>(
      db,
      sql`select (ms / ${sql.lit(dayMs)})::int as day from ${sql.table(name)} limit 1`,
    )
    await withDdlLock(db, async (tx) => {
      await change(tx, sql`drop table if exists ${sql.table(name)}`)
      if (day) await forgetPart(tx, 'logs', day.day) // behind the last line that may have been counted
    })
    readyDays.get(db)?.clear()
  }
}

/** Creates a day's partition separately and then attaches it, which blocks neither readers nor writers. */
async function makeDay(db: Db, day: number): Promise<void> {
  const name = nameOfDay(day)
  await withDdlLock(db, async (tx) => {
    if (
      await findOne(
        tx,
        sql`select 1 from pg_class where relname = ${name} and relnamespace = current_schema()::regnamespace`,
      )
    )
      return
    await change(tx, sql`create table ${sql.table(name)} (like build_log_lines including all)`)
    await change(
      tx,
      sql`alter table build_log_lines attach partition ${sql.table(name)} for values from (${sql.lit(day * dayMs)}) to (${sql.lit((day + 1) * dayMs)})`,
    )
  })
}

async function withDdlLock<Result>(db: Db, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return transaction(db, async (tx) => {
    await findOne(tx, sql`select pg_advisory_xact_lock(${lockNumbers.buildLogDays})`)
    return work(tx)
  })
}

function nameOfDay(day: number): string {
  return `build_log_lines_${timestamp(day * dayMs)
    .slice(0, 10)
    .replaceAll('-', '')}`
}

/** What workers do for logs of builds. */
export const buildLogUpkeep: readonly Upkeep[] = [
  { every: '27 * * * *', doing: 'rotating build logs', work: ({ db }) => rotateLogPartitions(db) },
]
