/** As much of JSON Schema 2020-12 as our descriptions use; a word beyond that fails, so that no check is skipped in silence. */

/** A schema, and the document that its `$ref`s point into. */
export type Schema = Readonly<Record<string, unknown>>

const understood = new Set([
  'type',
  'properties',
  'required',
  'items',
  'enum',
  'additionalProperties',
  'format',
  'description',
  'contentEncoding',
  '$ref',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'pattern',
  'oneOf',
  'anyOf',
  'examples',
  'discriminator',
])

const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

/**
 * What is wrong with a value by its schema, as `path: sentence`.
 * @param closed whether keys that the schema does not name are wrong too: what we answer must be described whole.
 */
export function problemsOf(
  value: unknown,
  schema: Schema,
  document: Schema,
  { closed = false, at = '$' } = {},
): string[] {
  const reference = schema['$ref']
  if (typeof reference === 'string') return problemsOf(value, follow(reference, document), document, { closed, at })
  const unknown = Object.keys(schema).filter((word) => !understood.has(word))
  if (unknown.length > 0) return [`${at}: the schema uses ${unknown.join(', ')}, which this checker does not know`]
  const types = schema['type'] === undefined ? [] : ([schema['type']].flat() as string[])
  if (types.length > 0 && !types.some((type) => kinds[type]?.(value)))
    return [`${at}: ${JSON.stringify(value)?.slice(0, 80)} is not ${types.join(' or ')}`]
  if (Array.isArray(schema['enum']) && value !== null && !schema['enum'].includes(value))
    return [`${at}: ${JSON.stringify(value)} is not one of ${schema['enum'].join(', ')}`]
  const told = branchOf(value, schema)
  if (told !== undefined) return problemsOf(value, { $ref: told }, document, { closed, at })
  const choices = schema['oneOf'] as Schema[] | undefined
  if (choices && choices.filter((one) => problemsOf(value, one, document, { closed, at }).length === 0).length !== 1)
    return [`${at}: fits none of its forms, or more than one`]
  const some = schema['anyOf'] as Schema[] | undefined
  if (some && !some.some((one) => problemsOf(value, one, document, { closed, at }).length === 0))
    return [`${at}: fits none of its forms`]
  if (some) return []
  if (typeof value === 'number')
    return (typeof schema['minimum'] === 'number' && value < schema['minimum']) ||
      (typeof schema['maximum'] === 'number' && value > schema['maximum'])
      ? [`${at}: ${value} is too small or too large`]
      : []
  if (typeof value === 'string') return checkText(value, schema, at)
  if (
    Array.isArray(value) &&
    (value.length < Number(schema['minItems'] ?? 0) || value.length > Number(schema['maxItems'] ?? Infinity))
  )
    return [`${at}: has too few or too many items`]
  if (Array.isArray(value))
    return value.flatMap((item, index) =>
      problemsOf(item, (schema['items'] ?? {}) as Schema, document, { closed, at: `${at}[${index}]` }),
    )
  if (typeof value !== 'object' || value === null) return []
  return checkObject(value as Record<string, unknown>, schema, document, closed, at)
}

/** Where the form of a value is that a key of it tells; undefined where none does. */
function branchOf(value: unknown, { discriminator }: Schema): string | undefined {
  const { propertyName = '', mapping = {} } = (discriminator ?? {}) as {
    propertyName?: string
    mapping?: Record<string, string>
  }
  const word: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, propertyName) : undefined
  return typeof word === 'string' ? mapping[word] : undefined
}

/** The schema that `#/a/b` points to. */
export function follow(reference: string, document: Schema): Schema {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((place, key) => (place as Record<string, unknown> | undefined)?.[key], document)
  if (typeof found !== 'object' || found === null) throw new Error(`${reference} points nowhere`)
  return found as Schema
}

function checkObject(
  value: Record<string, unknown>,
  schema: Schema,
  document: Schema,
  closed: boolean,
  at: string,
): string[] {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const missing = ((schema['required'] ?? []) as string[])
    .filter((key) => !Object.hasOwn(value, key))
    .map((key) => `${at}: ${key} is missing`)
  const rest = schema['additionalProperties'] as Schema | undefined
  const open = rest === undefined && Object.keys(properties).length === 0
  return [
    ...missing,
    ...Object.entries(value).flatMap(([key, item]) => {
      const of = properties[key] ?? rest
      if (of) return problemsOf(item, of, document, { closed, at: `${at}.${key}` })
      return closed && !open ? [`${at}: ${key} is not described`] : []
    }),
  ]
}

function checkText(value: string, schema: Schema, at: string): string[] {
  if (schema['format'] === 'date-time' && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value))
    return [`${at}: ${value} is not a moment in UTC with milliseconds`]
  if (schema['contentEncoding'] === 'base64' && Buffer.from(value, 'base64').toString('base64') !== value)
    return [`${at}: not base64`]
  if (typeof schema['pattern'] === 'string' && !new RegExp(schema['pattern']).test(value))
    return [`${at}: does not have the form ${schema['pattern']}`]
  if (typeof schema['maxLength'] === 'number' && value.length > schema['maxLength'])
    return [`${at}: longer than ${schema['maxLength']}`]
  return typeof schema['minLength'] === 'number' && value.length < schema['minLength']
    ? [`${at}: shorter than ${schema['minLength']}`]
    : []
}
