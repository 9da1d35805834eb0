/** JSON Schema by hand, for what no document of ours describes. */
import type { Json } from './components.ts'

/** Text. */
export const text: Json = { type: 'string' }
/** Text, or null. */
export const nullableText: Json = { type: ['string', 'null'] }
/** A whole number. */
export const wholeNumber: Json = { type: 'integer' }
/** True or false. */
export const flag: Json = { type: 'boolean' }
/** An object of any keys: without `additionalProperties`, generators of clients take it for one without any. */
export const anyObject: Json = { type: 'object', additionalProperties: true }

/** One of these words. */
export function oneOf(...words: string[]): Json {
  return { type: 'string', enum: words }
}

/** A list. */
export function list(items: Json): Json {
  return { type: 'array', items }
}

/** An object that always has these keys, and sometimes those. */
export function object(always: Record<string, Json>, sometimes: Record<string, Json> = {}): Json {
  const required = Object.keys(always)
  return { type: 'object', properties: { ...always, ...sometimes }, ...(required.length > 0 ? { required } : {}) }
}

/** One of several objects, which this key tells apart. Each is a component. */
export function union(key: string, byWord: Readonly<Record<string, Json>>): Json {
  const members = [...new Map(Object.values(byWord).map((one) => [one['$ref'], one])).values()]
  const mapping = Object.fromEntries(Object.entries(byWord).map(([word, one]) => [word, one['$ref']]))
  return { oneOf: members, discriminator: { propertyName: key, mapping } }
}

/** The same under a name: wherever it stands in what is written by hand, a client knows it by that. */
export function titled(title: string, schema: Json): Json {
  return { title, ...schema }
}
