/**
 * Moments in the life of a noun in which nouns above it take part, within its transaction: what a lower noun must make known, it
 * runs as a hook, and does not import who listens. `src/resources/wiring.ts` is the one list of who takes part in what.
 */

/** A moment with what is known of it: usually the transaction, and the row. */
export type Hook<Args extends readonly unknown[]> = {
  /** Takes part from now on: for `src/resources/wiring.ts` only. */
  on: (listener: (...args: Args) => unknown) => void
  /** Runs all who take part, one after the other, in the order in which they are listed. @throws what one of them throws */
  run: (...args: Args) => Promise<void>
}

let wired = false

/** @param name what happened, such as `vm moved`: for the error of a process that has not listed who takes part */
export function hook<Args extends readonly unknown[]>(name: string): Hook<Args> {
  const listeners: ((...args: Args) => unknown)[] = []
  return {
    on: (listener) => {
      listeners.push(listener)
    },
    run: async (...args) => {
      if (!wired) throw new Error(`nobody takes part in "${name}" yet: import '#src/resources/wiring.ts' first`)
      for (const listener of listeners) await listener(...args)
    },
  }
}

/** Says that everybody who takes part is listed: the last line of `src/resources/wiring.ts`. */
export function hooksAreWired(): void {
  wired = true
}
