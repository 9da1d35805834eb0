/** Requests for OpenAPI: bodies and their input objects, as REST spells them. */
import {
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  typeFromAST,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLSchema,
  type GraphQLType,
  type VariableDefinitionNode,
} from 'graphql'
import { memberWord, tagOf, wireFields } from '#schema/wire-names.ts'
import { isJsonObject } from '#schema/words.ts'
import type { Route } from '../routes.ts'
import { filledByPath, filledByQuery } from '../inputs.ts'
import { described, orNull, type Components, type Json } from './components.ts'
import { wireDescription } from './descriptions.ts'
import { anyObject } from './json-schema.ts'
import { leafSchema } from './leaves.ts'

/** What is needed to describe an input. */
export type InputParts = { schema: GraphQLSchema; components: Components }

/** The type of a variable. */
export function typeOf(variable: VariableDefinitionNode, schema: GraphQLSchema): GraphQLType {
  const type = typeFromAST(schema, variable.type)
  if (!type) throw new Error(`the variable ${variable.variable.name.value} has an unknown type`)
  return type
}

/** The type of the variable `$input`, where there is one. */
function inputTypeOf(
  declared: readonly VariableDefinitionNode[],
  schema: GraphQLSchema,
): GraphQLInputObjectType | undefined {
  const variable = declared.find((one) => one.variable.name.value === 'input')
  const type = variable && getNamedType(typeOf(variable, schema))
  return isInputObjectType(type) ? type : undefined
}

function namesOf(declared: readonly VariableDefinitionNode[]): Set<string> {
  return new Set(declared.map((one) => one.variable.name.value))
}

/** The parameters of the query that fill fields of the input. */
export function inputParameters(
  route: Route,
  declared: readonly VariableDefinitionNode[],
  { schema, components }: InputParts,
): Json[] {
  const type = inputTypeOf(declared, schema)
  if (!type) return []
  return filledByQuery(route, type, namesOf(declared)).map(({ parameter, field }) => {
    const { description, type: shape } = type.getFields()[field] ?? {}
    const schemaOf = shape ? inputSchema(shape, components) : {}
    const shown = shownDescription(type, description)
    return { name: parameter, in: 'query', required: false, description: shown, schema: schemaOf }
  })
}

/** The body of a route: its variable `$input`, or the variables that are read from the body. */
export function requestBody(
  inBody: readonly VariableDefinitionNode[],
  inPath: readonly string[],
  route: Route,
  declared: readonly VariableDefinitionNode[],
  parts: InputParts,
): Json {
  const named = inputTypeOf(inBody, parts.schema)
  if (!named) {
    if (inBody.length === 0) return {}
    const required = inBody.some((one) => one.type.kind === Kind.NON_NULL_TYPE)
    return { requestBody: { required, content: { 'application/json': { schema: bodySchema(inBody, parts) } } } }
  }
  if (route.bodyInto)
    return { requestBody: { required: true, content: { 'application/json': { schema: route.body ?? {} } } } }
  const filled = [...filledByPath(inPath, route, namesOf(declared)), ...filledByQuery(route, named, namesOf(declared))]
  const { always = [], present = [], neverNull = [] } = route
  const without = new Set(filled.map(({ field }) => field))
  const taken = objectSchema(named, parts.components, without, [...neverNull, ...always])
  const required = [...((taken['required'] as string[] | undefined) ?? []), ...always, ...present]
  const fullSchema: Json = { ...taken, ...(required.length > 0 ? { required } : {}) }
  if (Object.keys(fullSchema['properties'] as Json).length === 0) return {}
  const body = parts.components.add(named.name, described(fullSchema, named.description))
  return { requestBody: { required: 'required' in fullSchema, content: { 'application/json': { schema: body } } } }
}

function bodySchema(variables: readonly VariableDefinitionNode[], { schema, components }: InputParts): Json {
  const required = variables.filter((one) => one.type.kind === Kind.NON_NULL_TYPE).map((one) => one.variable.name.value)
  return {
    type: 'object',
    properties: Object.fromEntries(
      variables.map((one) => [one.variable.name.value, fieldSchema(typeOf(one, schema), components)]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

/** The schema of a value of an input type, without "or null". */
export function inputSchema(type: GraphQLType, components: Components): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType, components)
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType, components) }
  if (!isInputObjectType(type)) return leafSchema(type, components)
  const fullSchema = tagOf(type) ? taggedSchema(type, components) : objectSchema(type, components)
  const text = textSchema(type, components) ?? bareSchema(type)
  const taken = text ? { anyOf: [text, ...((fullSchema['oneOf'] as Json[] | undefined) ?? [fullSchema])] } : fullSchema
  return components.add(type.name, described(taken, type.description))
}

/** The text that stands for a whole input object, where the object may be a plain text: see schema/wire.ts. */
function textSchema(type: GraphQLInputObjectType, components: Components): Json | undefined {
  const { text } = type.extensions
  const field = typeof text === 'string' ? type.getFields()[text] : undefined
  const named = field && getNamedType(field.type)
  if (!field || !named) return undefined
  return isInputObjectType(named)
    ? textSchema(named, components)
    : described(inputSchema(field.type, components), shownDescription(type, field.description))
}

/** The words that stand for a whole tagged object, where its tag's word alone may: see schema/wire.ts. */
function bareSchema(type: GraphQLInputObjectType): Json | undefined {
  if (type.extensions['bare'] !== true) return undefined
  const alone = wireFields(type).filter(({ type: member }) => {
    const inner = getNamedType(member)
    return !isInputObjectType(inner) || !Object.values(inner.getFields()).some((field) => isNonNullType(field.type))
  })
  return { type: 'string', enum: alone.map(({ name }) => memberWord(type, name)), description: 'The type alone.' }
}

/** A field of a body. An optional field may also be null, which clears a stored value. */
function fieldSchema(type: GraphQLType, components: Components): Json {
  const shape = inputSchema(type, components)
  return isNonNullType(type) ? shape : orNull(shape)
}

/**
 * An input object as REST spells it. `without`: fields that the path fills. `neverNull`: keys that may be omitted but
 * not null.
 */
function objectSchema(
  type: GraphQLInputObjectType,
  components: Components,
  without: ReadonlySet<string> = new Set(),
  neverNull: readonly string[] = [],
): Json {
  const fields = wireFields(type).filter((field) => !without.has(field.name))
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => memberWord(type, field.name))
  const shapeOf = (field: GraphQLInputField): Json =>
    isJsonObject(field.extensions)
      ? anyObject
      : typeof field.extensions['or'] === 'string'
        ? eitherSchema(type, field, field.extensions['or'], components)
        : neverNull.includes(memberWord(type, field.name))
          ? inputSchema(field.type, components)
          : fieldSchema(field.type, components)
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [
        memberWord(type, field.name),
        described(shapeOf(field), shownDescription(type, field.description)),
      ]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

/** A field that takes what another field of its input does, too, which REST therefore does not have. */
function eitherSchema(
  type: GraphQLInputObjectType,
  field: GraphQLInputField,
  other: string,
  components: Components,
): Json {
  const second = type.getFields()[other]?.type ?? field.type
  return { anyOf: [inputSchema(second, components), inputSchema(field.type, components)] }
}

/** What a field of an input says of itself, with the keys and words of REST. */
function shownDescription(
  type: GraphQLInputObjectType,
  description: string | null | undefined,
): string | null | undefined {
  return wireDescription(description, wireFields(type), (name) => memberWord(type, name))
}

/** A `@oneOf` input that REST shows as one object with a tag. */
function taggedSchema(type: GraphQLInputObjectType, components: Components): Json {
  const tag = tagOf(type) ?? ''
  return {
    oneOf: Object.values(type.getFields()).map((field) => {
      const named = getNamedType(field.type)
      const word = memberWord(type, field.name)
      const tags = { [tag]: { type: 'string', enum: [word] } }
      const fullSchema = isInputObjectType(named) ? objectSchema(named, components) : { additionalProperties: false }
      const always = word === type.extensions['usual'] ? [] : [tag] // one without its tag is of the usual member
      const required = [...always, ...((fullSchema['required'] as string[] | undefined) ?? [])]
      return {
        type: 'object',
        ...fullSchema,
        properties: { ...tags, ...(fullSchema['properties'] as Json | undefined) },
        ...(required.length > 0 ? { required } : {}),
      }
    }),
  }
}
