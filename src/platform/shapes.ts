/** Shapes of what callers send as JSON, read with zod: exact ones, and the sentence for what does not fit. */
import { z } from 'zod'
import { unknownKeySentence } from './shapes/unknown-keys.ts'

/**
 * An object with these keys and no others.
 * @param refusals what is said of keys that other services of this kind take and this one does not, by key: a sentence that goes on behind its name.
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

/** What the caller's name of the object takes the place of: the shape does not know where it stands. */
const placeMark = '\u0000'

/**
 * What is wrong with a part of a body, as a whole sentence; it names the place, never the value.
 * @param field what the caller calls the part; empty for one that has no name of its own.
 */
export function sentenceOf({ issues }: z.ZodError, field: string): string {
  const issue = issues[0]
  const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  const place = field === '' ? path.replace(/^\./, '') : field + path
  if (issue?.code === 'unrecognized_keys') return issue.message.replaceAll(placeMark, place === '' ? '' : `${place}.`)
  return `${place} is not valid: ${issue?.message ?? 'look at its type'}.`
}
