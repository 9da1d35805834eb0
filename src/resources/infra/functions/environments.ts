/** What the program of a function finds in its environment. */
import type { Background } from '#src/platform/services.ts'
import type { StoredFunction } from './rows.ts'
import { openVariables } from './variables.ts'

/** The variables of an instance. Those of its user go before those of Berth. */
export async function environmentOf(
  { sealer }: Pick<Background, 'db' | 'sealer'>,
  one: StoredFunction,
): Promise<Record<string, string>> {
  return openVariables(sealer, one)
}
