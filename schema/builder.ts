/** The one Pothos builder: scalars and the context type; no nouns. */
import SchemaBuilder from '@pothos/core'
import { GraphQLError, Kind } from 'graphql'
import { timestamp } from '#src/platform/clock.ts'
import type { Call } from '#src/platform/services.ts'

/** What a resolver is given: the platform, the caller, and a signal that fires when the client of a subscription leaves. */
export type Context = Call & { signal?: AbortSignal }

/** A map of text to text, such as environment variables. */
export type TextMap = Readonly<Record<string, string>>

/** Every noun adds its types and root fields to this. Fields are not null unless they say so. */
export const builder = new SchemaBuilder<{
  Context: Context
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: string; Output: string }
    TextMap: { Input: TextMap; Output: TextMap }
    JSON: { Input: unknown; Output: unknown }
    Bytes: { Input: string; Output: string }
    ByteList: { Input: unknown; Output: unknown }
  }
}>({ defaultFieldNullability: false })

builder.scalarType('DateTime', {
  description: 'A moment: RFC 3339, UTC, three fractional digits: `2026-04-07T04:27:43.197Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  serialize: (value) => value, // rows carry wire text already
  parseValue: readMoment,
})

builder.scalarType('TextMap', {
  description: 'A flat object from text to text: `{"KEY": "value"}`.',
  serialize: (value) => value,
  parseValue: readTextMap,
  parseLiteral: (node) => {
    if (node.kind !== Kind.OBJECT) throw new GraphQLError('must be an object from text to text')
    return readTextMap(
      Object.fromEntries(
        node.fields.map((field) => [field.name.value, field.value.kind === Kind.STRING ? field.value.value : null]),
      ),
    )
  },
})

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
  parseValue: (value) => value,
})

builder.scalarType('Bytes', {
  description: 'Bytes as base64 text.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc4648#section-4',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value !== 'string' || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value))
      throw new GraphQLError('bytes are base64 text')
    return value
  },
})

builder.scalarType('ByteList', {
  description: 'Bytes as a list of whole numbers from 0 to 255.',
  serialize: (value) => value,
  parseValue: (value) => value, // whoever takes it says in its own words what is wrong with it
})

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({ description: 'Everything that can be changed.' })
builder.subscriptionType({
  description:
    'Everything that can be followed. Each takes `after`, the cursor of the last event seen, and resumes without gap or repeat.',
})

// The engine reads dates of many kinds, and days that no month has; Postgres refuses them with an error of its own.
const moment = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/

const firstMs = Date.parse('0001-01-01T00:00:00.000Z')
const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

function readMoment(value: unknown): string {
  const ms = typeof value === 'string' && moment.test(value) ? Date.parse(value) : Number.NaN
  if (!(ms >= firstMs && ms <= lastMs))
    throw new GraphQLError('a moment is RFC 3339 text, such as 2026-04-07T04:27:43.197Z')
  return timestamp(ms)
}

function readTextMap(value: unknown): TextMap {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new GraphQLError('must be an object from text to text')
  for (const text of Object.values(value))
    if (typeof text !== 'string') throw new GraphQLError('every value must be text')
  return value as TextMap // checked just above
}
