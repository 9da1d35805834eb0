/**
 * Names of the public graph that have got better ones: each stays for one minor version beside its successor, as `@deprecated`.
 * It runs the successor's resolver, so that permissions, limits and costs are the same by both names. REST's documents use the
 * successors, and never see these.
 */
import {
  getNamedType,
  getNullableType,
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  Kind,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLResolveInfo,
} from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { isGiven } from './input-names.ts'
import { oldNames } from './old-names/list.ts'
import { givenTwice, keepInputField, readArguments, readOldInputs, type OldInputs } from './old-names/inputs.ts'

const goesWith = '0.2'

/** Adds the old names to a schema whose resolvers are complete. */
export function withOldNames(made: GraphQLSchema): GraphQLSchema {
  const inputs: OldInputs = new Map()
  for (const [at, successor] of Object.entries(oldNames)) {
    const [, type = '', name = '', argument] = /^(\w+)\.(\w+)(?:\((\w+)\))?$/.exec(at) ?? []
    const input = made.getType(type)
    if (isInputObjectType(input)) {
      keepInputField(input, name, successor, reasonFor(successor), inputs)
      continue
    }
    const fields = fieldsOf(made, type)
    if (argument !== undefined) keepArgument(known(fields[name], at), argument, successor)
    else fields[name] = oldField(type, name, known(fields[successor], at))
  }
  readOldInputs(made, inputs)
  const orders: Orders = new Map()
  for (const type of Object.values(made.getTypeMap()))
    for (const field of isObjectType(type) ? Object.values(type.getFields()) : []) keepOrderBy(field, orders)
  return new GraphQLSchema({ ...made.toConfig(), types: Object.values(made.getTypeMap()) })
}

type Field = GraphQLField<unknown, unknown>
type Given = Record<string, unknown>

const reasonFor = (successor: string): string => `Use \`${successor}\`. Goes with ${goesWith}.`

function known<Part>(part: Part | undefined, at: string): Part {
  if (part === undefined) throw new Error(`the successor of ${at} is not in the schema`)
  return part
}

function fieldsOf(made: GraphQLSchema, name: string): Record<string, Field> {
  const type = made.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is no object type`)
  return type.getFields()
}

function oldField(typeName: string, name: string, successor: Field): Field {
  const old = { ...successor, name, deprecationReason: reasonFor(successor.name) }
  // A field without a resolver answers the property of its own name.
  if (!old.resolve && !old.subscribe) old.resolve = (source) => (source as Given)[successor.name] // rows are objects
  return typeName === 'Mutation' ? withOwnTypes(old, successor.name) : old
}

/** A mutation with an input and a payload of its own name, as clients wrote them into their documents. */
function withOwnTypes(field: Field, successor: string): Field {
  const name = field.name.charAt(0).toUpperCase() + field.name.slice(1)
  const [argument] = field.args
  const input = argument && getNamedType(argument.type)
  const payload = getNamedType(field.type)
  if (!isInputObjectType(input) || !isObjectType(payload)) throw new Error(`${successor} is no mutation of ours`)
  const described = ({ description }: { description?: string | null | undefined }) =>
    (description ?? '').replace(`\`${successor}\``, `\`${field.name}\``)
  const ownInput = new GraphQLInputObjectType({
    ...input.toConfig(),
    name: `${name}Input`,
    description: described(input),
  })
  return {
    ...field,
    args: [{ ...argument, type: new GraphQLNonNull(ownInput) } as GraphQLArgument], // it has the name of the one before
    type: new GraphQLObjectType({ ...payload.toConfig(), name: `${name}Payload`, description: described(payload) }),
  }
}

/** The old inputs of orders, by their nouns. */
type Orders = Map<string, GraphQLInputObjectType>

/** `orderBy: {field: CREATED_AT, direction: DESC}` of a list that takes `order: DESC`, with an input and an enum for each noun. */
/** Lists that are younger than `order`. */
const neverHadOrderBy: readonly string[] = ['AuditEvent', 'Invitation']

function keepOrderBy(field: Field, orders: Orders): void {
  const order = field.args.find(({ name, type }) => name === 'order' && getNamedType(type).name === 'OrderDirection')
  const { resolve } = field
  if (!order || !resolve) return
  const noun = getNamedType(field.type).name.replace(/Connection$/, '')
  if (neverHadOrderBy.includes(noun)) return
  const type = orders.get(noun) ?? orderInput(noun, order.type)
  orders.set(noun, type)
  const rest = { defaultValue: undefined, deprecationReason: reasonFor('order'), extensions: {}, astNode: null }
  field.args = [...field.args, { name: 'orderBy', description: 'The order of the list.', type, ...rest }]
  field.resolve = (source, { orderBy, ...given }: Given, call, info) => {
    const before = orderBy as { direction: string } | null | undefined // of the type above
    if (before && isWritten('order', info)) throw givenTwice('orderBy', 'order')
    return resolve(source, before ? { ...given, order: before.direction } : given, call, info)
  }
}

/** Whether a caller gives an argument; its default is in the arguments all the same. */
function isWritten(name: string, { fieldNodes, variableValues }: GraphQLResolveInfo): boolean {
  const argument = fieldNodes[0]?.arguments?.find((one) => one.name.value === name)
  if (argument?.value.kind !== Kind.VARIABLE) return argument !== undefined
  return variableValues[argument.value.name.value] !== undefined
}

function orderInput(noun: string, direction: GraphQLInputType): GraphQLInputObjectType {
  const field = new GraphQLEnumType({
    name: `${noun}OrderField`,
    description: `The fields by which a list of type ${noun} can be ordered.`,
    values: { CREATED_AT: { description: 'When it was created.' } },
  })
  return new GraphQLInputObjectType({
    name: `${noun}Order`,
    description: `The order of a list of type ${noun}.`,
    fields: {
      field: { type: new GraphQLNonNull(field), description: 'By what.' },
      direction: { type: direction, description: 'The direction.' },
    },
  })
}

/** Gives a field an argument by its old name, too. Where one is needed, exactly one of both must be given. */
function keepArgument(field: Field, old: string, successor: string): void {
  const argument = known(
    field.args.find(({ name }) => name === successor),
    `${field.name}(${old})`,
  )
  const isRequired = isNonNullType(argument.type)
  const type = getNullableType(argument.type)
  field.args = [
    ...field.args.map((one) => (one === argument ? { ...one, type } : one)),
    { ...argument, name: old, type, deprecationReason: reasonFor(successor) },
  ]
  const read = (given: Given): Given => {
    const { [old]: before, ...rest } = given
    const [isNow, wasBefore] = [isGiven(given, successor), isGiven(given, old)]
    if (isNow && wasBefore) throw givenTwice(old, successor)
    if (isRequired && !isNow && !wasBefore)
      throw new BerthError('invalid_request', `Give ${successor}.`, { field: successor })
    return wasBefore ? { ...rest, [successor]: before } : rest
  }
  readArguments(field, read)
}
