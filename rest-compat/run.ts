/**
 * Runs one GraphQL document in process, on the same resolvers as /graphql. This is the only file that knows mercurius,
 * whose compiled plans make a list five times cheaper here than plain execution.
 */
import fastify from 'fastify'
import {
  createSourceEventStream,
  execute,
  getOperationAST,
  isInputType,
  Kind,
  parse,
  typeFromAST,
  validate,
  type ExecutionResult,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import mercurius, { type MercuriusOptions } from 'mercurius'
import type { Context } from '#schema/builder.ts'
import { shownError } from '#schema/public-error.ts'
import { findWrongVariable, type WrongVariable } from '#schema/variables.ts'
import { typeInWords } from '#schema/wire-names.ts'
import { wirePlace } from '#schema/wire.ts'
import { BerthError } from '#src/platform/errors.ts'

/** A document, checked against the schema. */
export type Operation = {
  source: string
  document: DocumentNode
  definition: OperationDefinitionNode
  /** The keys of the data that lead to the field aliased `body`; none where the data is the body. */
  bodyAt: readonly string[]
}

/** Variables by the names that the document declares. */
export type Variables = Record<string, unknown>

/** The results made from events that all subscribers share; each is forgotten with its event. */
export type SharedEvents = WeakMap<object, Promise<Record<string, unknown>>>

/** Runs documents. */
export type Runner = {
  readonly schema: GraphQLSchema
  /** Parses and validates a document. @throws Error that names the problem: a bug, found at start. */
  prepare(source: string): Operation
  /** @throws BerthError for everything that went wrong. */
  execute(operation: Operation, variables: Variables, context: Context): Promise<Record<string, unknown>>
  /**
   * Follows a subscription.
   * @param shared what was made of events that are the same object for everyone; without it each is made anew.
   * @throws BerthError when it cannot start.
   */
  follow(
    operation: Operation,
    variables: Variables,
    context: Context,
    shared?: SharedEvents,
  ): Promise<AsyncIterableIterator<Record<string, unknown>>>
  close: () => Promise<void>
}

/** Compile a document on its second run; the first run is interpreted, and a test compares the two. */
const runsBeforeCompiling = 1

/** The documents of each schema that are validated: a start asks for each of them several times. */
const preparedBySchema = new WeakMap<GraphQLSchema, Map<string, Operation>>()

function prepare(schema: GraphQLSchema, source: string): Operation {
  const document = parse(source)
  const problems = validate(schema, document)
  const definition = getOperationAST(document)
  if (problems.length > 0 || !definition)
    throw new Error(
      `a REST document does not fit the schema: ${problems.map((one) => one.message).join(' ')}\n${source}`,
    )
  refuseVariablesInLiterals(document, source)
  return { source, document, definition, bodyAt: bodyAt(definition.selectionSet) }
}

/** Makes the runner of a schema. */
export async function createRunner(schema: GraphQLSchema): Promise<Runner> {
  const prepared = preparedBySchema.get(schema) ?? new Map<string, Operation>()
  preparedBySchema.set(schema, prepared)
  const inner = fastify()
  const options: MercuriusOptions & { compilerOptions: object } = {
    schema,
    routes: false,
    graphiql: false,
    jit: runsBeforeCompiling,
    // Resolvers return wire values, so leaves need no serialization, which makes compiled lists very fast.
    compilerOptions: { disableLeafSerialization: true, disablingCapturingStackErrors: true },
    errorFormatter: (execution) => ({ statusCode: 200, response: execution }), // as they are: shownError reads them
  }
  await inner.register(mercurius, options)
  await inner.ready()

  return {
    schema,
    prepare(source) {
      const known = prepared.get(source)
      if (known) return known
      const operation = prepare(schema, source)
      prepared.set(source, operation)
      return operation
    },
    async execute(operation, variables, context) {
      checkVariables(schema, operation, variables)
      const execution = await runWith(inner, operation, variables, context)
      const first = execution.errors?.[0]
      if (first) throw shownError(first, context.requestId)
      return (execution.data ?? {}) as Record<string, unknown> // an operation's data is an object
    },
    async follow(operation, variables, context, shared) {
      checkVariables(schema, operation, variables)
      const parts = { schema, document: operation.document, variableValues: variables, contextValue: context }
      const source = await createSourceEventStream(parts)
      if (!(Symbol.asyncIterator in source))
        throw shownError(source.errors?.[0] ?? new Error('a subscription without events'), context.requestId)
      const make = async (event: unknown): Promise<Record<string, unknown>> =>
        dataOf(await execute({ ...parts, rootValue: event }), context.requestId)
      return eventsMade(source, shared, make)
    },
    close: () => inner.close(),
  }
}

/** How far below the root `body` may be: in a payload, or in the noun that a payload has. */
const bodyDepthMax = 2

/** Where the field aliased `body` is. */
function bodyAt({ selections }: SelectionSetNode, depth = 0): string[] {
  for (const field of selections) {
    if (field.kind !== Kind.FIELD) continue
    const key = field.alias?.value ?? field.name.value
    if (key === 'body') return [key]
    const below = field.selectionSet && depth < bodyDepthMax ? bodyAt(field.selectionSet, depth + 1) : []
    if (below.length > 0) return [key, ...below]
  }
  return []
}

/** The body of an answer, in the data of its operation. */
export function bodyOf({ bodyAt: keys }: Operation, data: Record<string, unknown>): unknown {
  return keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], data) // fields of the document
}

type Inner = {
  graphql: (
    source: string,
    context?: Record<string, unknown>,
    variables?: Record<string, unknown>,
  ) => Promise<{ data?: unknown; errors?: readonly Error[] | undefined }>
}

async function runWith(
  inner: Inner,
  operation: Operation,
  variables: Variables,
  context: Context,
): Promise<{ data?: unknown; errors?: readonly Error[] | undefined }> {
  try {
    return await inner.graphql(operation.source, context, variables)
  } catch (error) {
    throw shownError(error, context.requestId)
  }
}

/** The source's events, each executed through the document; a shared event only once. */
async function* eventsMade(
  source: AsyncIterable<unknown>,
  shared: SharedEvents | undefined,
  make: (event: unknown) => Promise<Record<string, unknown>>,
): AsyncGenerator<Record<string, unknown>> {
  for await (const event of source) {
    if (!shared || typeof event !== 'object' || event === null) {
      yield await make(event)
      continue
    }
    let made = shared.get(event)
    if (!made) shared.set(event, (made = make(event)))
    yield await made
  }
}

function dataOf({ data, errors }: ExecutionResult, requestId: string): Record<string, unknown> {
  if (errors?.[0]) throw shownError(errors[0], requestId)
  return (data ?? {}) as Record<string, unknown> // an operation's data is an object
}

/**
 * Refuses wrong variables in our own words: graphql's sentences quote the value, which may be a secret.
 * @throws BerthError invalid_request naming the variable and what it should be.
 */
function checkVariables(schema: GraphQLSchema, { definition }: Operation, variables: Variables): void {
  const wrong = findWrongVariable(schema, definition.variableDefinitions ?? [], variables)
  if (!wrong) return
  const { fault, type } = wrong
  const at = placeOf(schema, wrong)
  if (fault === 'unknown')
    throw new BerthError('invalid_request', `${at} is not known here. Remove it, or check its spelling.`, {
      field: at,
    })
  throw new BerthError(
    'invalid_request',
    fault === 'absent' ? `${at} is required: it must be ${typeInWords(type)}.` : `${at} must be ${typeInWords(type)}.`,
    { field: at },
  )
}

/** The place of a fault in REST's terms: a mutation's input is the body, and a filter is the query. */
function placeOf(schema: GraphQLSchema, { definition, name, at }: WrongVariable): string {
  const type: unknown = typeFromAST(schema, definition.type as never) // graphql's types tell a list's node from a name's
  if ((name !== 'input' && name !== 'filter') || !isInputType(type)) return at
  return at === name ? 'The body' : wirePlace(at.slice(name.length + 1), type)
}

/** Refuses variables inside object literals: from the second run on, the compiler turns an absent one into null. */
function refuseVariablesInLiterals(document: DocumentNode, source: string): void {
  const inLiteral = (node: unknown, inside: boolean): boolean => {
    if (Array.isArray(node)) return node.some((one) => inLiteral(one, inside))
    if (typeof node !== 'object' || node === null || !('kind' in node)) return false
    if (node.kind === 'Variable') return inside
    return Object.entries(node).some(
      ([key, value]) => key !== 'loc' && inLiteral(value, inside || node.kind === 'ObjectValue'),
    )
  }
  if (inLiteral(document, false))
    throw new Error(`a REST document has a variable inside an object literal; pass flat arguments:\n${source}`)
}
