/** Waits for something external that sends no event when it is done. */
import { setTimeout as pause } from 'node:timers/promises'

const usualLookMs = 50

/** Checks every `lookMs` until it is true; use a longer interval where requests are limited. @throws Error naming what did not become true in time. */
export async function until(
  what: string,
  isSo: () => Promise<boolean> | boolean,
  limitMs = 20_000,
  lookMs = usualLookMs,
): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not in ${limitMs} ms: ${what}`)
    await pause(lookMs)
  }
}
