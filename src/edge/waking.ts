/**
 * Wakes databases for those who connect. A database that cannot wake is asked once a second, however many clients it has:
 * waking reserves room, for which one organization after the other has its turn.
 */
const failedMs = 1_000

/** Makes a function that wakes a database, for all who ask at the same time once. @param wake wakes one, with what the first who asks says of it */
export function createWaking<Woken, Said extends unknown[]>(
  wake: (databaseId: string, ...said: Said) => Promise<Woken>,
): (databaseId: string, ...said: Said) => Promise<Woken> {
  const underway = new Map<string, Promise<Woken>>()
  return (databaseId, ...said) => {
    const known = underway.get(databaseId)
    if (known) return known
    const waking = wake(databaseId, ...said)
    const forget = (): void => void underway.delete(databaseId)
    underway.set(databaseId, waking)
    waking.then(forget, () => setTimeout(forget, failedMs).unref())
    return waking
  }
}
