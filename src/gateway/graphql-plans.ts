/**
 * Execution plans: what an operation selects, computed once: for each field its resolver, its type and its subfields.
 * Executing it is then a walk through lists (graphql-runs.ts), where graphql's own execution looks all of that up for
 * every object.
 *
 * This is our own and not a compiler, because graphql-jit writes texts of the document into code that it evaluates (a
 * crafted string runs as code), turns absent variables inside literals into null, and never ends after some wrong
 * arguments.
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

/**
 * How a field's value becomes a part of the answer: `items` for a list, `fields` for an object with a check of its
 * type, `serialize` for a leaf.
 */
export type Shape = {
  required: boolean
  serialize: ((value: unknown) => unknown) | null
  items: Shape | null
  fields: readonly FieldPlan[] | null
  isTypeOf: GraphQLIsTypeOfFn<unknown, unknown> | null
  type: GraphQLOutputType
}

/** One field of the answer. `typeName` is set for `__typename`, and is the name. */
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

/** A whole operation. `size`: its number of fields, counting those of fragments at every spread. */
export type Plan = {
  operation: OperationDefinitionNode
  fragments: Record<string, FragmentDefinitionNode>
  fields: readonly FieldPlan[]
  size: number
}

/** The maximum fields of a plan: larger documents are executed by graphql, whose work depends only on the answer. */
const planFieldsMax = 600

/** Thrown for something in a document that is left to graphql. */
class NotPlanned extends Error {}

/**
 * Plans the only operation of a valid document; null for what is left to graphql's own execution: several operations,
 * directives (which differ between runs), interfaces and unions (which differ between objects), introspection, and very
 * large operations.
 */
export function planOperation(schema: GraphQLSchema, document: DocumentNode): Plan | null {
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const [operation] = operations
  const root = operation && schema.getRootType(operation.operation)
  if (operations.length !== 1 || !operation || !root || hasDirectives(document)) return null
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null) as never // in graphql's own form
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
    // A key of this name would change the answer's prototype.
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

/** `__typename`, with what a plan needs of it. */
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

/** The type's own serialization, after a quick check for values that it would return unchanged. */
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
