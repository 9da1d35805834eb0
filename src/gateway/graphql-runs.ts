/**
 * Executes a plan (graphql-plans.ts), with the same answer as graphql's own execution: the same data, the same errors
 * at the same paths, the same order. Each step follows the specification (section 6, Execution); a test compares the
 * two on random documents.
 */
import {
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  locatedError,
  responsePathAsArray,
  type ExecutionResult,
  type GraphQLResolveInfo,
  type GraphQLSchema,
} from 'graphql'
import { inspect } from 'graphql/jsutils/inspect.js'
import type { FieldPlan, Plan, Selection, Shape } from './graphql-plans.ts'

type Path = GraphQLResolveInfo['path']
type MaybePromise<Value> = Value | Promise<Value>
type Answer = Record<string, unknown>

/** The arguments of an execution. `rootValue`: the event, of a subscription. */
export type RunParts = {
  schema: GraphQLSchema
  rootValue?: unknown
  contextValue?: unknown
  variableValues?: Readonly<Record<string, unknown>> | null | undefined
}

/** One execution. */
type Run = {
  schema: GraphQLSchema
  plan: Plan
  root: unknown
  context: unknown
  variables: Record<string, unknown>
  errors: GraphQLError[]
}

const variableFindingsMax = 50 // as graphql's own execution

/** Executes a plan. Every failure is in the answer. */
export function runPlan(
  plan: Plan,
  { schema, rootValue: root, contextValue: context, variableValues }: RunParts,
): MaybePromise<ExecutionResult> {
  const { variableDefinitions, operation } = plan.operation
  const read =
    variableDefinitions && variableDefinitions.length > 0
      ? getVariableValues(schema, variableDefinitions, variableValues ?? {}, { maxErrors: variableFindingsMax })
      : { coerced: {} }
  if (!read.coerced) return { errors: read.errors ?? [] }
  const run: Run = { schema, plan, root, context, variables: read.coerced, errors: [] }
  const failed = (error: unknown): ExecutionResult => {
    run.errors.push(error as GraphQLError) // located below
    return answerOf(run, null)
  }
  try {
    const data = operation === 'mutation' ? runInTurn(run, plan.fields) : runFields(run, plan.fields, root, undefined)
    return isPromise(data) ? data.then((value) => answerOf(run, value), failed) : answerOf(run, data)
  } catch (error) {
    return failed(error)
  }
}

function answerOf({ errors }: Run, data: Answer | null): ExecutionResult {
  return errors.length === 0 ? { data } : { errors, data }
}

/** Mutations run one after the other. */
async function runInTurn(run: Run, fields: readonly FieldPlan[]): Promise<Answer> {
  const answer: Answer = {}
  for (const field of fields) answer[field.key] = await runField(run, field, run.root, undefined)
  return answer
}

function runFields(
  run: Run,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): MaybePromise<Answer> {
  const answer: Answer = {}
  let waits = false
  try {
    for (const field of fields) {
      const value = runField(run, field, source, path)
      answer[field.key] = value
      if (isPromise(value)) waits = true
    }
  } catch (error) {
    // Resolvers that are already running end before the error is returned.
    if (waits)
      return resolved(answer).finally(() => {
        throw error
      }) as Promise<Answer>
    throw error
  }
  return waits ? resolved(answer) : answer
}

/** The same object, once all of its values are resolved. */
async function resolved(answer: Answer): Promise<Answer> {
  const keys = Object.keys(answer)
  const values = await Promise.all(Object.values(answer))
  for (let at = 0; at < keys.length; at++) answer[keys[at]!] = values[at] // as many values as keys
  return answer
}

function runField(run: Run, field: FieldPlan, source: unknown, parent: Path | undefined): unknown {
  const { resolve, shape, typeName } = field
  if (typeName !== null) return typeName
  const plain = resolve ? undefined : plainLeaf(shape, source, field.name)
  if (plain !== undefined) return plain
  let path: Path | undefined
  const place = (): Path => (path ??= { prev: parent, key: field.key, typename: field.parent.name })
  try {
    const value = resolve ? callResolver(run, field, source, place()) : readProperty(run, field, source, place)
    if (shape.serialize && !isPromise(value)) return serialized(field, shape, value)
    const completed: unknown = isPromise(value)
      ? value.then((settled) => complete(run, field, shape, settled, place()))
      : complete(run, field, shape, value, place())
    return isPromise(completed)
      ? completed.then(undefined, (error: unknown) => failedAt(run, field, shape, error, place()))
      : completed
  } catch (error) {
    return failedAt(run, field, shape, error, place())
  }
}

/** The value of a leaf that a row simply has; undefined for everything else, and for what fails. */
function plainLeaf({ serialize, required }: Shape, source: unknown, name: string): unknown {
  if (!serialize || typeof source !== 'object' || source === null) return undefined
  const value = (source as Record<string, unknown>)[name]
  if (value === null || value === undefined) return required ? undefined : null
  if (typeof value === 'object' || typeof value === 'function') return undefined
  try {
    return serialize(value) ?? undefined
  } catch {
    return undefined // tried once more, where the failure is told
  }
}

function callResolver(run: Run, field: FieldPlan, source: unknown, path: Path): unknown {
  // A resolver may change its arguments, so each call has its own.
  const given = field.takesArguments ? getArgumentValues(field.definition, field.nodes[0]!, run.variables) : {} // there is a node for each field
  return field.resolve?.(source, given, run.context, infoOf(run, field, path))
}

/** The same as graphql's default resolver. */
function readProperty(run: Run, field: FieldPlan, source: unknown, place: () => Path): unknown {
  if ((typeof source !== 'object' && typeof source !== 'function') || source === null) return undefined
  const value = (source as Record<string, unknown>)[field.name]
  if (typeof value !== 'function') return value
  const given = getArgumentValues(field.definition, field.nodes[0]!, run.variables) // there is a node for each field
  return (source as Record<string, (...given: unknown[]) => unknown>)[field.name]?.(
    given,
    run.context,
    infoOf(run, field, place()),
  )
}

function infoOf({ schema, plan, root, variables }: Run, field: FieldPlan, path: Path): GraphQLResolveInfo {
  return {
    fieldName: field.name,
    fieldNodes: field.nodes,
    returnType: field.definition.type,
    parentType: field.parent,
    path,
    schema,
    fragments: plan.fragments,
    rootValue: root,
    operation: plan.operation,
    variableValues: variables,
  }
}

function complete(run: Run, field: FieldPlan, shape: Shape, value: unknown, path: Path): unknown {
  if (shape.serialize) return serialized(field, shape, value)
  if (value instanceof Error) throw value
  if (value === null || value === undefined) return nothing(field, shape)
  if (shape.items) return list(run, field, shape.items, value, path)
  return shape.selection ? object(run, field, shape.selection, value, path) : member(run, field, shape, value, path)
}

/** A value of a union or an interface. */
function member(run: Run, field: FieldPlan, shape: Shape, value: unknown, path: Path): MaybePromise<Answer> {
  const go = (name: unknown): MaybePromise<Answer> => {
    const selection = shape.member(name)
    if (selection) return object(run, field, selection, value, path)
    throw new GraphQLError(
      `Abstract type "${String(shape.type)}" was resolved to ${inspect(name)}, which is none of its types, for field "${field.parent.name}.${field.name}".`,
      { nodes: field.nodes },
    )
  }
  const name: unknown = shape.typeOf?.(value, run.context, infoOf(run, field, placeOfField(path)), shape.type as never) // the type that it resolves
  return isPromise(name) ? name.then(go) : go(name)
}

function object(
  run: Run,
  field: FieldPlan,
  { type, fields }: Selection,
  value: unknown,
  path: Path,
): MaybePromise<Answer> {
  if (!type.isTypeOf) return runFields(run, fields(), value, path)
  const go = (isOne: boolean | undefined): MaybePromise<Answer> => {
    if (isOne) return runFields(run, fields(), value, path)
    throw new GraphQLError(`Expected value of type "${type.name}" but got: ${inspect(value)}.`, { nodes: field.nodes })
  }
  const isOne = type.isTypeOf(value, run.context, infoOf(run, field, placeOfField(path)))
  return isPromise(isOne) ? isOne.then(go) : go(isOne)
}

/** The path of a field, from that of an item of its list. */
function placeOfField(path: Path): Path {
  let place = path
  while (place.typename === undefined && place.prev) place = place.prev
  return place
}

function nothing({ parent, name }: FieldPlan, { required }: Shape): null {
  if (required) throw new Error(`Cannot return null for non-nullable field ${parent.name}.${name}.`)
  return null
}

function serialized(field: FieldPlan, shape: Shape, value: unknown): unknown {
  if (value === null || value === undefined) return nothing(field, shape)
  if (value instanceof Error) throw value
  const result = shape.serialize?.(value)
  if (result === null || result === undefined)
    throw new Error(
      `Expected \`${inspect(shape.type)}.serialize(${inspect(value)})\` to return non-nullable value, returned: ${inspect(result)}`,
    )
  return result
}

function list(run: Run, field: FieldPlan, items: Shape, values: unknown, path: Path): MaybePromise<unknown[]> {
  if (typeof values !== 'object' || values === null || !(Symbol.iterator in values))
    throw new GraphQLError(`Expected Iterable, but did not find one for field "${field.parent.name}.${field.name}".`)
  const answers: unknown[] = []
  let waits = false
  let index = 0
  try {
    for (const value of values as Iterable<unknown>) {
      const answer = item(run, field, items, value, { prev: path, key: index++, typename: undefined })
      if (isPromise(answer)) waits = true
      answers.push(answer)
    }
  } catch (error) {
    if (waits) void Promise.allSettled(answers) // an unhandled rejection would end the process
    throw error
  }
  return waits ? Promise.all(answers) : answers
}

function item(run: Run, field: FieldPlan, shape: Shape, value: unknown, path: Path): unknown {
  try {
    const completed: unknown = isPromise(value)
      ? value.then((settled) => complete(run, field, shape, settled, path))
      : complete(run, field, shape, value, path)
    return isPromise(completed)
      ? completed.then(undefined, (error: unknown) => failedAt(run, field, shape, error, path))
      : completed
  } catch (error) {
    return failedAt(run, field, shape, error, path)
  }
}

/** Null for a failed field if it is nullable; otherwise the failure propagates to its parent. */
function failedAt(run: Run, { nodes }: FieldPlan, { required }: Shape, thrown: unknown, path: Path): null {
  const error = locatedError(thrown, nodes, responsePathAsArray(path))
  if (required) throw error
  run.errors.push(error)
  return null
}

function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
