/** From a request to the variables of a document: by name, from the path, the query or the body. What no variable takes is refused by name. */
import type { FastifyRequest } from 'fastify'
import { getNamedType, isInputObjectType, Kind, typeFromAST, type GraphQLSchema, type TypeNode } from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { Route } from './routes.ts'
import type { Operation, Variables } from './run.ts'

type Source = 'path' | 'query' | 'body' | 'whole'
/** `fields`: the keys of the variable's object, or of each object in its list; undefined for what is no input object. */
type Reader = {
  name: string
  source: Source
  queryName: string
  scalar: string
  list: boolean
  fields: ReadonlySet<string> | undefined
}

const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])

/** Query parameters that clients add to whatever they ask, and that mean nothing here; by name, the client that sends it. */
export const ignoredParameters: Readonly<Record<string, string>> = { beta: 'Anthropic’s SDK' }

/** By this header Anthropic’s SDK asks for one of several workspaces; ignored, the answer would be about another one. */
const workspaceHeader = 'anthropic-workspace-id'

/** What a route is read with. */
export type ReaderParts = {
  schema: GraphQLSchema
  /** Whether parameters that nothing takes are ignored, as on the gateway, where clients of many kinds send what they like. */
  lenient: boolean
}

/**
 * Makes the function that reads a route's variables. An absent key stays absent, and null stays null: they differ.
 * What the function throws: BerthError invalid_request for a key of the query or the body that no variable takes.
 */
export function variableReader(
  method: string,
  path: string,
  route: Route,
  { definition }: Operation,
  { schema, lenient }: ReaderParts,
): (request: FastifyRequest) => Variables {
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
  const readers: Reader[] = (definition.variableDefinitions ?? []).map(({ variable, type }) => {
    const name = variable.name.value
    const source = inPath.has(name)
      ? 'path'
      : name === 'body'
        ? 'whole'
        : route.query?.includes(name) || !methodsWithBody.has(method)
          ? 'query'
          : 'body'
    return {
      name,
      source,
      queryName: route.queryNames?.[name] ?? name,
      ...shapeOf(type),
      fields: fieldsOf(type, schema),
    }
  })
  const refuseUnknown = lenient ? undefined : unknownRefuser(readers, route)
  return (request) => {
    refuseUnknown?.(request)
    const variables: Variables = {}
    for (const reader of readers) readOne(reader, request, variables)
    if (route.cursor) {
      const position = request.headers['last-event-id'] // a browser that reconnects sends it with the first address
      if (typeof position === 'string' && position !== '') variables[route.cursor] = position
    }
    return variables
  }
}

function unknownRefuser(readers: readonly Reader[], route: Route): (request: FastifyRequest) => void {
  const inQuery = readers.filter(({ source }) => source === 'query')
  const parameters = new Set([
    ...inQuery.flatMap(({ name, queryName }) => [queryName, name]),
    ...(route.tokenInQuery ? ['token'] : []),
    ...Object.keys(ignoredParameters),
  ])
  const inBody = readers.filter(({ source }) => source === 'body')
  const fields = new Set(inBody.map(({ name }) => name))
  const nested = inBody.flatMap(({ name, fields: known }) => (known ? [{ name, known }] : []))
  const isWhole = readers.some(({ source }) => source === 'whole')
  const suggested = inQuery.map(({ queryName }) => queryName)
  return ({ query, body, headers }) => {
    if (headers[workspaceHeader] !== undefined)
      throw new BerthError(
        'invalid_request',
        `There are no workspaces here, so none can be selected. Leave the header ${workspaceHeader} (workspace_id) out; a token is of one organization.`,
      )
    const parameter = findUnknownKey(query as object, parameters) // Fastify's own shape of a query
    if (parameter !== undefined)
      throw new BerthError('invalid_request', unknownKeySentence('query parameter', parameter, suggested))
    if (isWhole || body === undefined || body === null) return
    if (typeof body !== 'object' || Array.isArray(body))
      throw new BerthError(
        'invalid_request',
        fields.size > 0 ? 'The body must be a JSON object.' : 'This request takes no body. Leave it out.',
      )
    const field = findUnknownKey(body, fields)
    if (field !== undefined) throw new BerthError('invalid_request', unknownKeySentence('field', field, fields))
    for (const { name, known } of nested) refuseInside((body as Record<string, unknown>)[name], name, known)
  }
}

function refuseInside(value: unknown, place: string, known: ReadonlySet<string>): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) refuseInside(item, `${place}[${index}]`, known)
  } else if (typeof value === 'object' && value !== null) {
    const field = findUnknownKey(value, known)
    if (field !== undefined)
      throw new BerthError('invalid_request', unknownKeySentence('field', field, known, `${place}.`))
  }
}

function readOne(
  { name, source, queryName, scalar, list }: Reader,
  request: FastifyRequest,
  variables: Variables,
): void {
  if (source === 'path') {
    variables[name] = (request.params as Record<string, string>)[name] // Fastify's own shape of path parameters
  } else if (source === 'query') {
    const query = request.query as Record<string, string | string[]> // Fastify's own shape of a query
    if (queryName !== name && query[queryName] !== undefined && query[name] !== undefined)
      throw new BerthError('invalid_request', `${queryName} and ${name} are one parameter; give one of them.`)
    const value = query[queryName] ?? query[name]
    if (value !== undefined) variables[name] = fromText(queryName, value, scalar, list)
  } else if (source === 'whole') {
    if (request.body !== undefined) variables[name] = request.body
  } else {
    const { body } = request
    if (body === undefined) return
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw new BerthError('invalid_request', 'The body must be a JSON object.')
    if (Object.hasOwn(body, name)) variables[name] = (body as Record<string, unknown>)[name]
  }
}

function fromText(name: string, value: string | string[], scalar: string, list: boolean): unknown {
  if (list) return (Array.isArray(value) ? value : [value]).map((one) => fromText(name, one, scalar, false))
  if (Array.isArray(value)) throw new BerthError('invalid_request', `${name} is given more than once; give it once.`)
  if (value.includes('\0')) throw new BerthError('invalid_request', `${name} has a NUL character; take it out.`)
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

function fieldsOf(node: TypeNode, schema: GraphQLSchema): ReadonlySet<string> | undefined {
  const type = getNamedType(typeFromAST(schema, node as Parameters<typeof typeFromAST>[1])) // any type will do
  return isInputObjectType(type) ? new Set(Object.keys(type.getFields())) : undefined
}
