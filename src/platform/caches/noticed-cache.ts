/** A cache of values from the database, invalidated by notices. */
import { nowMs } from '#src/platform/clock.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { createBoundedMap } from './bounded-map.ts'

/** The options of such a cache. */
export type NoticedOptions = {
  /** Notices of this topic name the key that changed; after a gap in the notices everything may have changed. */
  topic: string
  entriesMax: number
  /** How long a value is used without a notice, ms. */
  rememberedMs: number
  /** How long while notices do not arrive, ms; `rememberedMs` by default. */
  unheardMs?: number
}

/** One cached value, and when it was requested; Unix ms. */
export type Remembered<Value> = { value: Value; readAtMs: number }

/** Caches the results of database queries by key. */
export type NoticedCache<Value> = {
  /** A value that is still valid. */
  find(key: string): Remembered<Value> | undefined
  /** The same, even if notices have not arrived for long: for when the database is unreachable. */
  findUnheard(key: string): Remembered<Value> | undefined
  /**
   * Queries, and caches the result unless it is undefined, or a notice of the key came meanwhile, because it may have
   * been read before the change.
   * @returns the result of `ask`.
   * @throws what `ask` throws.
   */
  read<Answer extends Value | undefined>(key: string, ask: () => Promise<Answer>): Promise<Answer>
  /** The same for several keys at once. */
  readAll(ask: () => Promise<ReadonlyMap<string, Value>>): Promise<ReadonlyMap<string, Value>>
}

/** Makes a cache that listens for as long as the process lives. */
export function createNoticedCache<Value>(
  pubsub: Pick<Pubsub, 'connected' | 'listen'>,
  { topic, entriesMax, rememberedMs, unheardMs = rememberedMs }: NoticedOptions,
): NoticedCache<Value> {
  // Ages are measured with a monotonic clock.
  const known = createBoundedMap<string, Remembered<Value> & { readAt: number }>({ entriesMax })
  const reading = new Set<Set<string | null>>() // the keys that were noticed during each running query
  pubsub.listen(topic, (key) => {
    for (const noticed of reading) noticed.add(key)
    if (key === null) known.clear()
    else known.delete(key)
  })
  const youngerThan = (key: string, ageMs: number): Remembered<Value> | undefined => {
    const entry = known.get(key)
    return entry && performance.now() - entry.readAt < ageMs ? entry : undefined
  }
  /** Runs the query, and caches those of its results that no notice has overtaken. */
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
