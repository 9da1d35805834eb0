/** Small parsers for the parameters of `POST /v1/responses`; those of its items are the chats'. */
import { BerthError } from '#src/platform/errors.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'

/** The value as an object that has no other than these keys. @throws BerthError invalid_parameter. */
export function objectAt(value: unknown, place: string, known: ReadonlySet<string>): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongParameter(place, 'must be an object.')
  refuseUnknown(value, known, `${place}.`)
  return value as Fields // every key is read as unknown
}

/** Refuses keys that are not known. @param place the path before them. @throws BerthError invalid_parameter. */
export function refuseUnknown(value: object, known: ReadonlySet<string>, place: string): void {
  const unknown = findUnknownKey(value, known)
  if (unknown !== undefined)
    throw new BerthError('invalid_parameter', unknownKeySentence('field', unknown, known, place))
}

/** The value as a list of at most so many. @throws BerthError invalid_parameter. */
export function entriesAt(value: unknown, place: string, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongParameter(place, 'must be a list.')
  if (value.length > most) throw wrongParameter(place, `has more than ${most} items. Send fewer.`)
  return value
}
