/** A JSON value that matches a JSON Schema, for the built-in model: the smallest, and always the same. */
import { isLargeJson } from '#src/platform/json/text.ts'

const deepest = 8
/**
 * The maximum number of values in one sample: a schema that contains itself several times would otherwise grow without
 * end.
 */
const valuesMax = 1_000
/** A literal value in a schema counts as one value for each so many characters. */
const charactersPerValue = 100
const referenceLengthMax = 1_000

type Schema = Readonly<Record<string, unknown>>

/** A value for this schema: its default, its first choice, or the least of its type; objects have what they require. */
export function sampleOf(root: unknown, text: string): unknown {
  let values = 0

  function sample(schema: unknown, depth: number): unknown {
    values++
    if (typeof schema !== 'object' || schema === null || depth > deepest) return text
    const at = schema as Schema // an object, as just seen
    if ('default' in at) return asGiven(at['default'])
    if ('const' in at) return asGiven(at['const'])
    if (Array.isArray(at['enum'])) return asGiven(at['enum'][0])
    if (typeof at['$ref'] === 'string') return sample(follow(at['$ref'], root), depth + 1)
    for (const choice of [at['anyOf'], at['oneOf'], at['allOf']])
      if (Array.isArray(choice)) return sample(choice[0], depth + 1)
    const type = Array.isArray(at['type']) ? at['type'][0] : at['type']
    if (type === 'integer' || type === 'number') return least(at, 'minimum')
    if (type === 'boolean') return false
    if (type === 'null') return null
    if (type === 'array') return items(at, depth)
    return type === 'object' || at['properties'] !== undefined ? fields(at, depth) : text
  }

  function asGiven(value: unknown): unknown {
    if (isLargeJson(value)) return text
    values += Math.floor((JSON.stringify(value) ?? '').length / charactersPerValue)
    return value
  }

  function items(at: Schema, depth: number): unknown[] {
    const made: unknown[] = []
    while (made.length < least(at, 'minItems') && values < valuesMax) made.push(sample(at['items'], depth + 1))
    return made
  }

  function fields({ properties, required }: Schema, depth: number): object {
    const known = typeof properties === 'object' && properties !== null ? (properties as Schema) : {}
    const made: [string, unknown][] = []
    for (const name of Array.isArray(required) ? (required as unknown[]).slice(0, valuesMax) : []) {
      if (values >= valuesMax) break
      if (typeof name === 'string' && name !== '__proto__') made.push([name, sample(known[name], depth + 1)])
    }
    return Object.fromEntries(made)
  }

  return sample(root, 0)
}

function least(at: Schema, name: 'minimum' | 'minItems'): number {
  const given = at[name]
  return typeof given === 'number' ? given : 0
}

function follow(reference: string, root: unknown): unknown {
  if (reference.length > referenceLengthMax) return undefined
  let at = root
  for (const name of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}
