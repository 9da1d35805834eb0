/** Waiting for something that sends no event: another process's end, a port, a database that comes up. */
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks until the answer is true, or the limit has passed.
 * @returns whether it came true in time.
 */
export async function becomesTrue(
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
