/** What a page holds of a session: its events once each, and what the agent is writing right now. */
import type { Keeping } from '../app/keeping.ts'
import type { SessionEvents, TranscriptEvent } from '../generated/documents.ts'

/** Events that are held; of a longer session the first are left out. */
const eventsMax = 20_000
/** Events over that before the first are left out: at once, because each time moves all others. */
const spareEvents = 1_000

type Emission = Extract<SessionEvents['sessionEvents'], { cursor?: string | null }>

/** A session's events so far, in their order. */
export class HeldEvents {
  #events: TranscriptEvent[] = []
  #left = 0 // out, of the first
  readonly #numbers = new Map<string, number>()
  readonly #decided = new Set<string>()
  #waiting: readonly string[] = []
  readonly #previews = new Map<string, string>()

  /** What came; an event that is held already takes its place. */
  add({ event, preview }: Emission): void {
    if (event) this.#put(event)
    if (preview && !('text' in preview)) this.dropPreviews() // another begins, and no older one goes on
    if (preview && 'text' in preview && !this.#numbers.has(preview.previewOf))
      this.#previews.set(preview.previewOf, `${this.#previews.get(preview.previewOf) ?? ''}${preview.text}`)
  }

  /** How many there have been, with those that are left out. */
  get count(): number {
    return this.#left + this.#events.length
  }

  /** The first that is held, from 0. */
  get first(): number {
    return this.#left
  }

  /** Those from the number `from` on. */
  read(from: number): readonly TranscriptEvent[] {
    return this.#events.slice(Math.max(0, from - this.#left))
  }

  /** The number of an event that is held. */
  numberOf(id: string): number | undefined {
    return this.#numbers.get(id)
  }

  /** Whether somebody has answered this call. */
  isDecided(id: string): boolean {
    return this.#decided.has(id)
  }

  /** Whether the session waits for an answer to this call. */
  isWaiting(id: string): boolean {
    return this.#waiting.includes(id) && !this.#decided.has(id)
  }

  /** What the agent is writing; empty when it is not. */
  get preview(): string {
    return [...this.#previews.values()].at(-1) ?? ''
  }

  /** Forgets what is being written: its pieces do not go on. */
  dropPreviews(): void {
    this.#previews.clear()
  }

  #put(event: TranscriptEvent): void {
    this.#previews.delete(event.id)
    if ('toolUseId' in event) this.#decided.add(event.toolUseId)
    if ('customToolUseId' in event) this.#decided.add(event.customToolUseId)
    if (event.type.startsWith('SESSION_STATUS_')) {
      this.#waiting = waitedFor(event)
      this.dropPreviews()
    }
    const known = this.#numbers.get(event.id)
    if (known !== undefined) {
      this.#events[known - this.#left] = event
      return
    }
    this.#numbers.set(event.id, this.count)
    this.#events.push(event)
    if (this.#events.length < eventsMax + spareEvents) return
    for (const { id } of this.#events.splice(0, spareEvents)) this.#numbers.delete(id)
    this.#left += spareEvents
  }
}

/** The calls that a session waits for in this state. */
function waitedFor(event: TranscriptEvent): readonly string[] {
  const reason = 'stopReason' in event ? event.stopReason : null
  return reason && 'eventIds' in reason ? reason.eventIds : []
}

/** How a stream of a session's events is kept. */
export const sessionEvents: Keeping<SessionEvents, Emission, HeldEvents> = {
  begin: () => new HeldEvents(),
  read: ({ sessionEvents: emission }) =>
    'event' in emission ? { value: emission as Emission, cursor: (emission as Emission).cursor } : undefined,
  cut: (held) => held.dropPreviews(),
  add(held, emissions) {
    for (const emission of emissions) held.add(emission)
  },
}
