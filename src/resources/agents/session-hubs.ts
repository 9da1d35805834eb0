/**
 * One reader of the tables for each session that is followed in this process: it reads what is new once for all who
 * follow, and hands every one of them the same objects. Who falls behind reads the log by its own position again.
 */
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { emitPreview, readEmissions, type Emission } from './session-emissions.ts'
import { previewTopic, sessionTopic } from './session-log.ts'
import { lastPreview, readPreviews } from './session-previews.ts'

/** One who follows a session. */
export type SessionMember = {
  /**
   * What went out since the last call, after waiting for something; null when too much came to keep: read the log, then
   * ask again. Empty when the hub is over, or the signal fired.
   */
  take(): Promise<readonly Emission[] | null>
  leave(): void
}

type Seat = { queue: Emission[]; bytes: number; behind: boolean; over: boolean; wantsPreviews: boolean; wake: (() => void) | null }
type Hub = { seats: Set<Seat>; ready: Promise<void>; stop: AbortController; beginPreviews: () => Promise<void> }
/** Rung by notices; hears what rang while nobody waited. */
type Bell = { ring: (what: 'log' | 'previews') => void; next: () => Promise<void>; logDue: boolean; previewsDue: boolean }

const hubs = new WeakMap<Pubsub, Map<string, Hub>>()

/** Follows a session from now on. What was logged before this resolved must be read from the log, after it resolved. */
export async function joinSession({ db, pubsub }: { db: Db; pubsub: Pubsub }, id: string, wantsPreviews: boolean, signal: AbortSignal): Promise<SessionMember> {
  const here = hubs.get(pubsub) ?? new Map<string, Hub>()
  hubs.set(pubsub, here)
  let hub = here.get(id)
  if (!hub) here.set(id, (hub = openHub(db, pubsub, id, (gone) => here.get(id) === gone && here.delete(id))))
  const { seats, ready, stop, beginPreviews } = hub
  const seat: Seat = { queue: [], bytes: 0, behind: false, over: signal.aborted, wantsPreviews, wake: null }
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
    if (wantsPreviews) await beginPreviews()
  } catch (error) {
    leave()
    throw error
  }
  return { leave, take: () => takeFrom(seat) }
}

async function takeFrom(seat: Seat): Promise<readonly Emission[] | null> {
  if (seat.queue.length === 0 && !seat.behind && !seat.over) await new Promise<void>((wake) => (seat.wake = wake))
  seat.wake = null
  if (seat.behind) {
    seat.behind = false
    return null
  }
  const taken = seat.queue
  seat.queue = []
  seat.bytes = 0
  return taken
}

function openHub(db: Db, pubsub: Pubsub, id: string, forget: (hub: Hub) => void): Hub {
  const stop = new AbortController()
  const { signal } = stop
  const seats = new Set<Seat>()
  const bell = createBell()
  const hear = async (topic: string, what: 'log' | 'previews'): Promise<void> => {
    for await (const _ of pubsub.subscribe(topic, id, signal)) bell.ring(what)
  }
  void hear(sessionTopic, 'log') // before the position is read: nothing can be missed
  const starting = patiently(() => getOne<{ position: number }>(db, sql`select coalesce(max(event_position), 0) as position from sessions where id = ${id}`), signal)
  let previewing: Promise<number> | undefined
  const beginPreviews = async (): Promise<void> => {
    if (!previewing) {
      void hear(previewTopic, 'previews')
      previewing = lastPreview(db, id)
    }
    await previewing
  }
  const hub: Hub = { seats, stop, ready: starting.then(() => undefined), beginPreviews }
  const over = (): void => {
    forget(hub)
    stop.abort()
    bell.ring('log')
    for (const seat of seats) {
      seat.over = true
      seat.wake?.()
    }
  }
  signal.addEventListener('abort', () => bell.ring('log'), { once: true })
  spread(db, id, starting.then(({ position }) => position), () => previewing, bell, seats, signal)
    .catch((error: Error) => signal.aborted || log.warn({ reason: error.message }, 'the log of a session could not be read; those who follow it come back')) // told to them as the end of their stream
    .finally(over)
  return hub
}

/**
 * Hands what is new to all seats until the session ends or nobody follows. Previews are read before the log, and the
 * append that ends one removes its pieces, so no piece comes behind its event.
 */
async function spread(db: Db, id: string, starting: Promise<number>, previewing: () => Promise<number> | undefined, bell: Bell, seats: ReadonlySet<Seat>, signal: AbortSignal): Promise<void> {
  let position = await starting
  let previewed: number | undefined
  bell.logDue = true
  while (!signal.aborted) {
    if (bell.previewsDue) {
      bell.previewsDue = false
      const since = previewed ?? (await previewing()) ?? 0
      const pieces = await patiently(() => readPreviews(db, id, since), signal)
      previewed = pieces.at(-1)?.seq ?? since
      hand(seats, pieces.map(emitPreview))
    }
    if (bell.logDue) {
      bell.logDue = false
      const { emissions, more } = await patiently(() => readEmissions(db, id, position), signal)
      hand(seats, emissions)
      position = emissions.at(-1)?.position ?? position
      if (emissions.at(-1)?.isLast) return
      if (more) bell.logDue = true
    }
    await bell.next()
  }
}

function hand(seats: ReadonlySet<Seat>, emissions: readonly Emission[]): void {
  if (emissions.length === 0) return
  const bytes = emissions.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const isPreview = emissions[0]?.preview !== null
  for (const seat of seats) {
    if (seat.behind || (isPreview && !seat.wantsPreviews)) continue
    if (seat.queue.length > 0 && seat.bytes + bytes > limits.streamQueuedBytes) {
      seat.behind = true
      seat.queue = []
      seat.bytes = 0
    } else {
      for (const emission of emissions) seat.queue.push(emission)
      seat.bytes += bytes
    }
    seat.wake?.()
  }
}

function createBell(): Bell {
  let wake: (() => void) | null = null
  const bell: Bell = {
    logDue: false,
    previewsDue: false,
    ring(what) {
      if (what === 'log') bell.logDue = true
      else bell.previewsDue = true
      wake?.()
    },
    async next() {
      if (!bell.logDue && !bell.previewsDue) await new Promise<void>((resolve) => (wake = resolve))
      wake = null
    },
  }
  return bell
}
