/**
 * Measures an operation before it runs: its depth, its aliases, its directives, and how many objects it may return. The
 * validation rules of libraries do not see variables, so `first: $n` and an omitted `first` would count as one object;
 * and they only run for HTTP, not for web sockets.
 */
import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/**
 * The size of an operation. `objects` is the most that the answer may count, judged by the document: 1 for each row of a list
 * that takes a size, and `besideCost` for an object beside one, or in a list of its own; `schemaAliases` are those on and inside `__schema`.
 */
export type OperationSize = {
  depth: number
  aliases: number
  directives: number
  objects: number
  /** How many of these are rows of lists. */
  rows: number
  schemaAliases: number
  readsSchema: boolean
  /** Of which field most of the objects are, as the path of the fields around it. */
  largest: { path: string; objects: number }
}

const directivesMax = 50
// graphql compares all selections of the same name with each other, so 500 of them would block the process for 75 ms.
const selectionsMax = 300
/** Of an object beside a row: it is read for all rows at once, or stands in the row itself. */
const besideCost = 0.25
const unsizedListObjects = 10 // the assumed size of a list without a size argument
const sizeArguments = ['first', 'last', 'limit', 'ids'] // `ids` counts as many as it names

/**
 * Refuses an operation beyond the limits of GraphQL (limits.ts).
 * @throws BerthError invalid_request saying which limit and what to do.
 */
export function refuseLarge({ depth, aliases, directives, objects, schemaAliases, largest }: OperationSize): void {
  const refuse = (sentence: string): never => {
    throw new BerthError('invalid_request', sentence)
  }
  if (depth > limits.graphqlDepth)
    refuse(`The operation is nested ${depth} levels deep; ${limits.graphqlDepth} are allowed. Select less at once.`)
  if (aliases > limits.graphqlAliases)
    refuse(`The operation has ${aliases} aliases; ${limits.graphqlAliases} are allowed. Send several operations.`)
  // Reading the whole schema takes some 20 ms, and an alias asks for all of it once more.
  if (schemaAliases > 0) refuse('__schema must be read without aliases. Remove them.')
  if (directives > directivesMax) refuse(`The operation has ${directives} directives; ${directivesMax} are allowed.`)
  if (objects > limits.graphqlCost)
    refuse(
      `The operation may return ${Math.ceil(objects)} objects; ${limits.graphqlCost} are allowed. Up to ${Math.ceil(largest.objects)} of them are of ${largest.path || 'one field'}: give it and the lists around it a smaller first (a list without one counts ${limits.connectionFirstDefault}), or read it in an operation of its own.`,
    )
}

/**
 * Refuses a document that would take long to validate, whatever its operations select.
 * @throws BerthError invalid_request.
 */
export function refuseLong(document: DocumentNode): void {
  const count = (set: SelectionSetNode | undefined): number =>
    set?.selections.reduce(
      (sum, one) => sum + 1 + count(one.kind === Kind.FRAGMENT_SPREAD ? undefined : one.selectionSet),
      0,
    ) ?? 0
  const selections = document.definitions.reduce(
    (sum, one) => sum + count('selectionSet' in one ? one.selectionSet : undefined),
    0,
  )
  if (selections > selectionsMax)
    throw new BerthError(
      'invalid_request',
      `The document has ${selections} fields and fragments; ${selectionsMax} are allowed. Send several documents.`,
    )
}

/** Measures one operation of a document. Unknown fields count as leaves: validation refuses them. */
export function measureOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): OperationSize {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  const defaults = new Map(
    (operation.variableDefinitions ?? []).map((one) => [one.variable.name.value, one.defaultValue]),
  )
  const numberOf = (value: ValueNode | undefined): number | undefined => {
    if (value?.kind === Kind.INT) return Number(value.value)
    if (value?.kind === Kind.LIST) return value.values.length
    if (value?.kind !== Kind.VARIABLE) return undefined
    const given = variables[value.name.value]
    return typeof given === 'number'
      ? given
      : Array.isArray(given)
        ? given.length
        : given === undefined
          ? numberOf(defaults.get(value.name.value))
          : undefined
  }
  const measure = new Measure(schema, fragments, numberOf)
  const size = measure.selections(operation.selectionSet, schema.getRootType(operation.operation) ?? undefined, null)
  return { ...size, directives: size.directives + (operation.directives?.length ?? 0) }
}

const nothing: OperationSize = {
  depth: 0,
  aliases: 0,
  directives: 0,
  objects: 0,
  rows: 0,
  schemaAliases: 0,
  readsSchema: false,
  largest: { path: '', objects: 0 },
}

class Measure {
  readonly #schema: GraphQLSchema
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly #numberOf: (value: ValueNode | undefined) => number | undefined
  // A fragment is measured once for each page size around it, so that nested spreads do not multiply the work.
  readonly #measured = new Map<string, OperationSize>()

  constructor(
    schema: GraphQLSchema,
    fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    numberOf: (value: ValueNode | undefined) => number | undefined,
  ) {
    this.#schema = schema
    this.#fragments = fragments
    this.#numberOf = numberOf
  }

  /** `pageSize`: the requested number of nodes of the connection around these selections. */
  selections(set: SelectionSetNode, parent: GraphQLNamedType | undefined, pageSize: number | null): OperationSize {
    let sum = nothing
    const alternatives = new Map<string, number>() // an object has one type, so only the selections of one type count
    for (const one of set.selections) {
      const own = one.directives?.length ?? 0
      const size =
        one.kind === Kind.FIELD
          ? this.#field(one, parent, pageSize)
          : one.kind === Kind.FRAGMENT_SPREAD
            ? this.#fragment(one.name.value, pageSize)
            : this.selections(
                one.selectionSet,
                one.typeCondition ? this.#schema.getType(one.typeCondition.name.value) : parent,
                pageSize,
              )
      const alternative = this.#alternativeOf(one, parent)
      if (alternative !== undefined) alternatives.set(alternative, (alternatives.get(alternative) ?? 0) + size.objects)
      sum = {
        depth: Math.max(sum.depth, size.depth),
        aliases: sum.aliases + size.aliases,
        directives: sum.directives + size.directives + own,
        objects: sum.objects + (alternative === undefined ? size.objects : 0),
        rows: sum.rows + size.rows,
        schemaAliases: sum.schemaAliases + size.schemaAliases,
        readsSchema: sum.readsSchema || size.readsSchema,
        largest: size.largest.objects > sum.largest.objects ? size.largest : sum.largest,
      }
    }
    return { ...sum, objects: sum.objects + Math.max(0, ...alternatives.values()) }
  }

  /** The type of an inline or named fragment, if it is one of several possible types; otherwise undefined. */
  #alternativeOf(one: SelectionNode, parent: GraphQLNamedType | undefined): string | undefined {
    if (one.kind === Kind.FIELD || !isAbstractType(parent)) return undefined
    const condition =
      one.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(one.name.value)?.typeCondition : one.typeCondition
    return condition && isObjectType(this.#schema.getType(condition.name.value)) ? condition.name.value : undefined
  }

  #fragment(name: string, pageSize: number | null): OperationSize {
    const key = `${name} ${pageSize}`
    const known = this.#measured.get(key)
    if (known) return known
    this.#measured.set(key, nothing) // a recursive fragment ends here; validation refuses it
    const fragment = this.#fragments.get(name)
    const size = fragment
      ? this.selections(fragment.selectionSet, this.#schema.getType(fragment.typeCondition.name.value), pageSize)
      : nothing
    this.#measured.set(key, size)
    return size
  }

  #field(node: FieldNode, parent: GraphQLNamedType | undefined, pageSize: number | null): OperationSize {
    const name = node.name.value
    const aliases = node.alias ? 1 : 0
    if (name.startsWith('__')) return this.#schemaField(node, aliases)
    const definition = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
    if (!node.selectionSet) return { ...nothing, depth: 1, aliases }
    const named = definition && getNamedType(definition.type)
    const isList = definition !== undefined && isListType(getNullableType(definition.type))
    const asked = this.#askedSize(node, definition?.args.map((one) => one.name) ?? [])
    const inside = this.selections(
      node.selectionSet,
      named && isCompositeType(named) ? named : undefined,
      isList ? null : asked,
    )
    const times = isList ? (asked ?? pageSize ?? sizeWithout(definition, inside.rows)) : 1
    const isOfEdge = name === 'node' && (parent?.name.endsWith('Edge') ?? false)
    const isRow = isOfEdge || (isList && (asked ?? pageSize) !== null)
    const itself = countOfItself(name, { isList, isRow, asked }, inside.objects)
    const largest = inside.largest.objects > itself ? inside.largest : { path: '', objects: itself }
    return {
      ...inside,
      depth: inside.depth + 1,
      aliases: inside.aliases + aliases,
      objects: times * (inside.objects + itself),
      rows: times * (inside.rows + (isRow ? 1 : 0)),
      largest: { path: pathOf(definition && name, largest.path), objects: times * largest.objects },
    }
  }

  /** Introspection fields; graphql's own rules limit their depth. */
  #schemaField(node: FieldNode, aliases: number): OperationSize {
    const inside = node.selectionSet ? this.selections(node.selectionSet, undefined, null) : nothing
    const isWhole = node.name.value === '__schema'
    return {
      ...nothing,
      depth: 1,
      aliases: aliases + inside.aliases,
      directives: inside.directives,
      schemaAliases: isWhole ? aliases + inside.aliases : 0,
      readsSchema: isWhole || (node.name.value === '__type' && !asksNameOnly(node)),
    }
  }

  /**
   * The requested size of a field: the default page size if it accepts a size and got none, null if it accepts none.
   */
  #askedSize(node: FieldNode, takes: readonly string[]): number | null {
    const given = node.arguments
      ?.filter((one) => sizeArguments.includes(one.name.value))
      .map((one) => this.#numberOf(one.value))
      .filter((one) => one !== undefined) // null means omitted: another size argument may be set
    if (given?.length) return Math.max(1, ...given)
    return takes.some((one) => sizeArguments.includes(one)) ? limits.connectionFirstDefault : null
  }
}

/** Parts of a connection, which a reader does not think of as fields of their own. */
const connectionParts: ReadonlySet<string> = new Set(['nodes', 'edges', 'node'])

/** The path of a field and of one inside it. Without a name it is none of the schema's, and is not quoted. */
function pathOf(name: string | undefined, inside: string): string {
  return [name === undefined || connectionParts.has(name) ? '' : name, inside].filter(Boolean).join('.')
}

/**
 * The assumed size of a list without a size argument: of one that may be long (`most` in its field's extensions) all of that,
 * where lists are read inside.
 */
function sizeWithout({ extensions }: Pick<GraphQLField<unknown, unknown>, 'extensions'>, rowsInside: number): number {
  const most = extensions['most']
  return typeof most === 'number' && rowsInside > 0 ? most : unsizedListObjects
}

/** What an object of this field adds: nothing for a connection whose nodes are counted, nor for an edge whose node is. */
function countOfItself(
  name: string,
  { isList, isRow, asked }: { isList: boolean; isRow: boolean; asked: number | null },
  inside: number,
): number {
  const isConnection = !isList && asked !== null
  if (inside > 0 && (isConnection || name === 'edges')) return 0
  return isRow || isConnection ? 1 : besideCost
}

/** Whether only the name of a type is selected, which costs nothing. */
function asksNameOnly({ selectionSet }: FieldNode): boolean {
  return (
    selectionSet?.selections.every(
      (one) => one.kind === Kind.FIELD && (one.name.value === 'name' || one.name.value === '__typename'),
    ) ?? false
  )
}
