/**
 * REST's names of what the schema's input types have: keys, the words of enums and of tagged objects, and a type in words for
 * those who sent something else.
 */
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql'
import { snakeCase } from '#src/platform/texts.ts'

/** The tag of a `@oneOf` input that REST shows as one object; undefined for any other input. */
export function tagOf(type: GraphQLInputObjectType): string | undefined {
  const tag = type.isOneOf ? type.extensions['tag'] : undefined
  return typeof tag === 'string' ? tag : undefined
}

/** REST's word for a field of an input, or for a member of a tagged one: its extension `word`, or its name. */
export function memberWord(type: GraphQLInputObjectType, name: string): string {
  const word = type.getFields()[name]?.extensions['word']
  return typeof word === 'string' ? word : snakeCase(name)
}

/** The fields of an input that REST knows: all except those whose extension `word` is null. */
export function wireFields(type: GraphQLInputObjectType): GraphQLInputField[] {
  return Object.values(type.getFields()).filter(({ extensions }) => extensions['word'] !== null)
}

const words = new WeakMap<GraphQLEnumType, Map<unknown, string>>()

/** The GraphQL names of an enum by REST's words. */
export function namesByWord(type: GraphQLEnumType): Map<unknown, string> {
  const known = words.get(type)
  if (known) return known
  const made = new Map<unknown, string>(type.getValues().map(({ name, value }) => [value, name]))
  words.set(type, made)
  return made
}

const scalarWords: Readonly<Record<string, string>> = {
  ID: 'text',
  String: 'text',
  Int: 'a whole number',
  Float: 'a number',
  Boolean: 'true or false',
  TextMap: 'an object from text to text',
  JSON: 'a JSON value',
  DateTime: 'an RFC 3339 moment',
  Bytes: 'base64 text',
}

/** A type in words for REST's callers: "a list, each item text". */
export function typeInWords(type: GraphQLInputType): string {
  const inner = getNullableType(type)
  if (isListType(inner)) return `a list, each item ${typeInWords(inner.ofType as GraphQLInputType)}` // a list of an input type
  if (isEnumType(inner)) return `one of ${[...namesByWord(inner).keys()].join(', ')}`
  return isInputObjectType(inner) ? objectInWords(inner) : (scalarWords[inner.name] ?? `a ${inner.name}`)
}

/** What such an input may be in REST: the words of a tagged one too, and whether a text will do. */
export function objectInWords(type: GraphQLInputObjectType): string {
  const { text, bare } = type.extensions
  const tag = tagOf(type)
  const members = wireFields(type).map(({ name }) => memberWord(type, name))
  const object = tag === undefined ? 'a JSON object' : `a JSON object whose ${tag} is one of ${members.join(', ')}`
  return typeof text === 'string' || bare === true ? `text or ${object}` : object
}
