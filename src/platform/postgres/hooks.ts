/**
 * Hooks: what a noun must make known to nouns above it, within its own transaction, without importing them. Listeners are
 * registered in one place, `src/resources/wiring.ts`.
 */

/** What happens to a noun, with what listeners are given: usually the transaction, and the row. */
export type Hook<Args extends readonly unknown[]> = {
  /** Registers a listener: for `src/resources/wiring.ts` only. */
  on: (listener: (...args: Args) => unknown) => void
  /** Runs all listeners, one after the other, in the order of their registration. @throws what one of them throws */
  run: (...args: Args) => Promise<void>
}

let wired = false

/** @param name what happens, such as `VM deleting`: for the error of a process in which no listener is registered */
export function hook<Args extends readonly unknown[]>(name: string): Hook<Args> {
  const listeners: ((...args: Args) => unknown)[] = []
  return {
    on: (listener) => {
      listeners.push(listener)
    },
    run: async (...args) => {
      if (!wired) throw new Error(`no listener of "${name}" is registered yet: import '#src/resources/wiring.ts' first`)
      for (const listener of listeners) await listener(...args)
    },
  }
}

/** Says that all listeners are registered: the last line of `src/resources/wiring.ts`. */
export function hooksAreWired(): void {
  wired = true
}
