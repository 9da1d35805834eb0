/**
 * Reads the variables of a document from a request, by name: from the path, the query or the body. Parameters and keys
 * that no variable takes are refused by name.
 */
import type { FastifyRequest } from 'fastify'
import {
  getNamedType,
  getNullableType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type TypeNode,
} from 'graphql'
import { memberWord, wireFields } from '#schema/wire-names.ts'
import { fromWire, wirePaths } from '#schema/wire.ts'
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { bodyOf, filledByPath, filledByQuery, leftOut, wholeBody, wireKeys } from './inputs.ts'
import { changingMutation, refuseMutationsKey, type ChangingMutation } from './changing-mutations.ts'
import { listParameters, listVariables, readList } from './lists.ts'
import type { Route } from './routes.ts'
import type { Operation, Variables } from './run.ts'

type Source = 'path' | 'query' | 'body' | 'input' | 'filter' | 'list'
type Reader = {
  name: string
  source: Source
  queryName: string
  scalar: string
  list: boolean
  type: GraphQLInputType
}

const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])
const methodsThatChange = new Set(['PUT', 'PATCH'])

/**
 * Query parameters that clients add to every request and that mean nothing here, each with the client that sends it.
 */
export const ignoredParameters: Readonly<Record<string, string>> = { beta: 'Anthropic’s SDK' }

/**
 * Anthropic’s SDK uses this header to select one of several workspaces. If it were ignored, the answer would be about
 * another one.
 */
const workspaceHeader = 'anthropic-workspace-id'

/** Refuses a request that selects a workspace. @throws BerthError invalid_request. */
export function refuseWorkspace(headers: Readonly<Record<string, unknown>>): void {
  if (headers[workspaceHeader] === undefined) return
  throw new BerthError(
    'invalid_request',
    `Berth has no workspaces to select. Omit the header ${workspaceHeader} (workspace_id); a token belongs to one organization.`,
  )
}

/** What reading a route's requests needs. */
export type ReaderParts = {
  schema: GraphQLSchema
  /** Whether unknown parameters are ignored, as on the gateway, where many kinds of clients send their own. */
  lenient: boolean
}

/**
 * Makes the function that reads a route's variables, of the caller where there is one. An absent key stays absent, and null stays null:
 * they differ. The function throws BerthError invalid_request for a key of the query or the body that no variable takes.
 */
export function variableReader(
  method: string,
  path: string,
  route: Route,
  operation: Operation,
  { schema, lenient }: ReaderParts,
): (request: FastifyRequest, caller?: Caller) => Variables {
  const { definition } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  const readers: Reader[] = (definition.variableDefinitions ?? []).map(({ variable, type }) => {
    const name = variable.name.value
    const queryName = route.queryNames?.[name] ?? name
    const source = sourceOf(name, inputTypeOf(type, schema), method, inPath, route)
    return { name, source, queryName, ...shapeOf(type), type: inputTypeOf(type, schema) }
  })
  const changing = methodsThatChange.has(method) && !route.bodyInto ? changingMutation(schema, operation) : undefined
  const readInput = inputReader(inPath, route, readers, changing)
  const refuseUnknown = lenient ? undefined : unknownRefuser(readers, route)
  return (request, caller) => {
    refuseUnknown?.(request)
    const variables: Variables = {}
    for (const reader of readers) readOne(reader, request, variables, caller)
    if (readInput) variables['input'] = readInput(request, caller)
    if (route.filter) variables['filter'] = readFilter(route.filter, readers, request.query as Query) // Fastify's own shape of a query
    if (route.list) Object.assign(variables, readList(route.list, request.query as Query)) // as above
    if (route.cursor) {
      const position = request.headers['last-event-id'] // a browser that reconnects sends it with the first address
      if (typeof position === 'string' && position !== '') variables[route.cursor] = position
    }
    return variables
  }
}

type Query = Readonly<Record<string, string | string[]>>

function sourceOf(
  name: string,
  type: GraphQLInputType,
  method: string,
  inPath: readonly string[],
  route: Route,
): Source {
  if ((name === 'input' && isInputObjectType(getNamedType(type))) || (name === 'filter' && route.filter)) return name
  if (route.list && listVariables.has(name)) return 'list'
  if (inPath.includes(name)) return 'path'
  return route.query?.includes(name) || !methodsWithBody.has(method) ? 'query' : 'body'
}

/** The reader of a mutation's input: the body's keys, and the parameters of the path that no variable takes. */
function inputReader(
  inPath: readonly string[],
  route: Route,
  readers: readonly Reader[],
  changing: ChangingMutation | undefined,
): ((request: FastifyRequest, caller?: Caller) => Record<string, unknown>) | undefined {
  const type = readers.find(({ source }) => source === 'input')?.type
  if (!type) return undefined
  const variables = new Set(readers.map(({ name }) => name))
  const filled = filledByPath(inPath, route, variables)
  const named = getNamedType(type)
  if (!isInputObjectType(named)) throw new Error(`the input of ${route.summary} is no input object`)
  const queried = filledByQuery(route, named, variables)
  const elsewhere = new Set([...filled, ...queried].map(({ field }) => memberWord(named, field)))
  const taken = new Set(wireKeys(named)).difference(elsewhere)
  const nested = wirePaths(named).filter((path) => taken.has(path.replace(/[[.].*/s, '')))
  return ({ body, params, query }, caller) => {
    if (changing) refuseMutationsKey(body, taken, changing, nested)
    const given = route.bodyInto
      ? { [memberWord(named, route.bodyInto)]: wholeBody(body) }
      : bodyOf(body, taken, nested, inPath.length > 0)
    for (const key of route.always ?? []) {
      if (Object.hasOwn(given, key) && (given as Record<string, unknown>)[key] !== null) continue
      const field = wireFields(named).find(({ name }) => memberWord(named, name) === key)
      throw leftOut(key, key, field?.type ?? type, caller)
    }
    for (const key of route.present ?? [])
      if (!Object.hasOwn(given, key))
        throw new BerthError('invalid_request', `${key} is required here; it may be null.`, { field: key })
    const read = fromWire(given, type, '') as Record<string, unknown> // a JSON object becomes one
    for (const { parameter, field } of queried) {
      const value = (query as Query)[parameter] // Fastify's own shape of a query
      if (value === undefined) continue
      const shape = named.getFields()[field]?.type ?? type
      read[field] = fromWire(fromText(parameter, value, getNamedType(shape).name, false), shape, parameter)
    }
    for (const { parameter, field } of filled) read[field] = (params as Record<string, string>)[parameter] // Fastify's own shape of path parameters
    return read
  }
}

function readFilter(
  filter: NonNullable<Route['filter']>,
  readers: readonly Reader[],
  query: Query,
): Record<string, unknown> {
  const type = getNamedType(readers.find(({ source }) => source === 'filter')?.type)
  if (!isInputObjectType(type)) throw new Error('a route with a filter has a variable $filter of an input object')
  const read: Record<string, unknown> = {}
  for (const [parameter, name] of Object.entries(filter)) {
    const field = type.getFields()[name]
    if (!field) throw new Error(`${type.name} has no field ${name}`)
    const plain = parameter.replace(/\[\]$/, '')
    if (plain !== parameter && query[parameter] !== undefined && query[plain] !== undefined)
      throw new BerthError('invalid_request', `${parameter} and ${plain} are the same parameter. Give one of them.`)
    const value = query[parameter] ?? query[plain]
    if (value === undefined) continue
    const scalar = getNamedType(field.type).name
    read[name] = fromWire(
      fromText(parameter, value, scalar, isListType(getNullableType(field.type))),
      field.type,
      parameter,
    )
  }
  return read
}

function unknownRefuser(readers: readonly Reader[], route: Route): (request: FastifyRequest) => void {
  const inQuery = readers.filter(({ source }) => source === 'query')
  const filtered = Object.keys(route.filter ?? {})
  const parameters = new Set([
    ...filtered.flatMap((name) => [name, name.replace(/\[\]$/, '')]),
    ...(route.list ? listParameters(route.list) : []),
    ...inQuery.flatMap(({ name, queryName }) => [queryName, name]),
    ...(route.query ?? []),
    ...(route.tokenInQuery ? ['token'] : []),
    ...Object.keys(ignoredParameters),
  ])
  const fields = new Set(readers.filter(({ source }) => source === 'body').map(({ name }) => name))
  const hasInput = readers.some(({ source }) => source === 'input')
  const suggested = [
    ...inQuery.map(({ queryName }) => queryName),
    ...filtered,
    ...(route.list ? listParameters(route.list) : []),
    ...(route.query ?? []),
    ...(route.tokenInQuery ? ['token'] : []),
  ]
  return ({ query, body, headers }) => {
    refuseWorkspace(headers)
    const parameter = findUnknownKey(query as object, parameters) // Fastify's own shape of a query
    if (parameter !== undefined)
      throw new BerthError('invalid_request', unknownKeySentence('query parameter', parameter, suggested))
    if (hasInput || body === undefined || body === null) return
    if (typeof body !== 'object' || Array.isArray(body))
      throw new BerthError(
        'invalid_request',
        fields.size > 0 ? 'The body must be a JSON object.' : 'This request takes no body. Send none.',
      )
    const field = findUnknownKey(body, fields)
    if (field !== undefined) throw new BerthError('invalid_request', unknownKeySentence('field', field, fields))
  }
}

function readOne(
  { name, source, queryName, scalar, list, type }: Reader,
  request: FastifyRequest,
  variables: Variables,
  caller: Caller | undefined,
): void {
  if (source === 'path') {
    variables[name] = (request.params as Record<string, string>)[name] // Fastify's own shape of path parameters
  } else if (source === 'query') {
    const query = request.query as Record<string, string | string[]> // Fastify's own shape of a query
    if (queryName !== name && query[queryName] !== undefined && query[name] !== undefined)
      throw new BerthError('invalid_request', `${queryName} and ${name} are the same parameter. Give one of them.`)
    const value = query[queryName] ?? query[name]
    if (value !== undefined) variables[name] = fromWire(fromText(queryName, value, scalar, list), type, queryName)
    else if (isNonNullType(type)) throw leftOut(queryName, `The query parameter ${queryName}`, type, caller)
  } else if (source === 'body') {
    const { body } = request
    if (body === undefined) return
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw new BerthError('invalid_request', 'The body must be a JSON object.')
    if (Object.hasOwn(body, name)) variables[name] = fromWire((body as Record<string, unknown>)[name], type, name)
  }
}

function fromText(name: string, value: string | string[], scalar: string, list: boolean): unknown {
  if (list) return (Array.isArray(value) ? value : [value]).map((one) => fromText(name, one, scalar, false))
  if (Array.isArray(value)) throw new BerthError('invalid_request', `${name} is given more than once. Give it once.`)
  if (value.includes('\0')) throw new BerthError('invalid_request', `${name} contains a NUL character. Remove it.`)
  if (scalar === 'Int') {
    if (!/^-?\d{1,10}$/.test(value)) throw new BerthError('invalid_request', `${name} must be a whole number.`)
    return Number(value)
  }
  if (scalar === 'Boolean') {
    if (value === '1' || value === '0') return value === '1' // clients write replay=1
    if (value !== 'true' && value !== 'false') throw new BerthError('invalid_request', `${name} must be true or false.`)
    return value === 'true'
  }
  return value
}

function shapeOf(type: TypeNode): { scalar: string; list: boolean } {
  if (type.kind === Kind.NON_NULL_TYPE) return shapeOf(type.type)
  if (type.kind === Kind.LIST_TYPE) return { scalar: shapeOf(type.type).scalar, list: true }
  return { scalar: type.name.value, list: false }
}

function inputTypeOf(node: TypeNode, schema: GraphQLSchema): GraphQLInputType {
  const type: unknown = typeFromAST(schema, node as Parameters<typeof typeFromAST>[1]) // any type will do
  if (!isInputType(type)) throw new Error('a variable of a document has a type that variables cannot have')
  return type
}
