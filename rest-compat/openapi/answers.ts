/** Answers for OpenAPI, generated from what a document selects, so that they always agree with it. */
import {
  getNamedType,
  getOperationAST,
  isAbstractType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  type FieldNode,
  type GraphQLAbstractType,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type SelectionSetNode,
} from 'graphql'
import type { RestList } from '../lists.ts'
import type { Route } from '../routes.ts'
import type { Operation } from '../run.ts'
import { isJsonObject, wordsOf } from '#schema/words.ts'
import { wholeShapes } from '../agents/whole-shapes.ts'
import { wireDescription } from './descriptions.ts'
import { anyObject } from './json-schema.ts'
import { described, orNull, type Components, type Json, type ShapeParts } from './components.ts'
import { leafSchema } from './leaves.ts'

type Parts = {
  schema: GraphQLSchema
  components: Components
  fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

/** The successful answer of a route. */
export function describeSuccess(
  route: Route,
  { definition, document, bodyAt }: Operation,
  schema: GraphQLSchema,
  components: Components,
): Json {
  if (route.status === 204) return { description: 'Done; no body' }
  const root = schema.getRootType(definition.operation)
  if (!root) return { description: route.summary }
  const named = document.definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION)
  const parts = { schema, components, fragments: new Map(named.map((one) => [one.name.value, one])) }
  const propertiesOf = (one: Json): Json => wholeOf(one, components)['properties'] as Json // of a selection, which has some
  const selected = bodyAt.reduce<Json>(
    (one, key) => propertiesOf(one)[key] as Json,
    selectionSchema(root, definition.selectionSet, parts),
  )
  const body = withEntriesBy(
    route.entriesBy,
    route.list ? listSchema(route.list, selected, components) : selected,
    components,
  )
  // Such a frame has the event in its data, and the position in its id: see stream.ts.
  const shownAt = { named: 'event', ui: 'chunk', plain: null }[route.frames ?? 'plain']
  const shown = shownAt === null ? body : propertiesOf(body)[shownAt]
  return {
    description: 'Success',
    content: {
      [definition.operation === 'subscription' ? 'text/event-stream' : 'application/json']: { schema: shown },
    },
  }
}

/** The object schema itself, without "or null" and with its reference resolved. */
function wholeOf(schema: Json, components: Components): Json {
  const [choice = schema] = (schema['anyOf'] ?? []) as Json[]
  return components.resolve(choice)
}

/** The body in which each entry of `data` is replaced by one of its keys. */
function withEntriesBy(key: string | undefined, body: Json, components: Components): Json {
  if (key === undefined) return body
  const { data = {}, ...rest } = body['properties'] as Record<string, Json> // of a list
  const entry = wholeOf(data['items'] as Json, components)['properties'] as Json // a list of objects
  return { ...body, properties: { ...rest, data: { ...data, items: entry[key] } } }
}

/** The documented list of a connection, beside the other keys of the object that has it. */
function listSchema(list: RestList, selected: Json, components: Components): Json {
  if (list.at === undefined) return shownList(list, selected)
  const fullSchema = wholeOf(selected, components)
  const { [list.at]: connection = {}, ...rest } = fullSchema['properties'] as Record<string, Json>
  const listed = shownList(list, connection)
  const properties = { ...rest, ...(listed['properties'] as Json) }
  return { type: 'object', properties, required: Object.keys(properties) }
}

function shownList({ shape, key, echoes }: RestList, connection: Json): Json {
  const { nodes: data } = connection['properties'] as { nodes: Json } // its document selects them
  if (shape === 'rows' && key === undefined) return data
  if (shape === 'rows') {
    const used = echoes ? { limit: { type: 'integer' }, offset: { type: 'integer' } } : {}
    const shown = { [key ?? '']: data, ...used }
    return { type: 'object', properties: shown, required: Object.keys(shown) }
  }
  const place = { type: ['string', 'null'] }
  const hasMore = { type: 'boolean' }
  if (shape === 'after')
    return { type: 'object', properties: { data, has_more: hasMore }, required: ['data', 'has_more'] }
  const properties =
    shape === 'ids'
      ? { object: { type: 'string', enum: ['list'] }, data, has_more: hasMore, first_id: place, last_id: place }
      : { data, has_more: hasMore, next_page: place, ...(shape === 'page' ? {} : { prev_page: place }) }
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** Types that only wrap what is shown. REST shows their content, and no client needs their names. */
const carriers = /(?:Payload|Connection|Edge|PageInfo)$/

/** The schema of a selection of a type: a component where the type is a noun. */
function selectionSchema(type: GraphQLNamedType, selections: SelectionSetNode, parts: Parts): Json {
  const members = isAbstractType(type) ? membersOf(type, selections, parts) : []
  if (members.length > 1) {
    const shapes = members.map((member) => selectionSchema(member, selections, parts))
    return parts.components.add(type.name, described({ anyOf: shapes }, type.description))
  }
  const of = members[0] ?? type
  const fields = fieldsOf(of, selections, parts)
  const properties = Object.fromEntries(
    fields.map((field) => [keyOf(field), fieldSchema(of, field, parts, fields.length === 1)]),
  )
  const fullSchema = { type: 'object', properties, required: Object.keys(properties) }
  const isRoot = [parts.schema.getQueryType(), parts.schema.getMutationType(), parts.schema.getSubscriptionType()]
  if (isRoot.some((root) => root === of) || carriers.test(of.name)) return fullSchema
  return parts.components.add(nameOf(of, selections, parts), described(fullSchema, of.description))
}

/** A component is named after its fragment where the selection is one, otherwise after its type. */
function nameOf(type: GraphQLNamedType, { selections }: SelectionSetNode, { fragments }: Parts): string {
  const [only, ...others] = selections
  const fragment =
    only?.kind === Kind.FRAGMENT_SPREAD && others.length === 0 ? fragments.get(only.name.value) : undefined
  return fragment?.typeCondition.name.value === type.name ? fragment.name.value : type.name
}

function keyOf({ alias, name }: FieldNode): string {
  return alias?.value ?? name.value
}

/**
 * The member types of a union or an interface that the selection has fields for. Of an interface that has more to say
 * of one of them these are all: what it says of each, it says of the others too.
 */
function membersOf(type: GraphQLAbstractType, selections: SelectionSetNode, parts: Parts): GraphQLNamedType[] {
  const named = conditionsOf(selections, parts).flatMap((name) => {
    const member = parts.schema.getType(name)
    return isObjectType(member) && name !== type.name ? [member] : []
  })
  return isInterfaceType(type) && named.length > 0 ? [...parts.schema.getPossibleTypes(type)] : [...new Set(named)]
}

function conditionsOf({ selections }: SelectionSetNode, parts: Parts): string[] {
  return selections.flatMap((one) => {
    if (one.kind === Kind.FIELD) return []
    const { condition, within } = targetOf(one, parts)
    return [...(condition === undefined ? [] : [condition]), ...conditionsOf(within, parts)]
  })
}

type Spread = Exclude<SelectionSetNode['selections'][number], FieldNode>

function targetOf(spread: Spread, { fragments }: Parts): { condition: string | undefined; within: SelectionSetNode } {
  if (spread.kind === Kind.INLINE_FRAGMENT)
    return { condition: spread.typeCondition?.name.value, within: spread.selectionSet }
  const fragment = fragments.get(spread.name.value)
  if (!fragment) throw new Error(`no fragment ${spread.name.value}`)
  return { condition: fragment.typeCondition.name.value, within: fragment.selectionSet }
}

/** The fields of a value of this type: those of the selection, and those of its matching fragments. */
function fieldsOf(type: GraphQLNamedType, { selections }: SelectionSetNode, parts: Parts): FieldNode[] {
  return selections.flatMap((one) => {
    if (one.kind === Kind.FIELD) return one.name.value === '__typename' && !one.alias ? [] : [one]
    const { condition, within } = targetOf(one, parts)
    return condition === undefined || fits(type, condition, parts) ? fieldsOf(type, within, parts) : []
  })
}

function fits(type: GraphQLNamedType, condition: string, { schema }: Parts): boolean {
  const conditionType = schema.getType(condition)
  return (
    conditionType === type ||
    (isAbstractType(conditionType) && isObjectType(type) && schema.isSubType(conditionType, type))
  )
}

function fieldSchema(parent: GraphQLNamedType, selection: FieldNode, parts: Parts, isAlone: boolean): Json {
  if (selection.name.value === '__typename') return { type: 'string' }
  const field = 'getFields' in parent ? parent.getFields()[selection.name.value] : undefined
  if (!field) throw new Error(`no field ${selection.name.value}`)
  const type = field.type as GraphQLOutputType // documents are validated: this is an output field
  const leaf = handWritten(parent, field, parts)
  const beside = 'getFields' in parent ? Object.values<Field>(parent.getFields()) : []
  const shape = described(
    valueSchema(type, selection.selectionSet, parts, leaf),
    wireDescription(field.description, beside),
  )
  // Root fields and some fields of nouns are nullable only so that they do not take their siblings down. Alone in a REST document, null is an error and never an answer.
  const isRoot =
    parent === parts.schema.getQueryType() ||
    parent === parts.schema.getMutationType() ||
    selection.alias?.value === 'body' ||
    isAlone
  return isNonNullType(type) || isRoot ? shape : orNull(shape)
}

type Field = { name: string; type: GraphQLType; extensions: Readonly<Record<string, unknown>> }

/** What a field of words, or one that is shown whole, answers. */
function handWritten(parent: GraphQLNamedType, field: Field, parts: Parts): Json | undefined {
  const words = wordsOf(field.extensions)
  if (words) return { type: 'string', enum: words }
  if (isJsonObject(field.extensions)) return anyObject
  if (getNamedType(field.type).name !== 'RestObject') return undefined
  const shape = wholeShapes[`${parent.name}.${field.name}`]
  if (!shape) throw new Error(`${parent.name}.${field.name} has no shape: write one in whole-shapes.ts`)
  return shape(shapeParts(parts))
}

function shapeParts({ schema, components }: Parts): ShapeParts {
  const typeOf = (name: string): GraphQLNamedType => {
    const type = schema.getType(name)
    if (!type) throw new Error(`no type ${name}`)
    return type
  }
  return {
    add: components.add,
    describe: (name) => typeOf(name).description ?? '',
    words: (name) => leafSchema(typeOf(name), components),
    selected(name, selection) {
      const { selectionSet } = getOperationAST(parse(selection)) ?? {}
      if (!selectionSet) throw new Error(`no selection of ${name}`)
      return selectionSchema(typeOf(name), selectionSet, { schema, components, fragments: new Map() })
    },
  }
}

function valueSchema(
  type: GraphQLOutputType,
  selections: SelectionSetNode | undefined,
  parts: Parts,
  leaf?: Json,
): Json {
  if (isNonNullType(type)) return valueSchema(type.ofType, selections, parts, leaf)
  if (isListType(type)) {
    const item = type.ofType as GraphQLOutputType // a list of an output type
    const items = valueSchema(item, selections, parts, leaf)
    return { type: 'array', items: isNonNullType(item) ? items : orNull(items) }
  }
  if (leaf) return leaf
  return selections ? selectionSchema(getNamedType(type), selections, parts) : leafSchema(type, parts.components)
}
