/**
 * Finds which variable of an operation does not match its type, by graphql's own coercion, which reports the place as a
 * path.
 */
import {
  coerceInputValue,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type VariableDefinitionNode,
} from 'graphql'
import { pathsInsideInput } from './nested-names.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'

/**
 * A variable that does not match its type: its definition, the place in it (`name`, or `name.items[3].key`), and what
 * is expected there. `unknown`: a key that its object does not have. `near`: the key or word that was probably
 * intended.
 */
export type WrongVariable = {
  definition: VariableDefinitionNode
  name: string
  at: string
  fault: 'absent' | 'unknown' | 'wrong'
  type: GraphQLInputType
  near?: string | undefined
}

const placeLength = 200 // characters of a place that are shown; keys are the caller's text
const keyLength = 64

/** Thrown to stop graphql's coercion at the first value that does not match. */
class Found extends Error {
  readonly path: readonly (string | number)[]
  readonly value: unknown
  constructor(path: readonly (string | number)[], value: unknown) {
    super('a value does not match its type')
    this.path = path
    this.value = value
  }
}

/**
 * The first variable that does not match its declared type; undefined when all do. Unknown types are left to
 * validation.
 */
export function findWrongVariable(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Readonly<Record<string, unknown>>,
): WrongVariable | undefined {
  for (const definition of definitions) {
    const name = definition.variable.name.value
    const type: unknown = typeFromAST(schema, definition.type as never) // a list type's node is not a named type's
    if (!isInputType(type)) continue
    const given = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (given === undefined || given === null) {
      const isMissing = isNonNullType(type) && (given === null || definition.defaultValue === undefined)
      if (isMissing) return { definition, name, at: name, fault: 'absent', type }
      continue
    }
    const found = firstFault(type, given)
    if (found) return { definition, name, ...placeOf(name, type, found) }
  }
  return undefined
}

function firstFault(type: GraphQLInputType, given: unknown): Found | undefined {
  try {
    coerceInputValue(
      given,
      type,
      (path, value) => {
        throw new Found(path, value)
      },
      true,
    )
    return undefined
  } catch (error) {
    if (error instanceof Found) return error
    throw error
  }
}

/** graphql names the object in which a key is missing or unknown; this adds the key. */
function placeOf(
  name: string,
  whole: GraphQLInputType,
  { path, value }: Found,
): Pick<WrongVariable, 'at' | 'fault' | 'type' | 'near'> {
  const type = typeAt(whole, path)
  const at = path.reduce<string>(addStep, name)
  if (value === undefined || value === null) return { at: shorten(at), fault: 'absent', type }
  let inner = getNullableType(type)
  while (isListType(inner) && !Array.isArray(value)) inner = getNullableType(inner.ofType as GraphQLInputType) // GraphQL accepts a single value for a list of one
  if (isEnumType(inner) && typeof value === 'string')
    return {
      at: shorten(at),
      fault: 'wrong',
      type,
      near: nearestKey(
        value,
        inner.getValues().map(({ name: word }) => word),
      ),
    }
  if (!isInputObjectType(inner) || typeof value !== 'object' || Array.isArray(value))
    return { at: shorten(at), fault: 'wrong', type }
  const fields = inner.getFields()
  for (const key in value)
    if (!Object.hasOwn(fields, key))
      return {
        at: shorten(addStep(at, key)),
        fault: 'unknown',
        type: inner,
        near: nearestKey(key, Object.keys(fields), pathsInsideInput(inner)),
      }
  for (const field of Object.values(fields)) {
    const isMissing =
      isNonNullType(field.type) &&
      field.defaultValue === undefined &&
      (value as Record<string, unknown>)[field.name] === undefined
    if (isMissing) return { at: shorten(addStep(at, field.name)), fault: 'absent', type: field.type }
  }
  return { at: shorten(at), fault: 'wrong', type }
}

function typeAt(whole: GraphQLInputType, path: readonly (string | number)[]): GraphQLInputType {
  let at = whole
  for (const step of path) {
    let inner = getNullableType(at)
    if (typeof step === 'number') {
      at = isListType(inner) ? (inner.ofType as GraphQLInputType) : at // a list of an input type
      continue
    }
    while (isListType(inner)) inner = getNullableType(inner.ofType as GraphQLInputType) // GraphQL accepts a single value for a list of one
    at = isInputObjectType(inner) ? (inner.getFields()[step]?.type ?? at) : at
  }
  return at
}

function addStep(at: string, step: string | number): string {
  return typeof step === 'number'
    ? `${at}[${step}]`
    : `${at}.${step.length > keyLength ? `${step.slice(0, keyLength)}…` : step}`
}

function shorten(at: string): string {
  return at.length > placeLength ? `${at.slice(0, placeLength)}…` : at
}
