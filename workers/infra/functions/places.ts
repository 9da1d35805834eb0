/** Places for work that a node does for many organizations: each has some of them at most, so that none keeps the others waiting. */

/** Does the work when there is a place for this organization. */
export type Places = <Result>(organizationId: string, work: () => Promise<Result>) => Promise<Result>

type Waiting = { organizationId: string; go: () => void }

/** Makes places: whoever finds none waits, and gets one in turn. @param mostOfOne those that one organization has at a time */
export function createPlaces(most: number, mostOfOne: number): Places {
  const waiting: Waiting[] = []
  const takenBy = new Map<string, number>()
  let taken = 0

  const isFree = (organizationId: string): boolean => taken < most && (takenBy.get(organizationId) ?? 0) < mostOfOne
  function take(organizationId: string): void {
    taken++
    takenBy.set(organizationId, (takenBy.get(organizationId) ?? 0) + 1)
  }
  function leave(organizationId: string): void {
    taken--
    const left = (takenBy.get(organizationId) ?? 1) - 1
    if (left > 0) takenBy.set(organizationId, left)
    else takenBy.delete(organizationId)
    const next = waiting.findIndex((one) => isFree(one.organizationId))
    const [one] = next < 0 ? [] : waiting.splice(next, 1)
    if (!one) return
    take(one.organizationId) // before anybody else comes
    one.go()
  }

  return async (organizationId, work) => {
    if (isFree(organizationId)) take(organizationId)
    else await new Promise<void>((go) => waiting.push({ organizationId, go }))
    try {
      return await work()
    } finally {
      leave(organizationId)
    }
  }
}
