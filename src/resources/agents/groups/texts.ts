/** Texts that a group's user writes. */
import { BerthError } from '#src/platform/errors.ts'

/** A text of 1 to so many characters. @throws BerthError invalid_request, which names the field. */
export function readText(field: string, given: string, most: number): string {
  if (given === '' || given.length > 2 * most || Array.from(given).length > most)
    // two units make one character at most
    throw new BerthError('invalid_request', `${field} must be 1 to ${most} characters.`, { field })
  if (given.includes('\0') || !given.isWellFormed())
    throw new BerthError('invalid_request', `${field} contains a NUL character or half of one. Remove it.`, { field })
  return given
}
