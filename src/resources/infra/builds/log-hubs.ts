/** The shared reader of a build's log: one for all subscribers of the log in this process. */
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import { lastLines, readLog, type LogLine, type LogPosition } from './logs.ts'

/** An entry as callers see it, with its position; `done` is true for the last one, which has no output. */
export type LogEntry = LogPosition & { id: string; output: string; done: boolean }

/** Follows a log by its build's id; see fan-out.ts. */
export const { join: joinLog, follow: followEntries } = createFanOut<LogEntry, LogPosition>({
  name: 'a log',
  read: readEntries,
  watch(db, id, { listen, ring, signal }) {
    listen('build_log', ring) // before the position is read, so that no line is missed
    return {
      start: patiently(() => lastLines(db, id, 1), signal).then(([last]) => last ?? { ms: 0, seq: -1 }),
      read: (after) => patiently(() => readEntries(db, id, after), signal),
    }
  },
  positionOf: (entry) => entry,
  isAfter,
  isAside: () => false,
  isLast: ({ done }) => done,
  sizeBytes: ({ output }) => Buffer.byteLength(output),
})

async function readEntries(db: Db, id: string, after: LogPosition): Promise<Piece<LogEntry>> {
  const { lines, more, end } = await readLog(db, id, after)
  return { items: [...lines.map(entryOf), ...(end && !more ? [entryOfEnd(end)] : [])], more }
}

/** A line as an entry. */
export function entryOf({ ms, seq, output }: LogLine): LogEntry {
  return { ms, seq, id: `${ms}-${seq}`, output, done: false }
}

/** The entry that ends a log. */
export function entryOfEnd({ ms, seq }: LogPosition): LogEntry {
  return { ms, seq, id: `${ms}-${seq}`, output: '', done: true }
}

/** Whether one position is after another. */
export function isAfter(one: LogPosition, other: LogPosition): boolean {
  return one.ms > other.ms || (one.ms === other.ms && one.seq > other.seq)
}
