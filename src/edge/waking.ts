/**
 * Wakes databases, VMs and functions for those who connect. One that cannot wake is asked once a second, however many clients
 * it has: waking reserves room, for which one organization after the other has its turn.
 */
const failedMs = 1_000

/** Wakes the one of this id, for all who ask at the same time once. */
export type Waking<Woken, Details extends unknown[]> = ((id: string, ...details: Details) => Promise<Woken>) & {
  /** It has changed, so one that could not wake is asked again at once. With null all. */
  forget(id: string | null): void
}

/** Makes what wakes them. @param wake wakes one, with what the first who asks says of it */
export function createWaking<Woken, Details extends unknown[]>(
  wake: (id: string, ...details: Details) => Promise<Woken>,
): Waking<Woken, Details> {
  const underway = new Map<string, Promise<Woken>>()
  const failed = new Map<string, Promise<Woken>>()

  function begin(id: string, details: Details): Promise<Woken> {
    const waking = wake(id, ...details)
    underway.set(id, waking)
    const end = (): void => void underway.delete(id)
    waking.then(end, () => {
      end()
      failed.set(id, waking)
      setTimeout(() => {
        if (failed.get(id) === waking) failed.delete(id)
      }, failedMs).unref()
    })
    return waking
  }

  return Object.assign((id: string, ...details: Details) => underway.get(id) ?? failed.get(id) ?? begin(id, details), {
    forget(id: string | null) {
      if (id === null) failed.clear()
      else failed.delete(id)
    },
  })
}
