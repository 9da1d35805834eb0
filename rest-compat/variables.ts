/** From a request to the variables of a document: by name, from the path, the query or the body. */
import type { FastifyRequest } from 'fastify'
import { Kind, type TypeNode } from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import type { Route } from './routes.ts'
import type { Operation, Variables } from './run.ts'

type Source = 'path' | 'query' | 'body' | 'whole'
type Reader = { name: string; source: Source; queryName: string; scalar: string; list: boolean }

const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])

/** Makes the function that reads a route's variables. An absent key stays absent, and null stays null: they differ. */
export function variableReader(method: string, path: string, route: Route, { definition }: Operation): (request: FastifyRequest) => Variables {
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
  const readers: Reader[] = (definition.variableDefinitions ?? []).map(({ variable, type }) => {
    const name = variable.name.value
    const source = inPath.has(name) ? 'path' : name === 'body' ? 'whole' : route.query?.includes(name) || !methodsWithBody.has(method) ? 'query' : 'body'
    return { name, source, queryName: route.queryNames?.[name] ?? name, ...shapeOf(type) }
  })
  return (request) => {
    const variables: Variables = {}
    for (const reader of readers) readOne(reader, request, variables)
    if (route.cursor) {
      const position = request.headers['last-event-id'] // a browser that reconnects sends it with the first address
      if (typeof position === 'string' && position !== '') variables[route.cursor] = position
    }
    return variables
  }
}

function readOne({ name, source, queryName, scalar, list }: Reader, request: FastifyRequest, variables: Variables): void {
  if (source === 'path') {
    variables[name] = (request.params as Record<string, string>)[name] // Fastify's own shape of path parameters
  } else if (source === 'query') {
    const query = request.query as Record<string, string | string[]> // Fastify's own shape of a query
    const value = query[queryName] ?? query[name]
    if (value !== undefined) variables[name] = fromText(queryName, value, scalar, list)
  } else if (source === 'whole') {
    if (request.body !== undefined) variables[name] = request.body
  } else {
    const { body } = request
    if (body === undefined) return
    if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new BerthError('invalid_request', 'The body must be a JSON object.')
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
    if (value === '1' || value === '0') return value === '1' // as decisions.md §6.2 writes replay=1
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
