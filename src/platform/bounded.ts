/** Time limits for work on untrusted input that may never end, such as a regular expression or a recursive schema. */
import { createContext, Script } from 'node:vm'

const script = new Script('work()')
const place: { work: (() => unknown) | null } = { work: null }
createContext(place)

/**
 * Runs the work synchronously, for so many ms at most. V8 may stop it at any point, so it must not change anything that
 * outlives it.
 * @returns its result; undefined when it ran out of time.
 * @throws what it throws.
 */
export function runBounded<Result>(limitMs: number, work: () => Result): Result | undefined {
  place.work = work
  try {
    return script.runInContext(place, { timeout: limitMs }) as Result // what `work` returned
  } catch (error) {
    // An Error of the script's own realm, so `instanceof Error` is false here.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return undefined
    throw error
  } finally {
    place.work = null
  }
}
