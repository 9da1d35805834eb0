/** Custom scalars, and what the built-in numbers take. */
import { GraphQLError, GraphQLFloat, Kind, valueFromASTUntyped, type ValueNode } from 'graphql'
import { timestamp } from '#src/platform/clock.ts'
import { computable, ExactNumber, NumberReader } from '#src/platform/json/numbers.ts'
import { builder, type TextMap, type TextMapPatch } from './builder.ts'

// What is computed with is the nearest double: programs write 0.7 as 0.69999999999999996, too.
const { parseValue: readFloat } = GraphQLFloat
GraphQLFloat.parseValue = (value) => readFloat(computable(value))

builder.scalarType('DateTime', {
  description: 'A point in time: RFC 3339, UTC, three fractional digits: `2026-04-07T04:27:43.197Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  serialize: (value) => value, // rows already hold the formatted text
  parseValue: readMoment,
  parseLiteral: literal(readMoment),
})

builder.scalarType('TextMap', {
  description: 'A flat object with text values: `{"KEY": "value"}`.',
  serialize: (value) => value,
  parseValue: readTextMap,
  parseLiteral: literal(readTextMap, objectOf),
})

builder.scalarType('TextMapPatch', {
  description: 'A change of a TextMap: `{"SET": "value", "REMOVED": null}`. Keys that it does not name stay.',
  serialize: (value) => value,
  parseValue: readTextMapPatch,
  parseLiteral: literal(readTextMapPatch, objectOf),
})

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => jsonOf(node, variables ?? {}),
})

builder.scalarType('RestObject', {
  description: 'A JSON object exactly as REST shows it; REST’s OpenAPI document has its shape.',
  serialize: (value) => value,
  parseValue: () => {
    throw new GraphQLError('it is never sent')
  },
})

builder.scalarType('Bytes', {
  description: 'Bytes, encoded as base64.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc4648#section-4',
  serialize: (value) => value,
  parseValue: readBytes,
  parseLiteral: literal(readBytes),
})

builder.scalarType('ByteList', {
  description: 'JSON in its UTF-8 bytes, as a list of integers from 0 to 255, or the value that they spell.',
  serialize: (value) => value,
  parseValue: (value) => value, // the resource that reads it has better error messages
})

builder.scalarType('Reserved', {
  description: 'A field that other services accept here and Berth does not: must be null or omitted.',
  serialize: (value) => value,
  parseValue: (value) => value, // the resource that reads it says why it is refused
})

builder.scalarType('BigInt', {
  description: 'An integer that may exceed 2³¹: a JSON number, exact up to 2⁵³.',
  serialize: (value) => value,
  parseValue: readBigInt,
  parseLiteral: literal(readBigInt, (node) => (node.kind === Kind.INT ? Number(node.value) : undefined)),
})

builder.scalarType('Decimal', {
  description:
    'A decimal number as text, so that no digit is lost. Money is in US dollars with nine decimals: `"0.000125000"`.',
  serialize: (value) => value,
  parseValue: readDecimal,
  parseLiteral: literal(readDecimal, (node) =>
    node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT ? node.value : undefined,
  ),
})

/**
 * Reads a literal in a document. Its error says which literal it is about, and only what it must be: the sentence begins with
 * its place, which validation adds.
 */
function literal<Value>(
  read: (value: unknown) => Value,
  valueOf: (node: ValueNode) => unknown = (node) => valueFromASTUntyped(node),
): (node: ValueNode) => Value {
  return (node) => {
    try {
      return read(valueOf(node))
    } catch (error) {
      throw error instanceof GraphQLError ? new GraphQLError(error.message, { nodes: node }) : error
    }
  }
}

/** The value of a literal, with its numbers as they are written, which graphql's own reading would make doubles. */
function jsonOf(node: ValueNode, variables: Readonly<Record<string, unknown>>): unknown {
  switch (node.kind) {
    case Kind.INT:
    case Kind.FLOAT:
      return new NumberReader().read(node.value)
    case Kind.LIST:
      return node.values.map((one) => jsonOf(one, variables))
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, jsonOf(value, variables)]))
    default:
      return valueFromASTUntyped(node, variables)
  }
}

function readBytes(value: unknown): string {
  if (typeof value !== 'string' || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value))
    throw new GraphQLError('must be base64 text')
  return value
}

// JavaScript accepts dates in many formats, and days that no month has; Postgres refuses those with an error of its
// own.
const moment = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/

const firstMs = Date.parse('0001-01-01T00:00:00.000Z')
const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

function readMoment(value: unknown): string {
  const ms = typeof value === 'string' && moment.test(value) ? Date.parse(value) : Number.NaN
  if (!(ms >= firstMs && ms <= lastMs))
    throw new GraphQLError('must be a date and time as RFC 3339 text, such as 2026-04-07T04:27:43.197Z')
  return timestamp(ms)
}

function readTextMapPatch(value: unknown): TextMapPatch {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new GraphQLError('must be an object from text to text or null')
  for (const text of Object.values(value))
    if (text !== null && typeof text !== 'string')
      throw new GraphQLError('must be an object from text to text or null: every value must be text or null')
  return value as TextMapPatch // checked just above
}

/** The object that a literal stands for; values other than text and null become undefined. */
function objectOf(node: ValueNode): unknown {
  if (node.kind !== Kind.OBJECT) return undefined
  const textOf = (value: ValueNode): unknown =>
    value.kind === Kind.STRING ? value.value : value.kind === Kind.NULL ? null : undefined
  return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, textOf(value)]))
}

function readTextMap(value: unknown): TextMap {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new GraphQLError('must be an object from text to text')
  for (const text of Object.values(value))
    if (typeof text !== 'string')
      throw new GraphQLError('must be an object from text to text: every value must be text')
  return value as TextMap // checked just above
}

function readBigInt(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new GraphQLError('must be a whole number, at most 2⁵³ - 1')
  return value as number // checked just above
}

const decimals = 9
const decimal = /^-?\d{1,15}(?:\.\d{1,9})?$/

function readDecimal(given: unknown): string {
  // REST's clients may also send money as a number; converted to text, a small number would have an exponent.
  const sent = given instanceof ExactNumber ? String(given) : given // a text too
  const value = typeof sent === 'number' && Number.isFinite(sent) ? sent.toFixed(decimals) : sent
  if (typeof value !== 'string' || !decimal.test(value))
    throw new GraphQLError('must be a decimal number as text, such as "12.50", with at most nine decimals')
  return value
}
