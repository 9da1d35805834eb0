/** Reaching a target, for a limited time. */
import type { Duplex } from 'node:stream'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { reachSeconds } from './metrics.ts'
import { TargetRefusal, type Reach, type Target } from './targets.ts'

/** How long a target may take: a function may set a later end of its start than the usual one, and ends it by itself. Unit: seconds. */
export function reachLimitSeconds(
  { kind }: Pick<Target, 'kind'>,
  { reachSeconds: usual }: { reachSeconds: number },
): number {
  return kind === 'function' ? usual + functionLimits.startSecondsMax - functionLimits.startSecondsDefault : usual
}

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
