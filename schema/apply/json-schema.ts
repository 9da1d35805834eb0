/** The JSON Schema of files that describe what an organization has, made from the GraphQL schema. */
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
} from 'graphql'
import { describedSections, onlyMembers, type DescribedSection, type JsonSchema } from './sections.ts'

const scalars: Readonly<Record<string, JsonSchema>> = {
  String: { type: 'string' },
  ID: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  Decimal: { type: 'string' },
  JSON: {},
  TextMap: { type: 'object', additionalProperties: { type: 'string' } },
  // A file says all that shall be there, so nothing is taken away by null.
  TextMapPatch: { type: 'object', additionalProperties: { type: 'string' } },
}

/** Makes it. @throws Error for a section whose input the schema has not, and for a scalar that files do not know. */
export function describeFiles(schema: GraphQLSchema): JsonSchema {
  const defs: Record<string, JsonSchema> = {}
  const sections = Object.fromEntries(
    Object.entries(describedSections).map(([name, section]) => [name, mapOf(section, inputOf(schema, section), defs)]),
  )
  define(schema.getType('EphemeralEnvironmentInput') as GraphQLInputObjectType, defs) // deployments name it
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A file for berth apply',
    description: 'What an organization of Berth shall have. Made from the GraphQL schema by `npm run generate`.',
    type: 'object',
    properties: {
      project: {
        type: 'string',
        minLength: 1,
        description:
          'The project that the file’s VMs and databases are in; it is made if there is none. By default none.',
      },
      ...sections,
    },
    additionalProperties: false,
    $defs: Object.fromEntries(Object.entries(defs).sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

function inputOf(schema: GraphQLSchema, { input }: DescribedSection): GraphQLInputObjectType | undefined {
  if (input === undefined) return undefined
  const type = schema.getType(input)
  if (!isInputObjectType(type)) throw new Error(`the schema has no input ${input}`)
  return type
}

/** A section: names, and the fields of each. */
function mapOf(
  { about, without = [], more = {}, needs = [] }: DescribedSection,
  type: GraphQLInputObjectType | undefined,
  defs: Record<string, JsonSchema>,
): JsonSchema {
  const all = type ? fieldsOf(type) : []
  const unknown = without.find((name) => !all.some((field) => field.name === name))
  if (unknown !== undefined) throw new Error(`${type?.name} has no field ${unknown}`)
  const fields = all.filter(({ name }) => !without.includes(name))
  const required = [...needs, ...fields.filter((field) => isNonNullType(field.type)).map(({ name }) => name)]
  return {
    type: ['object', 'null'],
    description: about,
    additionalProperties: {
      type: ['object', 'null'],
      properties: { ...more, ...Object.fromEntries(fields.map((field) => [field.name, ofField(field, defs)])) },
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    },
  }
}

function fieldsOf(type: GraphQLInputObjectType): GraphQLInputField[] {
  const only = onlyMembers[type.name]
  return Object.values(type.getFields()).filter(
    ({ name, deprecationReason }) => !deprecationReason && (only?.includes(name) ?? true),
  )
}

function ofField({ type, description }: GraphQLInputField, defs: Record<string, JsonSchema>): JsonSchema {
  const made = ofType(getNullableType(type), defs)
  return { ...(isNonNullType(type) ? made : orNull(made)), ...(description ? { description } : {}) }
}

/** The same, or null: which clears a field, or asks for its default. */
function orNull(schema: JsonSchema): JsonSchema {
  if (typeof schema['type'] === 'string') return { ...schema, type: [schema['type'], 'null'] }
  if (Array.isArray(schema['enum'])) return { ...schema, enum: [...(schema['enum'] as unknown[]), null] }
  return '$ref' in schema ? { anyOf: [schema, { type: 'null' }] } : schema
}

function ofType(type: GraphQLInputType, defs: Record<string, JsonSchema>): JsonSchema {
  if (isNonNullType(type)) return ofType(type.ofType as GraphQLInputType, defs)
  if (isListType(type)) return { type: 'array', items: ofType(type.ofType as GraphQLInputType, defs) }
  if (isEnumType(type)) return { enum: type.getValues().map(({ name }) => name) }
  if (isScalarType(type)) {
    const known = scalars[type.name]
    if (!known)
      throw new Error(`files do not know the scalar ${type.name}: say in schema/apply/json-schema.ts what it is`)
    return known
  }
  define(type, defs)
  return { $ref: `#/$defs/${type.name}` }
}

function define(type: GraphQLInputObjectType, defs: Record<string, JsonSchema>): void {
  if (defs[type.name]) return
  const made: JsonSchema = {}
  defs[type.name] = made // first, since inputs name each other
  const fields = fieldsOf(type)
  const required = fields.filter((field) => isNonNullType(field.type)).map(({ name }) => name)
  Object.assign(made, {
    type: 'object',
    ...(type.description ? { description: type.description } : {}),
    properties: Object.fromEntries(
      fields.map((field) => {
        const described = ofField(field, defs)
        return [
          field.name,
          type.isOneOf ? { ...ofType(getNullableType(field.type), defs), description: field.description } : described,
        ]
      }),
    ),
    ...(type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {}),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  })
}
