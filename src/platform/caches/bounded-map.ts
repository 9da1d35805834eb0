/** The bounded map: every cache whose keys callers can choose is one of these. */

/** A map with an upper bound: the least recently used entry is evicted first. */
export type BoundedMap<Key, Value> = {
  readonly size: number
  /** The value; this counts as a use. */
  get(key: Key): Value | undefined
  /** The value; this does not count as a use. */
  peek(key: Key): Value | undefined
  /**
   * Sets a value as the most recently used, which always stays; the least recently used are evicted when there is too
   * much.
   * @param weight how much it counts towards `weightMax`, in the map's own unit.
   */
  set(key: Key, value: Value, weight?: number): void
  delete(key: Key): boolean
  clear(): void
  /** From the least to the most recently used. */
  values(): IterableIterator<Value>
}

/**
 * Makes a bounded map.
 * @param bounds the maximum number of entries and, if they differ much in size, their maximum total weight.
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
