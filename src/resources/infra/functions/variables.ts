/** The variables of functions: given by their users, sealed in one piece, and shown only to those who may write them. */
import { mayWrite, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'
import type { StoredFunction } from './rows.ts'

/** A variable as its reader may see it. */
export type FunctionVariable = { key: string; value: string }

const hidden = '********'
/** Berth says them itself. */
const ownKeys = ['PORT']

/**
 * The variables after a change, sealed: with null as its value a variable is removed, others stay.
 * @throws BerthError invalid_env_key, invalid_env_value.
 */
export function changeVariables(
  sealer: Sealer,
  one: Pick<StoredFunction, 'id' | 'sealedVariables'>,
  given: Readonly<Record<string, string | null>>,
): Buffer | null {
  const variables = openVariables(sealer, one)
  const set = Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null))
  checkEnv(set, 'secret')
  const own = Object.keys(set).find((key) => ownKeys.includes(key.toUpperCase()))
  if (own !== undefined)
    throw new BerthError(
      'invalid_env_key',
      `Berth sets ${own} itself, to the port of the version. Leave it out, and give port when you deploy.`,
    )
  for (const [key, value] of Object.entries(given)) {
    if (value === null) delete variables[key]
    else variables[key] = value
  }
  checkEnv(variables, 'secret') // all together: their number and their size
  if (Object.keys(variables).length === 0) return null
  return sealer.seal(JSON.stringify(variables), placeOf(one.id))
}

/** The variables of a function, for the node that runs it. */
export function openVariables(
  sealer: Sealer,
  { id, sealedVariables }: Pick<StoredFunction, 'id' | 'sealedVariables'>,
): Record<string, string> {
  if (!sealedVariables) return {}
  return JSON.parse(sealer.open(sealedVariables, placeOf(id))) as Record<string, string> // sealed by changeVariables
}

/** The same as a reader may see them, by key. */
export function shownVariables(
  sealer: Sealer,
  scope: Scope,
  one: Pick<StoredFunction, 'id' | 'sealedVariables'>,
): FunctionVariable[] {
  const isClear = mayWrite(scope)
  return Object.entries(openVariables(sealer, one))
    .map(([key, value]) => ({ key, value: isClear ? value : hidden }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** The values that the log must not show. */
export function maskedValues(variables: Readonly<Record<string, string>>): string[] {
  return Object.values(variables).filter(({ length }) => length >= functionLimits.maskedLength)
}

function placeOf(id: string): string {
  return `functions.variables:${id}`
}
