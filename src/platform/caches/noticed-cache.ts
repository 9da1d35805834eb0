/** What is remembered of the database until a notice says that it changed. */
import { nowMs } from '#src/platform/clock.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { createBoundedMap } from './bounded-map.ts'

/** How a kind of thing is remembered. */
export type NoticedOptions = {
  /** Notices of this topic name what changed by its key; after a gap in the notices everything may have. */
  topic: string
  entriesMax: number
  /** How long an answer holds without a notice, ms. */
  rememberedMs: number
  /** How long while no notices arrive, ms; as long as `rememberedMs` without it. */
  unheardMs?: number
}

/** One remembered answer, and when the question was put; Unix ms. */
export type Remembered<Value> = { value: Value; readAtMs: number }

/** Remembers by key what a question to the database answered. */
export type NoticedCache<Value> = {
  /** What still holds. */
  find(key: string): Remembered<Value> | undefined
  /** The same, however long notices have not arrived: for when the database is away and cannot be asked. */
  findUnheard(key: string): Remembered<Value> | undefined
  /**
   * Asks, and remembers the answer unless it is undefined, or a notice of the key came meanwhile: it may have been read
   * before the change.
   * @returns what `ask` answered.
   * @throws what `ask` throws.
   */
  read<Answer extends Value | undefined>(key: string, ask: () => Promise<Answer>): Promise<Answer>
  /** The same for several keys at once. */
  readAll(ask: () => Promise<ReadonlyMap<string, Value>>): Promise<ReadonlyMap<string, Value>>
}

/** Makes one that listens for as long as the process lives. */
export function createNoticedCache<Value>(
  pubsub: Pick<Pubsub, 'connected' | 'listen'>,
  { topic, entriesMax, rememberedMs, unheardMs = rememberedMs }: NoticedOptions,
): NoticedCache<Value> {
  // Ages are measured with a monotonic clock.
  const known = createBoundedMap<string, Remembered<Value> & { readAt: number }>({ entriesMax })
  const reading = new Set<Set<string | null>>() // what was noticed during each question that is under way
  pubsub.listen(topic, (key) => {
    for (const noticed of reading) noticed.add(key)
    if (key === null) known.clear()
    else known.delete(key)
  })
  const youngerThan = (key: string, ageMs: number): Remembered<Value> | undefined => {
    const entry = known.get(key)
    return entry && performance.now() - entry.readAt < ageMs ? entry : undefined
  }
  /** Runs the question, and keeps of its answers those that no notice overtook. */
  async function overtakable<Answer>(
    ask: () => Promise<Answer>,
    answersIn: (answer: Answer) => Iterable<readonly [string, Value]>,
  ): Promise<Answer> {
    const noticed = new Set<string | null>()
    reading.add(noticed)
    const [readAt, readAtMs] = [performance.now(), nowMs()]
    try {
      const answer = await ask()
      for (const [key, value] of answersIn(answer))
        if (!noticed.has(null) && !noticed.has(key)) known.set(key, { value, readAtMs, readAt })
      return answer
    } finally {
      reading.delete(noticed)
    }
  }
  return {
    find: (key) => youngerThan(key, pubsub.connected ? rememberedMs : unheardMs),
    findUnheard: (key) => youngerThan(key, rememberedMs),
    read: (key, ask) => overtakable(ask, (answer) => (answer === undefined ? [] : [[key, answer]])),
    readAll: (ask) => overtakable(ask, (answers) => answers),
  }
}
