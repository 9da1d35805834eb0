/**
 * Between REST and the schema's input types, by the type alone: keys (`memory_mb`, `memoryMb`), words of enums
 * (`running`, `RUNNING`), and REST's tagged objects (`{"type": "limited", "allowed_hosts": []}`), which are `@oneOf`
 * inputs here (`{limited: {allowedHosts: []}}`) whose extension `tag` names the key that says which. An input with the
 * extension `text` may be a plain text in REST, which stands for the field that `text` names. A tagged object without its
 * tag is of the member that the extension `usual` names; one with the extension `bare` may be its tag's word alone. A list longer than the field's extension `most` goes no further.
 */
import {
  getNullableType,
  GraphQLString,
  isEnumType,
  isInputObjectType,
  isListType,
  type GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql'
import { BerthError, isErrorCode, type ErrorCode } from '#src/platform/errors.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { snakeCase } from '#src/platform/texts.ts'
import { pathsInside } from './nested-names.ts'
import { memberWord, namesByWord, objectInWords, tagOf, typeInWords, wireFields } from './wire-names.ts'

/** `inside`: the type that says what is inside it, where that is another field's. */
type ShapeField = { name: string; type: GraphQLInputType; inside: GraphQLInputType; most: number }
type Shape = { byKey: Map<string, ShapeField>; tag: string | undefined; usual: unknown }

const shapes = new WeakMap<GraphQLInputObjectType, Shape>()

/** The keys of an input object as REST spells them; for a tagged input, the members' words. */
function shapeOf(type: GraphQLInputObjectType): Shape {
  const known = shapes.get(type)
  if (known) return known
  const tag = tagOf(type)
  const shape = {
    byKey: new Map(
      wireFields(type).map(({ name, type: own, extensions: { most, or } }) => [
        memberWord(type, name),
        {
          name,
          type: own,
          inside: typeof or === 'string' ? fieldType(type, or) : own,
          most: typeof most === 'number' ? most : Infinity,
        },
      ]),
    ),
    tag,
    usual: type.extensions['usual'],
  }
  shapes.set(type, shape)
  return shape
}

/**
 * Turns a value from REST into an input of this type. Invalid values are left unchanged where the type's own check has
 * a better message.
 * @param place the caller's name for it, such as `network_policy`; empty for the whole body.
 * @throws BerthError invalid_request for a key or an enum word that the type does not have.
 */
export function fromWire(value: unknown, type: GraphQLInputType, place: string): unknown {
  if (value === null || value === undefined) return value
  const inner = getNullableType(type)
  if (isListType(inner)) {
    const item = inner.ofType as GraphQLInputType // a list of an input type
    // GraphQL takes one value for a list of one; in REST it is of the wrong type.
    if (!Array.isArray(value))
      throw new BerthError('invalid_request', `${place} must be ${typeInWords(inner)}.`, fieldAt(place))
    return value.map((one, index) => fromWire(one, item, `${place}[${index}]`))
  }
  if (isEnumType(inner)) return nameOf(inner, value, place)
  if (!isInputObjectType(inner)) {
    const isNoText = inner.name === 'ID' && typeof value !== 'string' // GraphQL would take a whole number
    if (isNoText || (wordScalars.has(inner.name) && isNoWord(value)))
      throw new BerthError('invalid_request', `${place} must be ${typeInWords(inner)}.`, fieldAt(place))
    return value
  }
  const { text, unknownTag } = inner.extensions
  if (typeof text === 'string' && typeof value === 'string')
    return { [text]: fromWire(value, fieldType(inner, text), place) }
  if (inner.extensions['bare'] === true && typeof value === 'string')
    return fromWire({ [tagOf(inner) ?? '']: value }, inner, place)
  if (typeof value !== 'object' || Array.isArray(value))
    throw new BerthError('invalid_request', `${place || 'The body'} must be ${objectInWords(inner)}.`, fieldAt(place))
  const shape = shapeOf(inner)
  if (shape.tag === undefined) return fromObject(value, shape.byKey, place)
  return fromTagged(
    value,
    shape,
    shape.tag,
    place,
    typeof unknownTag === 'string' && isErrorCode(unknownTag) ? unknownTag : 'invalid_request',
  )
}

function nameOf(type: GraphQLEnumType, value: unknown, place: string): unknown {
  const names = namesByWord(type)
  const name = isNoWord(value) ? undefined : names.get(value)
  if (name !== undefined) return name
  throw new BerthError('invalid_request', `${place} must be one of ${[...names.keys()].join(', ')}.`, fieldAt(place))
}

/** Scalars whose check quotes what it refuses. */
const wordScalars = new Set(['Boolean', 'Int', 'Float'])
const wordLengthMax = 200

/** Text that is longer than any word: looking it up, or quoting it, holds the process when it has megabytes. */
function isNoWord(value: unknown): boolean {
  return typeof value === 'string' && value.length > wordLengthMax
}

function fieldAt(place: string): { field?: string } {
  return place === '' ? {} : { field: place }
}

function fromObject(value: object, byKey: Shape['byKey'], place: string, except?: string): Record<string, unknown> {
  const before = place === '' ? '' : `${place}.`
  const unknown = findUnknownKey(value, byKey, except)
  if (unknown !== undefined)
    throw new BerthError(
      'invalid_request',
      unknownKeySentence('field', unknown, knownKeys(byKey, except), before, pathsInside(insides(byKey), levelOf)),
      {
        field: before + unknown.slice(0, placeLength),
      },
    )
  const read: Record<string, unknown> = {}
  for (const [key, { name, type, most }] of byKey) {
    if (!Object.hasOwn(value, key)) continue
    const given = (value as Record<string, unknown>)[key]
    refuseMore(given, most, before + key)
    read[name] = fromWire(given, type, before + key)
  }
  return read
}

/**
 * Refuses a list that is too long before reading it: a body may have millions of entries, and reading them would block
 * the process.
 */
function refuseMore(value: unknown, most: number, place: string): void {
  if (Array.isArray(value) && value.length > most)
    throw new BerthError('invalid_request', `${place} may hold at most ${most} entries.`, { field: place })
}

/** REST's paths of what is inside the fields of an input object: what a tagged object has for any of its tags. */
export function wirePaths(type: GraphQLInputObjectType): string[] {
  return pathsInside(levelOf(type), levelOf)
}

function insides(byKey: Shape['byKey']): (readonly [string, GraphQLInputType])[] {
  return [...byKey].map(([key, { inside }]) => [key, inside] as const)
}

function levelOf(type: GraphQLInputObjectType): (readonly [string, GraphQLInputType])[] {
  const { byKey, tag } = shapeOf(type)
  const level = insides(byKey)
  if (tag === undefined) return level
  const members = level.flatMap(([, member]) => {
    const inner = getNullableType(member)
    return isInputObjectType(inner) ? levelOf(inner) : []
  })
  return [[tag, GraphQLString], ...members]
}

function knownKeys(byKey: Shape['byKey'], except: string | undefined): string[] {
  return [...byKey.keys(), ...(except === undefined ? [] : [except])]
}

const placeLength = 200 // characters of a caller's key that are shown

function fieldType(type: GraphQLInputObjectType, name: string): GraphQLInputType {
  const field = type.getFields()[name]
  if (!field) throw new Error(`${type.name} has no field ${name}`)
  return field.type
}

function fromTagged(
  value: object,
  { byKey, usual }: Shape,
  tag: string,
  place: string,
  unknownTag: ErrorCode,
): Record<string, unknown> {
  const before = place === '' ? '' : `${place}.`
  const word: unknown = (Object.hasOwn(value, tag) ? (value as Record<string, unknown>)[tag] : null) ?? usual
  const member = typeof word === 'string' && !isNoWord(word) ? byKey.get(word) : undefined
  if (!member) {
    const code = typeof word === 'string' ? unknownTag : 'invalid_request'
    throw new BerthError(code, `${before}${tag} must be one of ${[...byKey.keys()].join(', ')}.`, {
      field: before + tag,
    })
  }
  const inner = getNullableType(member.type)
  if (isInputObjectType(inner)) {
    return { [member.name]: fromObject(value, shapeOf(inner).byKey, place, tag) }
  }
  fromObject(value, new Map(), place, tag) // a member without fields has only its tag
  return { [member.name]: true }
}

/** Turns a place in a value from GraphQL's spelling (`networkPolicy.limited.allowedHosts[0]`) into REST's. */
export function wirePlace(place: string, whole: GraphQLInputType): string {
  const steps: string[] = []
  let type: GraphQLInputType | undefined = whole
  for (const step of place.split('.')) {
    const [, name = step, index = ''] = /^([^[]*)(.*)$/s.exec(step) ?? []
    const inner: GraphQLInputType | undefined = type && innermost(type)
    const isMember = isInputObjectType(inner) && tagOf(inner) !== undefined
    if (!isMember) steps.push((isInputObjectType(inner) ? memberWord(inner, name) : snakeCase(name)) + index)
    type = isInputObjectType(inner) ? inner.getFields()[name]?.type : undefined
  }
  return steps.join('.')
}

function innermost(type: GraphQLInputType): GraphQLInputType {
  let inner = getNullableType(type)
  while (isListType(inner)) inner = getNullableType(inner.ofType as GraphQLInputType) // a list of an input type
  return inner
}
