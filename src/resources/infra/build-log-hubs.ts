/**
 * One reader of the table for each log that is followed in this process: it reads new lines once for all who follow,
 * and hands every one of them the same entries. Who falls behind reads the table by its own position again.
 */
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { lastLines, readLog, type LogLine, type LogPiece, type LogPosition } from './build-logs.ts'

/** An entry as callers see it; `done` is true for the last one, which has no output. */
export type LogEntry = { id: string; output: string; done: boolean }

/** One who follows a log. */
export type LogMember = {
  /**
   * The entries since the last call, after waiting for one; null when too many came to keep: read the table, then ask
   * again. Empty when the hub is over, or the signal fired.
   */
  take(): Promise<readonly PlacedEntry[] | null>
  leave(): void
}

/** An entry and where it stands. */
export type PlacedEntry = LogPosition & { entry: LogEntry }

type Seat = { queue: PlacedEntry[]; characters: number; behind: boolean; over: boolean; wake: (() => void) | null }
type Hub = { seats: Set<Seat>; ready: Promise<void>; stop: AbortController }

const hubs = new WeakMap<Pubsub, Map<string, Hub>>()

/** Follows a log from now on. What was written before this resolved must be read from the table, after it resolved. */
export async function joinLog({ db, pubsub }: { db: Db; pubsub: Pubsub }, id: string, signal: AbortSignal): Promise<LogMember> {
  const here = hubs.get(pubsub) ?? new Map<string, Hub>()
  hubs.set(pubsub, here)
  let hub = here.get(id)
  if (!hub) here.set(id, (hub = openHub(db, pubsub, id, (gone) => here.get(id) === gone && here.delete(id))))
  const { seats, ready, stop } = hub
  const seat: Seat = { queue: [], characters: 0, behind: false, over: signal.aborted, wake: null }
  seats.add(seat)
  const end = (): void => {
    seat.over = true
    seat.wake?.()
  }
  const leave = (): void => {
    signal.removeEventListener('abort', end)
    seats.delete(seat)
    if (seats.size > 0 || here.get(id)?.seats !== seats) return
    here.delete(id)
    stop.abort()
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    await ready
  } catch (error) {
    leave()
    throw error
  }
  return {
    leave,
    async take() {
      if (seat.queue.length === 0 && !seat.behind && !seat.over) await new Promise<void>((wake) => (seat.wake = wake))
      seat.wake = null
      if (seat.behind) {
        seat.behind = false
        return null
      }
      const taken = seat.queue
      seat.queue = []
      seat.characters = 0
      return taken
    },
  }
}

function openHub(db: Db, pubsub: Pubsub, id: string, forget: (hub: Hub) => void): Hub {
  const stop = new AbortController()
  const seats = new Set<Seat>()
  const notices = pubsub.subscribe('build_log', id, stop.signal) // before the position is read: no line can be missed
  const starting = patiently(() => lastLines(db, id, 1), stop.signal).then(([last]) => last ?? { ms: 0, seq: -1 })
  const hub: Hub = { seats, stop, ready: starting.then(() => undefined) }
  const over = (): void => {
    forget(hub)
    stop.abort()
    for (const seat of seats) {
      seat.over = true
      seat.wake?.()
    }
  }
  spread((position) => patiently(() => readLog(db, id, position), stop.signal), starting, notices, seats)
    .catch((error: Error) => stop.signal.aborted || log.warn({ reason: error.message }, 'a log could not be read; those who follow it come back')) // told to them as the end of their stream
    .finally(over)
  return hub
}

/** Hands new lines to all seats until the log ends or nobody follows. */
async function spread(read: (after: LogPosition) => Promise<LogPiece>, starting: Promise<LogPosition>, notices: AsyncIterator<void>, seats: ReadonlySet<Seat>): Promise<void> {
  let position = await starting
  for (;;) {
    const { lines, more, end } = await read(position)
    if (lines.length > 0) hand(seats, lines.map(placeLine))
    position = lines.at(-1) ?? position
    if (more) continue
    if (end) return hand(seats, [placeEnd(end)])
    if ((await notices.next()).done) return
  }
}

function hand(seats: ReadonlySet<Seat>, entries: readonly PlacedEntry[]): void {
  const characters = entries.reduce((sum, { entry }) => sum + entry.output.length, 0)
  for (const seat of seats) {
    if (seat.behind) continue
    if (seat.characters + characters > limits.streamQueuedBytes) {
      seat.behind = true
      seat.queue = []
      seat.characters = 0
    } else {
      for (const entry of entries) seat.queue.push(entry)
      seat.characters += characters
    }
    seat.wake?.()
  }
}

/** A line as an entry. */
export function placeLine({ ms, seq, output }: LogLine): PlacedEntry {
  return { ms, seq, entry: { id: `${ms}-${seq}`, output, done: false } }
}

/** The entry that ends a log. */
export function placeEnd({ ms, seq }: LogPosition): PlacedEntry {
  return { ms, seq, entry: { id: `${ms}-${seq}`, output: '', done: true } }
}

/** Whether one position is after another. */
export function isAfter(one: LogPosition, other: LogPosition): boolean {
  return one.ms > other.ms || (one.ms === other.ms && one.seq > other.seq)
}
