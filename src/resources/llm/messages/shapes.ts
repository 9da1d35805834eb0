/** Small parsers for requests in Anthropic's format, besides those that all chats share. Unknown fields are refused. */
import { BerthError } from '#src/platform/errors.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'
import type { Reader } from '../chats/reasoning-replay.ts'

/** What is read, and what was found out on the way. */
export type Reading = Reader & {
  /** The first field that only upstreams of Anthropic's format understand; null as long as there is none. */
  only: string | null
  /** Whether a call in the conversation has an id that is none of Anthropic's, or something else of another provider's, so that the conversation must be rewritten for it. */
  hasForeignCalls: boolean
  /** Characters that inputs of tool calls may still have. */
  inputLengthLeft: number
}

/** Whether an optional field is left out. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Notes a field that only upstreams of Anthropic's format understand. */
export function needsAnthropic(reading: Reading, place: string): void {
  reading.only ??= place
}

/** Refuses fields that are not known: dropping one could change the answer. @throws BerthError invalid_parameter. */
export function checkKeys(fields: Fields, known: ReadonlySet<string>, place: string): void {
  const unknown = findUnknownKey(fields, known)
  if (unknown === undefined) return
  const before = place === '' ? '' : `${place}.`
  throw new BerthError('invalid_parameter', unknownKeySentence('field', unknown, known, before))
}

/** An optional object; null when it is absent. @throws BerthError invalid_parameter. */
export function objectFrom(fields: Fields, name: string, place = name): Fields | null {
  const value = fields[name]
  if (isAbsent(value)) return null
  if (!isObject(value)) throw wrongParameter(place, 'must be an object.')
  return value
}

/** An optional switch; null when it is absent. @throws BerthError invalid_parameter. */
export function flagFrom(fields: Fields, name: string, place: string): boolean | null {
  const value = fields[name]
  if (isAbsent(value)) return null
  if (typeof value !== 'boolean') throw wrongParameter(`${place}.${name}`, 'must be true or false.')
  return value
}

const cacheKeys: ReadonlySet<string> = new Set(['type', 'ttl'])

/**
 * Checks a `cache_control`, which makes answers cheaper and not different, so that upstreams without it may be asked.
 * @throws BerthError invalid_parameter; unsupported_parameter for a lifetime that has a price of its own.
 */
export function checkCacheControl(fields: Fields, place: string): void {
  const here = place === '' ? 'cache_control' : `${place}.cache_control`
  const control = objectFrom(fields, 'cache_control', here)
  if (!control) return
  checkKeys(control, cacheKeys, here)
  if (control['type'] !== 'ephemeral') throw wrongParameter(`${here}.type`, 'must be ephemeral.')
  if (isAbsent(control['ttl']) || control['ttl'] === '5m') return
  if (control['ttl'] !== '1h') throw wrongParameter(`${here}.ttl`, 'must be 5m.')
  throw new BerthError(
    'unsupported_parameter',
    `${here}.ttl is not supported: models have one price for writing to the cache, that of 5m. Leave it out, or send 5m.`,
  )
}
