/**
 * In a process of its own, so that what holds its thread is told apart from what others do: tells its parent, whenever that
 * asks, how long the thread was held. As in src/platform/metrics/stalls.ts, that is processor time between two turns of the
 * event loop.
 */

const everyMs = 1

/** What the parent is told. `longestMs`: since it asked last; `workedMs`: since the thread began. */
export type Measured = { longestMs: number; workedMs: number }

/** Begins to watch. @returns how long the thread was held at most since it was asked last; ms. */
export function watchHolds(): () => number {
  let worked = process.threadCpuUsage()
  let longestMs = 0
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(worked)
    worked = process.threadCpuUsage()
    longestMs = Math.max(longestMs, (user + system) / 1000)
  }
  setInterval(look, everyMs)
  return () => {
    look()
    const heldMs = longestMs
    longestMs = 0
    return heldMs
  }
}

/** Begins to watch, and tells the parent what it needs to know. */
export function watchThread(ready: object): void {
  const longestMs = watchHolds()
  process.on('message', () => {
    const measured = longestMs()
    const { user, system } = process.threadCpuUsage()
    process.send?.({ longestMs: measured, workedMs: (user + system) / 1000 } satisfies Measured)
  })
  process.send?.(ready)
}
