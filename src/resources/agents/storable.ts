/** Text from outside as Postgres keeps it in JSON: without NUL characters and halves of characters. */

/** A text. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed()
}

/** A JSON value, with every text in it. Its nesting is bounded where it was read. */
export function storable<Value>(value: Value): Value {
  if (typeof value === 'string') return storableText(value) as Value
  if (Array.isArray(value)) return value.map(storable) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [storableText(key), storable(one)])) as Value
}
