/** The named components of an OpenAPI document: nouns in answers, input objects in bodies, enums, errors. */

/** A part of an OpenAPI document: JSON Schema, or what OpenAPI puts around it. */
export type Json = Record<string, unknown>

/** The schemas of one document, by name. */
export type Components = {
  /** Stores a schema under a name and returns a reference to it. */
  add: (name: string, schema: Json) => Json
  /** The schema that a reference points to; any other schema unchanged. */
  resolve: (schema: Json) => Json
  /**
   * The part, and the schemas that it refers to, and that they refer to in turn. A name stands for the schema that is
   * referred to most; others of its name stand where they are used, because a client knows a noun by one shape.
   */
  finish: (part: Json) => { part: Json; schemas: Record<string, Json> }
}

/** What a shape that is written by hand is made with. */
export type ShapeParts = {
  /** Keeps a schema under a name, and answers a reference to it. */
  add: Components['add']
  /** What a type of the graph says of itself. */
  describe: (type: string) => string
  /** An enum of the graph, as REST spells its words. */
  words: (type: string) => Json
  /** What a selection of a type of the graph answers. */
  selected: (type: string, selection: string) => Json
}

const place = '#/components/schemas/'
const between = '~' // separates a name and a number, from the second schema of the same name on

/** No schemas yet. */
export function createComponents(): Components {
  const schemas = new Map<string, Json>()
  const referred = ({ $ref: reference }: Json): string | undefined =>
    typeof reference === 'string' ? reference.slice(place.length) : undefined
  return {
    add(name, schema) {
      const text = JSON.stringify(schema)
      for (let number = 0; ; number++) {
        const key = number === 0 ? name : name + between + number
        const known = schemas.get(key)
        if (!known) schemas.set(key, schema)
        if (!known || JSON.stringify(known) === text) return { $ref: place + key }
      }
    },
    resolve(schema) {
      return schemas.get(referred(schema) ?? '') ?? schema
    },
    finish(part) {
      const counts = countReferences(part, schemas)
      const chosen = new Map<string, string>()
      for (const [key, count] of counts) {
        const name = key.split(between)[0] ?? key
        const before = chosen.get(name)
        if (before === undefined || count > (counts.get(before) ?? 0)) chosen.set(name, key)
      }
      const names = new Map([...chosen].map(([name, key]) => [key, name]))
      const shown = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(shown)
        if (typeof value !== 'object' || value === null) return value
        const { $ref: _reference, ...beside } = value as Json // any object
        const key = referred(value as Json) // as above
        const rest = Object.fromEntries(Object.entries(beside).map(([name, one]) => [name, shown(one)]))
        if (key === undefined) return rest
        const name = names.get(key)
        return name === undefined ? { ...(shown(schemas.get(key)) as Json), ...rest } : { $ref: place + name, ...rest }
      }
      const kept = [...names].map(([key, name]) => [name, shown(schemas.get(key))] as const)
      return {
        part: shown(part) as Json,
        schemas: Object.fromEntries(kept.sort(([one], [other]) => one.localeCompare(other))) as Record<string, Json>,
      }
    },
  }
}

/** How often each schema is referred to by the part, and by what it refers to. */
function countReferences(part: Json, schemas: ReadonlyMap<string, Json>): Map<string, number> {
  const counts = new Map<string, number>()
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const reference = (value as Json)['$ref'] // any object
    if (typeof reference === 'string') {
      const key = reference.slice(place.length)
      const count = counts.get(key)
      counts.set(key, (count ?? 0) + 1)
      if (count === undefined) look(schemas.get(key))
    }
    for (const one of Object.values(value)) look(one)
  }
  look(part)
  return counts
}

/** The same, or null. */
export function orNull(schema: Json): Json {
  if (schema['type'] === 'null') return schema
  if (typeof schema['type'] === 'string') {
    const { type, enum: words } = schema
    return { ...schema, type: [type, 'null'], ...(Array.isArray(words) ? { enum: [...words, null] } : {}) }
  }
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] }
  const isAnything = Object.keys(schema).every((word) => word === 'description')
  return isAnything || Array.isArray(schema['type']) ? schema : { anyOf: [schema, { type: 'null' }] }
}

/** The same schema with a description of its own, also beside a reference. */
export function described(schema: Json, description: string | null | undefined): Json {
  return description ? { ...schema, description } : schema
}
