/** A build's log as callers read it: its last entries, or followed from any entry without gap or repeat (decisions.md §4.9). */
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Call } from '#src/platform/services.ts'
import { isAfter, joinLog, placeEnd, placeLine, type LogEntry, type PlacedEntry } from './build-log-hubs.ts'
import { lastLines, readLog, type LogPosition } from './build-logs.ts'
import type { Build } from './build-rows.ts'
import { readableBuild } from './builds.ts'

type Following = Call & { signal?: AbortSignal }

/**
 * The last entries, oldest first; the one that says done among them when the build is over. After 24 h these are the
 * last 200 lines, which are kept for ever.
 * @throws BerthError not_found, forbidden, invalid_request.
 */
export async function listLog(call: Call, publicId: string, limit: number | null | undefined): Promise<LogEntry[]> {
  const build = await readableBuild(call, publicId, 'builds:read')
  const most = wholeNumber('limit', limit ?? limits.buildLogLinesDefault, 1, limits.buildLogLinesMax)
  const end = endOf(build)
  const entries = isForgotten(build) ? keptEntries(build) : (await lastLines(call.db, build.id, most)).map(placeLine)
  return [...entries, ...(end ? [placeEnd(end)] : [])].map(({ entry }) => entry).slice(-most)
}

/**
 * The log's entries after this one, then new ones as they come; ends after the one that says done.
 * @param after an entry's id; `0` is the beginning, and none is now.
 * @throws BerthError not_found, forbidden; invalid_request for a text that is no entry's id; log_over after the last entry. All before the first entry.
 */
export async function followLog(call: Following, publicId: string, after: string | null | undefined): Promise<AsyncIterableIterator<LogEntry>> {
  const build = await readableBuild(call, publicId, 'builds:read')
  const position = after ? readPosition(after) : await newest(call, build)
  const end = endOf(build)
  if (end && !isAfter(end, position)) throw new BerthError('log_over', 'The log has ended, and nothing follows this entry. Read it whole without a cursor, or from 0.')
  if (end && isForgotten(build)) return keptAfter([...keptEntries(build), placeEnd(end)], position)
  return entriesAfter(call, build.id, position)
}

async function* entriesAfter(call: Following, id: string, position: LogPosition): AsyncIterableIterator<LogEntry> {
  const left = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, left.signal]) : left.signal
  const member = await joinLog(call, id, signal)
  try {
    let fromTable = true
    while (!signal.aborted) {
      let placed: readonly PlacedEntry[]
      if (fromTable) {
        const { lines, more, end } = await patiently(() => readLog(call.db, id, position), signal)
        placed = [...lines.map(placeLine), ...(end && !more ? [placeEnd(end)] : [])]
        fromTable = more
      } else {
        const taken = await member.take()
        if (taken?.length === 0) return
        placed = taken ?? []
        fromTable = taken === null
      }
      for (const one of placed) {
        if (!isAfter(one, position)) continue
        position = one
        yield one.entry
        if (one.entry.done) return
      }
    }
  } finally {
    left.abort()
    member.leave()
  }
}

async function* keptAfter(entries: readonly PlacedEntry[], position: LogPosition): AsyncIterableIterator<LogEntry> {
  for (const one of entries) if (isAfter(one, position)) yield one.entry
}

/** The last lines as entries, once the log itself is forgotten. Their ids stand before all that it had. */
function keptEntries({ tail }: Build): PlacedEntry[] {
  return tail.map((line, index) => placeLine({ ms: 0, seq: index + 1, output: `${line}\n` }))
}

function isForgotten({ finishedAt }: Build): boolean {
  return finishedAt !== null && Date.parse(finishedAt) + limits.buildLogHours * 3_600_000 < nowMs()
}

function endOf({ logEndMs, logEndSeq }: Build): LogPosition | null {
  return logEndMs === null || logEndSeq === null ? null : { ms: logEndMs, seq: logEndSeq }
}

/** The position of now: after the last line, and before the end. */
async function newest(call: Call, build: Build): Promise<LogPosition> {
  const end = endOf(build)
  if (end) return { ms: end.ms, seq: end.seq - 1 }
  return (await lastLines(call.db, build.id, 1))[0] ?? { ms: 0, seq: -1 }
}

function readPosition(after: string): LogPosition {
  const [, ms, seq] = /^(\d{1,15})(?:-(\d{1,9}))?$/.exec(after) ?? []
  if (ms === undefined) throw new BerthError('invalid_request', 'from must be the id of a log entry, such as 1767225600123-0, or 0 for the beginning.')
  return { ms: Number(ms), seq: seq === undefined ? -1 : Number(seq) }
}
