/** Reading a build's log: its last entries, or following it from any entry without gaps or repeats. */
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Call } from '#src/platform/services.ts'
import { entryOf, entryOfEnd, followEntries, isAfter, type LogEntry } from './log-hubs.ts'
import { lastLines, type LogPosition } from './logs.ts'
import type { Build } from './rows.ts'
import { readableBuild } from '#src/resources/infra/builds.ts'

type Following = Call & { signal?: AbortSignal }

/**
 * The last entries, oldest first, including the `done` entry if the build has ended. After 24 h these are the last 200
 * lines, which are kept permanently.
 * @throws BerthError not_found, forbidden, invalid_request.
 */
export async function listLog(call: Call, publicId: string, limit: number | null | undefined): Promise<LogEntry[]> {
  const build = await readableBuild(call, publicId, 'builds:read')
  const most = wholeNumber('limit', limit ?? limits.buildLogLinesDefault, 1, limits.buildLogLinesMax)
  const end = endOf(build)
  const entries = isForgotten(build) ? keptEntries(build) : (await lastLines(call.db, build.id, most)).map(entryOf)
  return [...entries, ...(end ? [entryOfEnd(end)] : [])].slice(-most)
}

/**
 * The log's entries after this one, then new ones as they come; ends after the `done` entry.
 * @param after an entry's id; `0` is the beginning, absent means from now.
 * @throws BerthError not_found, forbidden; invalid_request for a text that is not an entry's id; log_over after the
 * last entry. All before the first entry.
 */
export async function followLog(
  call: Following,
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<LogEntry>> {
  const build = await readableBuild(call, publicId, 'builds:read')
  const position = after ? readPosition(after) : await newest(call, build)
  const end = endOf(build)
  if (end && !isAfter(end, position))
    throw new BerthError(
      'log_over',
      'The log has ended, and nothing follows this entry. Read all of it without a cursor, or from 0.',
    )
  if (end && isForgotten(build)) return keptAfter([...keptEntries(build), entryOfEnd(end)], position)
  return followEntries(call, build.id, position)
}

async function* keptAfter(entries: readonly LogEntry[], position: LogPosition): AsyncIterableIterator<LogEntry> {
  for (const entry of entries) if (isAfter(entry, position)) yield entry
}

/** The last lines as entries, after the log itself was deleted. Their ids are smaller than all that the log had. */
function keptEntries({ tail }: Build): LogEntry[] {
  return tail.map((line, index) => entryOf({ ms: 0, seq: index + 1, output: `${line}\n` }))
}

function isForgotten({ finishedAt }: Build): boolean {
  return finishedAt !== null && Date.parse(finishedAt) + limits.buildLogHours * 3_600_000 < nowMs()
}

function endOf({ logEndMs, logEndSeq }: Build): LogPosition | null {
  return logEndMs === null || logEndSeq === null ? null : { ms: logEndMs, seq: logEndSeq }
}

/** The current position: after the last line, and before the end. */
async function newest(call: Call, build: Build): Promise<LogPosition> {
  const end = endOf(build)
  if (end) return { ms: end.ms, seq: end.seq - 1 }
  return (await lastLines(call.db, build.id, 1))[0] ?? { ms: 0, seq: -1 }
}

function readPosition(after: string): LogPosition {
  const [, ms, seq] = /^(\d{1,15})(?:-(\d{1,9}))?$/.exec(after) ?? []
  if (ms === undefined)
    throw new BerthError(
      'invalid_request',
      'from must be the id of a log entry, such as 1767225600123-0, or 0 for the beginning.',
    )
  return { ms: Number(ms), seq: seq === undefined ? -1 : Number(seq) }
}
