/** Places for the wakings of each organization, so that one with many sleeping functions keeps no other one waiting. */
import { functionLimits } from '#src/platform/limits/functions.ts'
import { TargetRefusal } from '../http/targets.ts'

/** The limits of wakings; smaller in tests. */
export type WakingLimits = Record<'wakingMax' | 'wakingWaitersMax', number>

/** Runs what wakes a function of this organization, as soon as it has a place. @throws TargetRefusal when it gets none within `limitSeconds` */
export type WakingTurns = <Result>(
  organizationId: string,
  limitSeconds: number,
  wake: () => Promise<Result>,
) => Promise<Result>

type Places = { taken: number; waiting: Set<() => void> }

/** Begins with all places free. */
export function createWakingTurns(limits: WakingLimits = functionLimits): WakingTurns {
  const byOrganization = new Map<string, Places>()

  /** Waits for a place, which whoever leaves hands on. */
  async function enter(places: Places, limitSeconds: number): Promise<void> {
    if (places.taken < limits.wakingMax) return void places.taken++
    if (places.waiting.size >= limits.wakingWaitersMax) throw crowded()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const late = setTimeout(() => {
      places.waiting.delete(resolve)
      reject(crowded())
    }, limitSeconds * 1000)
    places.waiting.add(resolve)
    await promise
    clearTimeout(late)
  }

  return async (organizationId, limitSeconds, wake) => {
    const places = byOrganization.get(organizationId) ?? { taken: 0, waiting: new Set() }
    byOrganization.set(organizationId, places)
    await enter(places, limitSeconds)
    try {
      return await wake()
    } finally {
      const [next] = places.waiting
      if (next) {
        places.waiting.delete(next)
        next()
      } else if (--places.taken === 0) byOrganization.delete(organizationId)
    }
  }
}

function crowded(): TargetRefusal {
  return new TargetRefusal('busy', 'There is no room to start the function right now. Try again in a moment.', 2)
}
