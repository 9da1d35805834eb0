/** Exact zod schemas for callers' JSON, and the error sentence for a value that does not match. */
import { z } from 'zod'
import { BerthError } from './errors.ts'
import { unknownKeySentence } from './shapes/unknown-keys.ts'

/**
 * An object with these keys and no others.
 * @param refusals for keys that similar services accept and this one does not: a sentence that continues after the
 * key's name.
 */
export function exact<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  refusals: Readonly<Record<string, string>> = {},
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      const key = String(issue.keys[0]) // a strict object has at least one of them
      const refusal = Object.hasOwn(refusals, key) ? refusals[key] : undefined
      return refusal === undefined
        ? unknownKeySentence('field', key, known, placeMark)
        : `${placeMark}${key} ${refusal}`
    },
  })
}

/**
 * Refuses null in fields where there is nothing that it could mean.
 * @param given the fields by their names in requests.
 * @throws BerthError invalid_request.
 */
export function refuseNulls(given: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(given))
    if (value === null)
      throw new BerthError('invalid_request', `${field} cannot be null. Leave it out, or send a value.`, { field })
}

/** A placeholder for the caller's name of the object: the schema does not know where it is used. */
const placeMark = '\u0000'

/**
 * The error in a part of a body, as a whole sentence; it names the place, never the value.
 * @param field the caller's name for the part; empty for one without a name.
 */
export function sentenceOf({ issues }: z.ZodError, field: string): string {
  const issue = issues[0]
  const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  const place = field === '' ? path.replace(/^\./, '') : field + path
  if (issue?.code === 'unrecognized_keys') return issue.message.replaceAll(placeMark, place === '' ? '' : `${place}.`)
  const what = issue?.message.replace('received function', 'received a number that a double would change') // see json/numbers.ts
  return `${place} is not valid: ${what ?? 'look at its type'}.`
}
