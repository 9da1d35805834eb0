/**
 * What an operation asks for, worked out once: for each field its resolver, its type and the fields below it. Running it is
 * then a walk through lists (graphql-runs.ts), where graphql's own execution looks all of that up for every object.
 *
 * Ours, and no compiler: graphql-jit writes the document's texts into code that it evaluates (a crafted string runs as
 * code), turns absent variables inside literals into null, and waits for ever after some wrong arguments.
 */
import {
  getNullableType,
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  GraphQLString,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  visit,
  BREAK,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLIsTypeOfFn,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'

/** How a field's value becomes a part of the answer; `items` of a list, `fields` of an object with a look at what it is, `serialize` of a leaf. */
export type Shape = {
  required: boolean
  serialize: ((value: unknown) => unknown) | null
  items: Shape | null
  fields: readonly FieldPlan[] | null
  isTypeOf: GraphQLIsTypeOfFn<unknown, unknown> | null
  type: GraphQLOutputType
}

/** One field of the answer. `typeName`: it is `__typename`, and this is the name. */
export type FieldPlan = {
  key: string
  name: string
  nodes: readonly FieldNode[]
  parent: GraphQLObjectType
  definition: GraphQLField<unknown, unknown>
  resolve: GraphQLFieldResolver<unknown, unknown> | null
  takesArguments: boolean
  typeName: string | null
  shape: Shape
}

/** A whole operation. `size`: how many fields it has, those of fragments counted wherever they are spread. */
export type Plan = {
  operation: OperationDefinitionNode
  fragments: Record<string, FragmentDefinitionNode>
  fields: readonly FieldPlan[]
  size: number
}

/** Fields of one plan: beyond them the document is run by graphql, whose work grows with the answer only. */
const planFieldsMax = 600

/** Thrown where a document holds something that is left to graphql. */
class NotPlanned extends Error {}

/**
 * Works out a valid document's only operation; null for what is left to graphql's own execution: several operations,
 * directives, which differ from run to run, interfaces and unions, which differ from object to object, the schema's own
 * fields, and what is very large.
 */
export function planOperation(schema: GraphQLSchema, document: DocumentNode): Plan | null {
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const [operation] = operations
  const root = operation && schema.getRootType(operation.operation)
  if (
    operations.length !== 1 ||
    !operation ||
    !root ||
    operation.operation === 'subscription' ||
    hasDirectives(document)
  )
    return null
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null) as never // as graphql keeps them
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
  const planner = new Planner(schema, fragments)
  try {
    const fields = planner.fieldsOf(root, collectFields(schema, fragments, {}, root, operation.selectionSet))
    return { operation, fragments, fields, size: planner.size }
  } catch (error) {
    if (error instanceof NotPlanned) return null
    throw error
  }
}

function hasDirectives(document: DocumentNode): boolean {
  let found = false
  visit(document, {
    Directive: () => {
      found = true
      return BREAK
    },
  })
  return found
}

class Planner {
  size = 0
  readonly #schema: GraphQLSchema
  readonly #fragments: Record<string, FragmentDefinitionNode>

  constructor(schema: GraphQLSchema, fragments: Record<string, FragmentDefinitionNode>) {
    this.#schema = schema
    this.#fragments = fragments
  }

  fieldsOf(parent: GraphQLObjectType, collected: ReadonlyMap<string, readonly FieldNode[]>): FieldPlan[] {
    return [...collected].map(([key, nodes]) => this.#field(parent, key, nodes))
  }

  #field(parent: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): FieldPlan {
    const name = nodes[0]?.name.value ?? ''
    const isTypeName = name === '__typename'
    const definition = isTypeName ? typeNameField : parent.getFields()[name]
    // An answer's key of this name would change its prototype.
    if (++this.size > planFieldsMax || !definition || key === '__proto__') throw new NotPlanned()
    return {
      key,
      name,
      nodes,
      parent,
      definition,
      resolve: definition.resolve ?? null,
      takesArguments: definition.args.length > 0,
      typeName: isTypeName ? parent.name : null,
      shape: this.#shape(definition.type, nodes),
    }
  }

  #shape(type: GraphQLOutputType, nodes: readonly FieldNode[]): Shape {
    const required = isNonNullType(type)
    const inner = getNullableType(type)
    const shape = { required, serialize: null, items: null, fields: null, isTypeOf: null, type: inner }
    if (isLeafType(inner)) return { ...shape, serialize: serializerOf(inner) }
    if (isListType(inner)) return { ...shape, items: this.#shape(inner.ofType as GraphQLOutputType, nodes) } // a list of an output type
    if (!isObjectType(inner)) throw new NotPlanned()
    return {
      ...shape,
      isTypeOf: inner.isTypeOf ?? null,
      fields: this.fieldsOf(inner, collectSubfields(this.#schema, this.#fragments, {}, inner, nodes)),
    }
  }
}

/** `__typename` as far as a plan looks at it. */
const typeNameField: GraphQLField<unknown, unknown> = {
  name: '__typename',
  description: null,
  type: GraphQLString,
  args: [],
  deprecationReason: null,
  extensions: {},
  astNode: null,
}

const int32 = 2 ** 31

/** The type's own serialization, with a look first for what it would answer unchanged. */
function serializerOf(type: GraphQLLeafType): (value: unknown) => unknown {
  const slow = (value: unknown): unknown => type.serialize(value)
  switch (type) {
    case GraphQLString:
    case GraphQLID:
      return (value) => (typeof value === 'string' ? value : slow(value))
    case GraphQLBoolean:
      return (value) => (typeof value === 'boolean' ? value : slow(value))
    case GraphQLInt:
      return (value) =>
        typeof value === 'number' && Number.isInteger(value) && value < int32 && value >= -int32 ? value : slow(value)
    case GraphQLFloat:
      return (value) => (typeof value === 'number' && Number.isFinite(value) ? value : slow(value))
    default:
      return slow
  }
}
