/** The one map that forgets: whatever is remembered by a name that others choose is kept in one of these. */

/** A map with an upper bound: the entry that was used longest ago leaves first. */
export type BoundedMap<Key, Value> = {
  readonly size: number
  /** The value, which counts as used by this. */
  get(key: Key): Value | undefined
  /** The value, which does not count as used. */
  peek(key: Key): Value | undefined
  /**
   * Sets it as the latest, which always stays; what was used longest ago leaves where there is too much.
   * @param weight what it counts against `weightMax`, in the map's own unit.
   */
  set(key: Key, value: Value, weight?: number): void
  delete(key: Key): boolean
  clear(): void
  /** From the one that was used longest ago to the latest. */
  values(): IterableIterator<Value>
}

/**
 * Makes one.
 * @param bounds how many entries there may be; and, where they differ much in size, what they may weigh together.
 */
export function createBoundedMap<Key, Value>(bounds: {
  entriesMax: number
  weightMax?: number
}): BoundedMap<Key, Value> {
  const { entriesMax, weightMax = Infinity } = bounds
  const entries = new Map<Key, { value: Value; weight: number }>() // in the order in which they were used
  let weightOfAll = 0

  function remove(key: Key): boolean {
    weightOfAll -= entries.get(key)?.weight ?? 0
    return entries.delete(key)
  }

  return {
    get size() {
      return entries.size
    },
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    peek: (key) => entries.get(key)?.value,
    set(key, value, weight = 0) {
      remove(key)
      entries.set(key, { value, weight })
      weightOfAll += weight
      for (const oldest of entries.keys()) {
        if (entries.size <= 1 || (entries.size <= entriesMax && weightOfAll <= weightMax)) return
        remove(oldest)
      }
    },
    delete: remove,
    clear() {
      entries.clear()
      weightOfAll = 0
    },
    *values() {
      for (const { value } of entries.values()) yield value
    },
  }
}
