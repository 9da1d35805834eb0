/** Work on what outsiders sent whose end nobody can foretell: a regular expression, a schema whose parts refer to each other. */
import { createContext, Script } from 'node:vm'

const script = new Script('work()')
const place: { work: (() => unknown) | null } = { work: null }
createContext(place)

/**
 * Runs it here and now, for so many ms at most: V8 ends it then wherever it is, so it must not change what outlives it.
 * @returns what it returned; undefined when its time was over.
 * @throws what it throws.
 */
export function runBounded<Result>(limitMs: number, work: () => Result): Result | undefined {
  place.work = work
  try {
    return script.runInContext(place, { timeout: limitMs }) as Result // what `work` returned
  } catch (error) {
    // An Error of the script's own realm, so none of ours by `instanceof`.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return undefined
    throw error
  } finally {
    place.work = null
  }
}
