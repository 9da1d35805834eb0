/** Waiting for something that sends no event: another process's end, a port, a database that comes up. */
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Polls until it is true, or the limit has passed.
 * @returns whether it became true in time.
 */
export async function pollUntil(
  question: () => boolean | Promise<boolean>,
  { limitMs, everyMs }: { limitMs: number; everyMs: number },
): Promise<boolean> {
  const end = performance.now() + limitMs
  for (;;) {
    if (await question()) return true
    if (performance.now() >= end) return false
    await pause(everyMs)
  }
}
