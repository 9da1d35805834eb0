/** Reaching a target, for a limited time. */
import type { Duplex } from 'node:stream'
import { reachSeconds } from './metrics.ts'
import { TargetRefusal, type Reach, type Target } from './targets.ts'

/** Reaches a target in time. @throws as Reach; TargetRefusal when it takes too long */
export async function openWithin(reach: Reach, target: Target, limitMs: number): Promise<Duplex> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const sinceMs = performance.now()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    reject(new TargetRefusal('failing', 'The service did not come up in time. Try again in a moment.', 5))
  }, limitMs)
  const opening = reach(target)
  opening.then((stream) => isLate && stream.destroy()).catch(() => undefined) // whoever waits has the error
  try {
    const stream = await Promise.race([opening, late])
    reachSeconds.observe((performance.now() - sinceMs) / 1000)
    return stream
  } finally {
    clearTimeout(timer)
  }
}
