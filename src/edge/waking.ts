/**
 * Wakes databases for those who connect. A database that cannot wake is asked once a second, however many clients it has:
 * waking reserves room, for which one organization after the other has its turn.
 */
const failedMs = 1_000

/** Makes a function that wakes a database, for all who ask at the same time once. @param wake wakes one */
export function createWaking<Woken>(
  wake: (databaseId: string) => Promise<Woken>,
): (databaseId: string) => Promise<Woken> {
  const underway = new Map<string, Promise<Woken>>()
  return (databaseId) => {
    const known = underway.get(databaseId)
    if (known) return known
    const waking = wake(databaseId)
    const forget = (): void => void underway.delete(databaseId)
    underway.set(databaseId, waking)
    waking.then(forget, () => setTimeout(forget, failedMs).unref())
    return waking
  }
}
