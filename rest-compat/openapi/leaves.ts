/** Scalars and enums as JSON Schema: the same in bodies, parameters and answers. */
import { isEnumType, isScalarType, type GraphQLEnumType, type GraphQLType } from 'graphql'
import type { Components, Json } from './components.ts'
import { wireDescription } from './descriptions.ts'

const scalars: Readonly<Record<string, Json>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time', examples: ['2026-04-07T04:27:43.197Z'] },
  TextMap: { type: 'object', additionalProperties: { type: 'string' } },
  TextMapPatch: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
  BigInt: { type: 'integer', format: 'int64' },
  Decimal: { type: 'string', examples: ['0.000125000'] },
  JSON: {},
  Reserved: { type: 'null' },
  Bytes: { type: 'string', contentEncoding: 'base64' },
  ByteList: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } },
}

/** The schema of a scalar or an enum. */
export function leafSchema(type: GraphQLType, components: Components): Json {
  if (isEnumType(type)) return components.add(type.name, enumSchema(type))
  const schema = isScalarType(type) ? scalars[type.name] : undefined
  if (!schema) throw new Error(`${String(type)} has no schema for OpenAPI: add one to the table above`)
  return schema
}

/** REST shows the stored words, which are the enum's internal values. */
function enumSchema(type: GraphQLEnumType): Json {
  const values = type.getValues()
  const meanings = values.map(
    ({ value, description }) => `\`${String(value)}\`: ${wireDescription(description, [{ name: '', type }]) ?? ''}`,
  )
  return {
    type: 'string',
    enum: values.map(({ value }) => value as unknown),
    description: [type.description, ...meanings].filter(Boolean).join(' '),
  }
}
