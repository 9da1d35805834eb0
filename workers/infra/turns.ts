/** Makes a handler of which one run at a time works on a thing. */

/**
 * A job that comes while its thing is worked on ends at once, and makes that run do its work once more: it must not wait
 * in a place that the things of others need.
 * @param work reads what there is to do, and may be repeated.
 */
export function inTurns(work: (id: string) => Promise<void>): (id: string) => Promise<void> {
  const underway = new Map<string, { isDue: boolean }>()
  return async (id) => {
    const before = underway.get(id)
    if (before) return void (before.isDue = true)
    const turn = { isDue: true }
    underway.set(id, turn)
    try {
      while (turn.isDue) {
        turn.isDue = false
        await work(id)
      }
    } finally {
      underway.delete(id) // after a failure this run's own job comes back, and does what was due
    }
  }
}
