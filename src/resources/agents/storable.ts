/** Makes values from outside storable in Postgres's JSON: their texts have no NUL characters and no lone surrogates. */
import { storableText } from '#src/platform/texts.ts'

/** A storable JSON value. Its depth was limited when it was parsed. */
export function storable<Value>(value: Value): Value {
  if (typeof value === 'string') return storableText(value) as Value
  if (Array.isArray(value)) return value.map(storable) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [storableText(key), storable(one)])) as Value
}
