/** OpenAPI 3.1, generated from the GraphQL documents and the schema, so that it always agrees with the code. */
import { getNamedType, isInputObjectType, Kind, type GraphQLSchema, type VariableDefinitionNode } from 'graphql'
import { listVariables, type RestList } from './lists.ts'
import { describeSuccess } from './openapi/answers.ts'
import { createComponents, type Components, type Json } from './openapi/components.ts'
import { wireDescription } from './openapi/descriptions.ts'
import { describeErrors, errorSchema } from './openapi/errors.ts'
import { inputParameters, inputSchema, requestBody, typeOf } from './openapi/inputs.ts'
import { describeTags, tagOfPath, uniqueNames } from './openapi/names.ts'
import type { HandWritten, Route, Surface } from './routes.ts'
import type { Operation, Runner } from './run.ts'

/** The OpenAPI document of a surface. */
export function describeSurface(surface: Surface, runner: Runner, publicUrl: string): Json {
  const components = createComponents()
  components.add('Error', errorSchema(surface, components))
  const paths: Record<string, Json> = {}
  const tags = new Set<string>()
  const names = namesOf(surface, runner)
  const add = (key: string, describe: Describe): void => {
    const [method = '', path = ''] = key.split(' ')
    const tag = tagOfPath(path)
    tags.add(tag)
    const operation = { operationId: names.get(key), tags: [tag], ...describe(method, path) }
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  for (const [key, route] of Object.entries(surface.routes)) {
    const operation = runner.prepare(route.operation)
    add(key, (method, path) => describeRoute(method, path, route, operation, { schema: runner.schema, components }))
  }
  for (const [key, written] of Object.entries(surface.handlers)) {
    const like = surface.routes[written.answersAs ?? '']
    const shown = like ? describeSuccess(like, runner.prepare(like.operation), runner.schema, components) : {}
    const content = shown['content'] as Json | undefined // of a route with a body
    add(key, (method, path) => describeHandWritten(method, path, written, { content, components }))
  }
  const finished = components.finish(paths)
  return {
    openapi: '3.1.0',
    info: {
      title: surface.title,
      version: '1.0',
      description:
        'Identifiers are strings with a type prefix. Times are RFC 3339 in UTC with three fractional digits.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl + surface.mount }],
    security: [{ bearer: [] }],
    tags: describeTags(tags),
    paths: finished.part,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A person’s token (a JWT), or an organization’s API key where its scopes allow.',
        },
      },
      schemas: finished.schemas,
    },
  }
}

/** The name of each operation, which is its document's. Where several share a name, documented paths go before ours. */
function namesOf({ routes, handlers }: Surface, runner: Runner): Map<string, string> {
  const unique = uniqueNames()
  const names = new Map(Object.entries(handlers).map(([key, { name }]) => [key, unique(name, '')]))
  const entries = Object.entries(routes)
  const isOurs = ([, { additive }]: (typeof entries)[number]): boolean => additive === true
  for (const [key, { operation }] of [...entries.filter((one) => !isOurs(one)), ...entries.filter(isOurs)]) {
    const name = runner.prepare(operation).definition.name?.value
    if (name === undefined) throw new Error(`the document of ${key} has no name, which would be the operation's`)
    names.set(key, unique(name, key.split(' ')[0] ?? ''))
  }
  return names
}

type Describe = (method: string, path: string) => Json
type Parts = { schema: GraphQLSchema; components: Components }

function describeRoute(method: string, path: string, route: Route, operation: Operation, parts: Parts): Json {
  const { definition } = operation
  const inPath = namesInPath(path)
  const declared = definition.variableDefinitions ?? []
  const isSpecial = (name: string): boolean =>
    (name === 'filter' && route.filter !== undefined) || (route.list !== undefined && listVariables.has(name))
  const variables = declared.filter(
    ({ variable }) => !inPath.includes(variable.name.value) && !isSpecial(variable.name.value),
  )
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const inQuery = variables.filter(
    ({ variable: { name } }) => name.value !== 'input' && (!hasBody || route.query?.includes(name.value)),
  )
  const inBody = variables.filter((one) => !inQuery.includes(one))
  const deleted = {
    description: 'Deleted; for a request with the header anthropic-beta',
    content: { 'application/json': { schema: deletedSchema(route.deletes ?? '') } },
  }
  return {
    summary: route.summary,
    ...(route.additive ? { 'x-berth-additive': true } : {}),
    ...(route.open ? { security: [] } : {}),
    parameters: [
      ...parametersInPath(path),
      ...inQuery.map((one) => ({
        name: route.queryNames?.[one.variable.name.value] ?? one.variable.name.value,
        in: 'query',
        required: one.type.kind === Kind.NON_NULL_TYPE,
        schema: inputSchema(typeOf(one, parts.schema), parts.components),
      })),
      ...inputParameters(route, declared, parts),
      ...filterParameters(route, declared, parts),
      ...(route.list ? listParameters(route.list) : []),
      ...(route.tokenInQuery ? [tokenParameter] : []),
      ...(route.cursor ? [{ name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } }] : []),
      ...(method === 'POST' ? [idempotencyKey] : []),
    ],
    ...requestBody(inBody, inPath, route, declared, parts),
    responses: {
      [route.status]: describeSuccess(route, operation, parts.schema, parts.components),
      ...(route.deletes ? { 200: deleted } : {}),
      ...(route.found
        ? {
            [route.found.status]: {
              ...describeSuccess(route, operation, parts.schema, parts.components),
              description: route.found.summary,
            },
          }
        : {}),
      ...(route.ends ? { 204: { description: 'Nothing follows: the stream has ended at this cursor' } } : {}),
      ...describeErrors(route.errors, method === 'POST'),
    },
  }
}

function namesInPath(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
}

function parametersInPath(path: string): Json[] {
  return namesInPath(path).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function filterParameters(
  { filter }: Route,
  declared: readonly VariableDefinitionNode[],
  { schema, components }: Parts,
): Json[] {
  const variable = declared.find((one) => one.variable.name.value === 'filter')
  const type = variable && getNamedType(typeOf(variable, schema))
  if (!filter || !isInputObjectType(type)) return []
  const nameOf = (field: string): string => Object.entries(filter).find((one) => one[1] === field)?.[0] ?? field
  return Object.entries(filter).map(([name, field]) => {
    const { description, type: shape } = type.getFields()[field] ?? {}
    return {
      name,
      in: 'query',
      required: false,
      description: wireDescription(description, Object.values(type.getFields()), nameOf),
      schema: shape ? inputSchema(shape, components) : {},
    }
  })
}

function listParameters({ shape, most, usual, order }: RestList): Json[] {
  const limit = { type: 'integer', minimum: 1, maximum: most, default: usual }
  const place = (name: string, description: string): Json => ({
    name,
    in: 'query',
    required: false,
    schema: { type: 'string', description },
  })
  const places = {
    rows: [],
    page: [place('page', '`next_page` of the previous page')],
    pageBothWays: [place('page', '`next_page` of the previous page')],
    ids: [place('after_id', '`last_id` of the previous page'), place('before_id', '`first_id` of the next page')],
    after: [place('after', 'The `id` of the last entry of the previous page')],
  }[shape]
  return [
    { name: 'limit', in: 'query', required: false, schema: limit },
    ...places,
    ...(order
      ? [{ name: 'order', in: 'query', required: false, schema: { type: 'string', enum: ['asc', 'desc'] } }]
      : []),
  ]
}

function deletedSchema(kind: string): Json {
  return {
    type: 'object',
    properties: { id: { type: 'string' }, type: { type: 'string', enum: [`${kind}_deleted`] } },
    required: ['id', 'type'],
  }
}

const tokenParameter = {
  name: 'token',
  in: 'query',
  required: false,
  description:
    'The credential, for a browser’s EventSource, which sends no headers; the Authorization header takes precedence',
  schema: { type: 'string' },
}
const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function describeHandWritten(
  method: string,
  path: string,
  written: HandWritten,
  { content, components }: { content: Json | undefined; components: Components },
): Json {
  const { status, errors, summary, requests, responses, headers, parameters = [], otherAnswers = {} } = written
  const contentOf = (schemas: HandWritten['responses']): Json =>
    Object.fromEntries(
      Object.entries(schemas).map(([mediaType, schema]) => [mediaType, { schema: addTitled(schema, components) }]),
    )
  const isKeyed = method === 'POST' && !written.open
  const shown = Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
  return {
    summary,
    ...(written.takesSignedUrls ? { security: [{ bearer: [] }, {}] } : {}),
    ...(written.additive ? { 'x-berth-additive': true } : {}),
    ...(written.open ? { security: [] } : {}),
    parameters: [...parametersInPath(path), ...parameters, ...(isKeyed ? [idempotencyKey] : [])],
    ...(Object.keys(requests).length > 0 ? { requestBody: { required: true, content: contentOf(requests) } } : {}),
    responses: {
      [status]: { description: 'Success', headers: shown, content: { ...content, ...contentOf(responses) } },
      ...Object.fromEntries(Object.entries(otherAnswers).map(([other, description]) => [other, { description }])),
      ...describeErrors(errors, isKeyed, written.failure && addTitled(written.failure.schema, components)),
    },
  }
}

/** A schema that was written by hand, its titled parts kept as components. */
function addTitled(schema: unknown, components: Components): unknown {
  if (Array.isArray(schema)) return schema.map((one) => addTitled(one, components))
  if (typeof schema !== 'object' || schema === null) return schema
  const { title } = schema as Json // any object; that of an object's properties is a schema itself
  const rest = Object.entries(schema).filter(([key]) => key !== 'title' || typeof title !== 'string')
  const titled = Object.fromEntries(rest.map(([key, one]) => [key, addTitled(one, components)]))
  return typeof title === 'string' ? components.add(title, titled) : titled
}
