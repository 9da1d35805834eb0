/** A JSON value that fits a JSON Schema, as far as the built-in model needs one: the smallest, and always the same. */

const deepest = 8

/** A value for this schema: its default, its first choice, or the least of its type; objects have what they require. */
export function sampleOf(schema: unknown, text: string, root: unknown = schema, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > deepest) return text
  const at = schema as Readonly<Record<string, unknown>> // an object, as just seen
  if ('default' in at) return at['default']
  if ('const' in at) return at['const']
  if (Array.isArray(at['enum'])) return at['enum'][0]
  if (typeof at['$ref'] === 'string') return sampleOf(follow(at['$ref'], root), text, root, depth + 1)
  for (const choice of [at['anyOf'], at['oneOf'], at['allOf']]) if (Array.isArray(choice)) return sampleOf(choice[0], text, root, depth + 1)
  const type = Array.isArray(at['type']) ? at['type'][0] : at['type']
  const least = (name: string): number => (typeof at[name] === 'number' ? at[name] : 0)
  if (type === 'integer' || type === 'number') return least('minimum')
  if (type === 'boolean') return false
  if (type === 'null') return null
  if (type === 'array') return least('minItems') > 0 ? [sampleOf(at['items'], text, root, depth + 1)] : []
  if (type !== 'object' && at['properties'] === undefined) return text
  const properties = typeof at['properties'] === 'object' && at['properties'] !== null ? (at['properties'] as Record<string, unknown>) : {}
  const required = Array.isArray(at['required']) ? at['required'].filter((name): name is string => typeof name === 'string' && name !== '__proto__') : []
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name], text, root, depth + 1)]))
}

function follow(reference: string, root: unknown): unknown {
  let at = root
  for (const name of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}
