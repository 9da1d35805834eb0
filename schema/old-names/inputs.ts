/** Old names of the fields of input objects: what is given by them reaches resolvers by their successors' names. */
import {
  isNonNullType,
  isObjectType,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
} from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { isGiven, objectType } from '../input-names.ts'

/** The successors of old fields, by the names of their input objects. */
export type OldInputs = Map<string, Map<string, string>>
type Given = Record<string, unknown>

/**
 * Gives an input object a field by its old name, too, of its successor’s type. One that it has already, because REST has it, is
 * read as ever.
 */
export function keepInputField(
  type: GraphQLInputObjectType,
  old: string,
  successor: string,
  deprecationReason: string,
  olds: OldInputs,
): void {
  const fields = type.getFields()
  const before = fields[old]
  const now = fields[successor]
  if (!now) throw new Error(`the successor of ${type.name}.${old} is not in the schema`)
  if (before) {
    fields[old] = { ...before, deprecationReason }
    return
  }
  if (isNonNullType(now.type)) throw new Error(`nobody could give ${type.name}.${old} alone: ${successor} is needed`)
  fields[old] = { ...now, name: old, deprecationReason, extensions: { word: null } }
  olds.set(type.name, (olds.get(type.name) ?? new Map<string, string>()).set(old, successor))
}

/** Makes every field that takes such an input read it. */
export function readOldInputs(made: GraphQLSchema, olds: OldInputs): void {
  const leads = leadsTo(olds)
  for (const type of Object.values(made.getTypeMap()))
    for (const field of isObjectType(type) ? Object.values(type.getFields()) : []) {
      if (field.args.some((argument) => leads(argument.type))) readIn(field, leads, olds)
    }
}

type Leads = (type: GraphQLInputType) => boolean

/** Whether a type is such an input, or has one somewhere inside. */
function leadsTo(olds: OldInputs): Leads {
  const known = new Map<GraphQLInputObjectType, boolean>()
  const leads = (type: GraphQLInputType): boolean => {
    const object = objectType(type)
    if (!object) return false
    const before = known.get(object)
    if (before !== undefined) return before
    known.set(object, olds.has(object.name)) // also the answer to an input inside itself
    const found = olds.has(object.name) || Object.values(object.getFields()).some((field) => leads(field.type))
    known.set(object, found)
    return found
  }
  return leads
}

function readIn(field: GraphQLField<unknown, unknown>, leads: Leads, olds: OldInputs): void {
  const read = (given: Given): Given =>
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => {
        const argument = field.args.find((one) => one.name === name)
        const at = name === 'input' ? '' : name
        return [name, argument && leads(argument.type) ? renamed(value, argument.type, at, leads, olds) : value]
      }),
    )
  readArguments(field, read)
}

/** Has a field’s resolver, or the source of its events, given what `read` makes of its arguments. */
export function readArguments(field: GraphQLField<unknown, unknown>, read: (given: Given) => Given): void {
  const { resolve, subscribe } = field
  if (subscribe) field.subscribe = (source, given: Given, call, info) => subscribe(source, read(given), call, info)
  else if (resolve) field.resolve = (source, given: Given, call, info) => resolve(source, read(given), call, info)
}

/** A value by the names of today. @param at its place, as callers name it; empty for a mutation’s input. */
function renamed(value: unknown, type: GraphQLInputType, at: string, leads: Leads, olds: OldInputs): unknown {
  const object = objectType(type)
  if (typeof value !== 'object' || value === null || !object || !leads(object)) return value
  if (Array.isArray(value)) return value.map((one, index) => renamed(one, object, `${at}[${index}]`, leads, olds))
  const read: Given = {}
  const place = (name: string): string => (at === '' ? name : `${at}.${name}`)
  for (const [name, given] of Object.entries(value as Given)) {
    const shape = object.getFields()[name]?.type
    const inside = shape ? renamed(given, shape, place(name), leads, olds) : given
    const successor = olds.get(object.name)?.get(name)
    if (successor === undefined) read[name] = inside
    else if (!isGiven(value, successor)) read[successor] = inside
    else if (isGiven(value, name)) throw givenTwice(name, successor, place(successor))
  }
  return read
}

/** The refusal of what is given by its old name and by the one of today. @param field the latter, as callers name its place. */
export function givenTwice(old: string, successor: string, field = successor): BerthError {
  return new BerthError('invalid_request', `Give either ${successor} or ${old}, not both: ${old} is its old name.`, {
    field,
  })
}
