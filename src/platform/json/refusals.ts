/** The errors for JSON that is refused. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** The 400 for invalid JSON. */
export function notJson(): BerthError {
  return new BerthError('invalid_request', 'The body is not valid JSON. Check its commas, quotes and brackets.')
}

/** The 400 for a key `__proto__` where unknown keys are refused: our objects cannot have it. */
export function prototypeKey(): BerthError {
  return new BerthError('invalid_request', 'Unknown field __proto__. Leave it out.')
}

/** The 400 for a value that is nested too deep. */
export function tooDeep(): BerthError {
  return new BerthError(
    'invalid_request',
    `The JSON is nested deeper than ${limits.jsonDepth} levels. Send a flatter value.`,
  )
}

/** The 400 for a number that is longer than any that is kept. */
export function numberTooLong(most: number): BerthError {
  return new BerthError(
    'invalid_request',
    `The JSON has a number of more than ${most} characters. Send it as text, or with fewer digits.`,
  )
}

/** The 413 for more of something than a body may have. */
export function tooMany(what: string, most: number): BerthError {
  return new BerthError(
    'request_too_large',
    `The body holds more than ${most} ${what}, which is the limit. Send less at once.`,
  )
}
