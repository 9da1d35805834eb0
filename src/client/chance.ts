/** Random values, and pauses that are not all equally long. */

/** A number from 0 up to 1. */
function fraction(): number {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1))
  return value / 2 ** 32
}

/** A new idempotency key. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** How long to wait after the attempt with this number (0 is the first), in milliseconds: between half and all of a doubled time. */
export function backoffMs(attempt: number, { firstMs, mostMs }: { firstMs: number; mostMs: number }): number {
  const whole = Math.min(firstMs * 2 ** attempt, mostMs)
  return whole / 2 + (whole / 2) * fraction()
}

/** Waits. Ends early, without an error, when the signal fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}
