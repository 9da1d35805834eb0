/** Waiting for something that goes on when it takes too long. */

/** What a promise resolves to, or null when that takes longer: the promise goes on. @throws what it rejects with in time */
export async function inTime<Value>(promise: Promise<Value>, limitMs: number): Promise<{ value: Value } | null> {
  const { promise: limit, resolve: elapse } = Promise.withResolvers<null>()
  const timer = setTimeout(() => elapse(null), limitMs)
  try {
    return await Promise.race([promise.then((value) => ({ value })), limit])
  } finally {
    clearTimeout(timer)
  }
}
