/** When a credential was used last, as exactly as it need be: no request waits for it, and none writes it each time. */
import { createBoundedMap } from './bounded-map.ts'
import { nowMs } from '#src/platform/clock.ts'
import { log } from '#src/platform/log.ts'

/** How exact it is: each process records the use of one at most once in this time. */
const notedMs = 60_000
const rememberedMax = 10_000

/**
 * Makes what notes the use of a credential by its id.
 * @param write records it. @param what it is, for the log.
 */
export function createUseNotes(write: (id: string) => Promise<void>, what: string): (id: string) => void {
  const notedAtMs = createBoundedMap<string, number>({ entriesMax: rememberedMax })
  return (id) => {
    if (nowMs() - (notedAtMs.get(id) ?? -Infinity) < notedMs) return
    notedAtMs.set(id, nowMs())
    write(id).catch((error: unknown) => log.debug({ err: error, id, what }, 'a use could not be recorded')) // no request depends on it
  }
}
