/** Waiting for something outside that tells nobody when it is done. */
import { setTimeout as pause } from 'node:timers/promises'

const usualLookMs = 50

/** Looks every `lookMs` until it is so; slower at what counts its requests. @throws Error naming what did not become true in time. */
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
