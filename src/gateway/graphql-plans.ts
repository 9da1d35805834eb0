/**
 * Execution plans: what an operation selects, computed once: for each field its resolver, its type and its subfields.
 * Executing it is then a walk through lists (graphql-runs.ts), where graphql's own execution looks all of that up for
 * every object. What is selected of an object is computed when the first of its type comes, so that a union of many
 * types costs what its values need.
 *
 * This is our own and not a compiler, because graphql-jit writes texts of the document into code that it evaluates (a
 * crafted string runs as code), turns absent variables inside literals into null, and never ends after some wrong
 * arguments.
 */
import {
  defaultTypeResolver,
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
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLTypeResolver,
  type OperationDefinitionNode,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'

/**
 * How a field's value becomes a part of the answer: `serialize` for a leaf, `items` for a list, `selection` for an
 * object, and for a union or an interface `typeOf`, which names the type of a value, and `member`, what is selected of
 * that type; null for a name that is none of the possible types.
 */
export type Shape = {
  required: boolean
  serialize: ((value: unknown) => unknown) | null
  items: Shape | null
  selection: Selection | null
  typeOf: GraphQLTypeResolver<unknown, unknown> | null
  member: (name: unknown) => Selection | null
  type: GraphQLOutputType
}

/** What is selected of the objects of one type. `fields` are planned when the first object is met. */
export type Selection = { type: GraphQLObjectType; fields: () => readonly FieldPlan[] }

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

/** A whole operation. */
export type Plan = {
  operation: OperationDefinitionNode
  fragments: Record<string, FragmentDefinitionNode>
  fields: readonly FieldPlan[]
}

/**
 * Plans the only operation of a valid document; null for what is left to graphql's own execution: several operations,
 * directives (which differ between runs), and introspection.
 * @param grown is called with the number of fields whenever some were planned, also while the plan is executed.
 */
export function planOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  grown: (fields: number) => void,
): Plan | null {
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const [operation] = operations
  const root = operation && schema.getRootType(operation.operation)
  if (operations.length !== 1 || !operation || !root || isLeftOut(document)) return null
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null) as never // in graphql's own form
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
  const fields = new Planner(schema, fragments, grown).fieldsOf(
    root,
    collectFields(schema, fragments, {}, root, operation.selectionSet),
  )
  return { operation, fragments, fields }
}

/** Whether there is a directive, introspection, or a key that would change the answer's prototype. */
function isLeftOut(document: DocumentNode): boolean {
  let found = false
  const leave = (): typeof BREAK => {
    found = true
    return BREAK
  }
  visit(document, {
    Directive: leave,
    Field: ({ name: { value: name }, alias }) =>
      alias?.value === '__proto__' || (name.startsWith('__') && name !== '__typename') ? leave() : undefined,
  })
  return found
}

class Planner {
  readonly #schema: GraphQLSchema
  readonly #fragments: Record<string, FragmentDefinitionNode>
  readonly #grown: (fields: number) => void

  constructor(
    schema: GraphQLSchema,
    fragments: Record<string, FragmentDefinitionNode>,
    grown: (fields: number) => void,
  ) {
    this.#schema = schema
    this.#fragments = fragments
    this.#grown = grown
  }

  fieldsOf(parent: GraphQLObjectType, collected: ReadonlyMap<string, readonly FieldNode[]>): FieldPlan[] {
    this.#grown(collected.size)
    return [...collected].map(([key, nodes]) => this.#field(parent, key, nodes))
  }

  #field(parent: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): FieldPlan {
    const name = nodes[0]?.name.value ?? ''
    const isTypeName = name === '__typename'
    const definition = isTypeName ? typeNameField : parent.getFields()[name]
    if (!definition) throw new Error(`a valid document has a field that there is not: ${parent.name}.${name}`)
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
    const shape = { required, serialize: null, items: null, selection: null, typeOf: null, member: none, type: inner }
    if (isLeafType(inner)) return { ...shape, serialize: serializerOf(inner) }
    if (isListType(inner)) return { ...shape, items: this.#shape(inner.ofType as GraphQLOutputType, nodes) } // a list of an output type
    if (isObjectType(inner)) return { ...shape, selection: this.#selection(inner, nodes) }
    const members = new Map<unknown, Selection>()
    const member = (name: unknown): Selection | null => {
      const known = members.get(name)
      if (known) return known
      const possible = typeof name === 'string' ? this.#schema.getType(name) : undefined
      if (!isObjectType(possible) || !this.#schema.isSubType(inner, possible)) return null
      const made = this.#selection(possible, nodes)
      members.set(name, made)
      return made
    }
    return { ...shape, typeOf: inner.resolveType ?? defaultTypeResolver, member }
  }

  #selection(type: GraphQLObjectType, nodes: readonly FieldNode[]): Selection {
    let fields: readonly FieldPlan[] | undefined
    return {
      type,
      fields: () => (fields ??= this.fieldsOf(type, collectSubfields(this.#schema, this.#fragments, {}, type, nodes))),
    }
  }
}

function none(): null {
  return null
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
