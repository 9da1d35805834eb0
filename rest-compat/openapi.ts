/** OpenAPI 3.1, made from the documents and the schema they fit: the description cannot say anything else than the code. */
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  typeFromAST,
  type FieldNode,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type SelectionSetNode,
  type VariableDefinitionNode,
} from 'graphql'
import { memberWord, tagOf, wireFields } from '#schema/wire.ts'
import { listVariables, type RestList } from './lists.ts'
import type { HandWritten, Route, Surface } from './routes.ts'
import type { Operation, Runner } from './run.ts'
import { filledByPath, filledByQuery } from './inputs.ts'

type Json = Record<string, unknown>

const scalars: Readonly<Record<string, Json>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
  TextMap: { type: 'object', additionalProperties: { type: 'string' } },
  TextMapPatch: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
  BigInt: { type: 'integer' },
  Decimal: { type: 'string' },
  JSON: {},
  Bytes: { type: 'string', contentEncoding: 'base64' },
  ByteList: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } },
}
const meanings: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Missing or invalid credentials',
  402: 'No active plan or credits',
  403: 'Not permitted',
  404: 'Absent, or not yours',
  409: 'Conflict',
  413: 'Body too large',
  429: 'Too many requests',
  500: 'Internal failure',
  502: 'Upstream or VM unreachable',
  503: 'Capacity or a dependency is unavailable',
  504: 'Timed out',
}
/** Answered by every operation, listed or not: anybody can be refused, and anybody can ask too often. */
const errorsOfAll = [400, 401, 403, 413, 429, 500]
/** Answered where a request may have an Idempotency-Key: it was used for another, or that is still at work. */
const errorsOfKeyed = [409]

/** The OpenAPI document of a surface. */
export function describeSurface(surface: Surface, runner: Runner, publicUrl: string): Json {
  const paths: Record<string, Json> = {}
  for (const [key, route] of Object.entries(surface.routes)) {
    const [method = '', path = ''] = key.split(' ')
    const operation = runner.prepare(route.operation)
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: describeRoute(method, path, route, operation, runner.schema),
    }
  }
  for (const [key, written] of Object.entries(surface.handlers)) {
    const [method = '', path = ''] = key.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeHandWritten(method, path, written) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: surface.title,
      version: '1.0',
      description: 'Identifiers are strings with a type prefix; moments are RFC 3339, UTC, three fractional digits.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl + surface.mount }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A person’s token, which is a JWT; or an organization key, where its scopes reach.',
        },
      },
      schemas: { Error: errorSchema(surface) },
    },
  }
}

function describeRoute(method: string, path: string, route: Route, operation: Operation, schema: GraphQLSchema): Json {
  const { definition } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  const declared = definition.variableDefinitions ?? []
  const isSpecial = (name: string): boolean =>
    (name === 'filter' && route.filter !== undefined) || (route.list !== undefined && listVariables.has(name))
  const variables = declared.filter(
    ({ variable }) => !inPath.includes(variable.name.value) && !isSpecial(variable.name.value),
  )
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const inQuery = variables.filter((one) => !hasBody || route.query?.includes(one.variable.name.value))
  const inBody = variables.filter((one) => !inQuery.includes(one))
  const deleted = {
    description: 'Done, for a request with the header anthropic-beta',
    content: { 'application/json': { schema: deletedSchema(route.deletes ?? '') } },
  }
  const responses: Json = {
    [route.status]: describeSuccess(route, operation, schema),
    ...(route.deletes ? { 200: deleted } : {}),
    ...(route.ends ? { 204: { description: 'Nothing follows: the stream had ended here' } } : {}),
    ...describeErrors(method === 'POST' ? [...route.errors, ...errorsOfKeyed] : route.errors),
  }
  return {
    operationId: operationId(method, path),
    summary: route.summary,
    ...(route.additive ? { 'x-berth-additive': true } : {}),
    ...(route.open ? { security: [] } : {}),
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...inQuery.map((one) => ({
        name: route.queryNames?.[one.variable.name.value] ?? one.variable.name.value,
        in: 'query',
        required: one.type.kind === Kind.NON_NULL_TYPE,
        schema: inputSchema(typeOf(one, schema)),
      })),
      ...inputParameters(route, declared, schema),
      ...filterParameters(route, declared, schema),
      ...(route.list ? listSchemas(route.list) : []),
      ...(route.tokenInQuery
        ? [
            {
              name: 'token',
              in: 'query',
              required: false,
              description:
                'The credential, for a browser’s EventSource, which sends no headers; Authorization goes before it',
              schema: { type: 'string' },
            },
          ]
        : []),
      ...(route.cursor ? [{ name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } }] : []),
      ...(method === 'POST' ? [idempotencyKey] : []),
    ],
    ...requestBody(inBody, inPath, route, declared, schema),
    responses,
  }
}

/** The parameters of the query that fill fields of the input. */
function inputParameters(route: Route, declared: readonly VariableDefinitionNode[], schema: GraphQLSchema): Json[] {
  const type = inputTypeOf(declared, schema)
  if (!type) return []
  return filledByQuery(route, type, namesOf(declared)).map(({ parameter, field }) => {
    const { description, type: shape } = type.getFields()[field] ?? {}
    return { name: parameter, in: 'query', required: false, description, schema: shape ? inputSchema(shape) : {} }
  })
}

function inputTypeOf(
  declared: readonly VariableDefinitionNode[],
  schema: GraphQLSchema,
): GraphQLInputObjectType | undefined {
  const variable = declared.find((one) => one.variable.name.value === 'input')
  const type = variable && getNamedType(typeOf(variable, schema))
  return isInputObjectType(type) ? type : undefined
}

function namesOf(declared: readonly VariableDefinitionNode[]): Set<string> {
  return new Set(declared.map((one) => one.variable.name.value))
}

function filterParameters(
  { filter }: Route,
  declared: readonly VariableDefinitionNode[],
  schema: GraphQLSchema,
): Json[] {
  const variable = declared.find((one) => one.variable.name.value === 'filter')
  const type = variable && getNamedType(typeOf(variable, schema))
  if (!filter || !isInputObjectType(type)) return []
  return Object.entries(filter).map(([name, field]) => {
    const { description, type: shape } = type.getFields()[field] ?? {}
    return { name, in: 'query', required: false, description, schema: shape ? inputSchema(shape) : {} }
  })
}

function listSchemas({ shape, most, usual, order }: RestList): Json[] {
  const limit = { type: 'integer', minimum: 1, maximum: most, default: usual }
  const page = { type: 'string', description: '`next_page` of the page before' }
  return [
    { name: 'limit', in: 'query', required: false, schema: limit },
    ...(shape === 'rows' ? [] : [{ name: 'page', in: 'query', required: false, schema: page }]),
    ...(order
      ? [{ name: 'order', in: 'query', required: false, schema: { type: 'string', enum: ['asc', 'desc'] } }]
      : []),
  ]
}

function requestBody(
  inBody: readonly VariableDefinitionNode[],
  inPath: readonly string[],
  route: Route,
  declared: readonly VariableDefinitionNode[],
  schema: GraphQLSchema,
): Json {
  const named = inputTypeOf(inBody, schema)
  if (!named) {
    if (inBody.length === 0) return {}
    const required = inBody.some((one) => one.type.kind === Kind.NON_NULL_TYPE)
    return { requestBody: { required, content: { 'application/json': { schema: bodySchema(inBody, route, schema) } } } }
  }
  if (route.bodyInto)
    return { requestBody: { required: true, content: { 'application/json': { schema: route.body ?? {} } } } }
  const filled = [...filledByPath(inPath, route, namesOf(declared)), ...filledByQuery(route, named, namesOf(declared))]
  const whole = inputObjectSchema(named, new Set(filled.map(({ field }) => field)), route.neverNull)
  if (Object.keys(whole['properties'] as Json).length === 0) return {}
  return { requestBody: { required: 'required' in whole, content: { 'application/json': { schema: whole } } } }
}

function deletedSchema(kind: string): Json {
  return {
    type: 'object',
    properties: { id: { type: 'string' }, type: { type: 'string', enum: [`${kind}_deleted`] } },
    required: ['id', 'type'],
  }
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function describeErrors(statuses: readonly number[]): Json {
  const described = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
  return Object.fromEntries(
    [...new Set([...statuses, ...errorsOfAll])]
      .sort((one, other) => one - other)
      .map((status) => [status, { description: meanings[status] ?? 'Error', ...described }]),
  )
}

function describeHandWritten(
  method: string,
  path: string,
  { status, errors, summary, request, responses, headers }: HandWritten,
): Json {
  const content = Object.fromEntries(Object.entries(responses).map(([mediaType, schema]) => [mediaType, { schema }]))
  const described = Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
  return {
    operationId: operationId(method, path),
    summary,
    parameters: [idempotencyKey],
    requestBody: { required: true, content: { 'application/json': { schema: request } } },
    responses: {
      [status]: { description: 'Success', headers: described, content },
      ...describeErrors([...errors, ...errorsOfKeyed]),
    },
  }
}

function describeSuccess(route: Route, { definition, bodyAt }: Operation, schema: GraphQLSchema): Json {
  if (route.status === 204) return { description: 'Done; no body' }
  const root =
    definition.operation === 'query'
      ? schema.getQueryType()
      : definition.operation === 'mutation'
        ? schema.getMutationType()
        : schema.getSubscriptionType()
  if (!root) return { description: route.summary }
  const whole = selectionSchema(root, definition.selectionSet, schema)
  const at = bodyAt.reduce<Json>((one, key) => (one['properties'] as Json)[key] as Json, whole)
  const content = withEntriesBy(route.entriesBy, route.list ? listSchemaAt(route.list, at) : at)
  // A named frame has the event in its data, and the position in its id: see namedFrames in stream.ts.
  const shown = route.frames === 'named' ? (content['properties'] as Json)['event'] : content
  return {
    description: 'Success',
    content: {
      [definition.operation === 'subscription' ? 'text/event-stream' : 'application/json']: { schema: shown },
    },
  }
}

/** The body with the entries of its `data` shown by one key of theirs. */
function withEntriesBy(key: string | undefined, body: Json): Json {
  if (key === undefined) return body
  const { data = {}, ...rest } = body['properties'] as Record<string, Json>
  const { properties } = data['items'] as { properties: Json } // a list of objects
  return { ...body, properties: { ...rest, data: { ...data, items: properties[key] } } }
}

/** The documented list of what a document of a list selects. */
function listSchemaAt(list: RestList, selected: Json): Json {
  if (list.at === undefined) return listSchema(list, selected)
  const { [list.at]: connection, ...rest } = selected['properties'] as Record<string, Json>
  const listed = listSchema(list, connection as Json) // the document selects it
  return { ...selected, ...listed, properties: { ...rest, ...(listed['properties'] as Json) } }
}

/** The documented list of a connection. */
function listSchema({ shape, key, echoes }: RestList, connection: Json): Json {
  const data = (connection['properties'] as Json)['nodes']
  const used = echoes ? { limit: { type: 'integer' }, offset: { type: 'integer' } } : {}
  if (shape === 'rows')
    return key === undefined ? (data as Json) : { type: 'object', properties: { [key]: data, ...used } }
  const place = { type: ['string', 'null'] }
  const properties = { data, has_more: { type: 'boolean' }, next_page: place }
  return { type: 'object', properties: shape === 'page' ? properties : { ...properties, prev_page: place } }
}

function bodySchema(
  variables: readonly VariableDefinitionNode[],
  { neverNull = [], body }: Route,
  schema: GraphQLSchema,
): Json {
  const whole = variables.find((one) => one.variable.name.value === 'body')
  if (whole) return { ...inputSchema(typeOf(whole, schema)), ...body }
  const required = variables.filter((one) => one.type.kind === Kind.NON_NULL_TYPE).map((one) => one.variable.name.value)
  const shapeOf = (one: VariableDefinitionNode): Json =>
    neverNull.includes(one.variable.name.value)
      ? inputSchema(typeOf(one, schema))
      : bodyFieldSchema(typeOf(one, schema))
  return {
    type: 'object',
    properties: Object.fromEntries(variables.map((one) => [one.variable.name.value, shapeOf(one)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

function typeOf(variable: VariableDefinitionNode, schema: GraphQLSchema): GraphQLType {
  const type = typeFromAST(schema, variable.type)
  if (!type) throw new Error(`the variable ${variable.variable.name.value} has an unknown type`)
  return type
}

/** A field of a body: one that may be left out may be null too, which clears it where it is kept. */
function bodyFieldSchema(type: GraphQLType): Json {
  const shape = inputSchema(type)
  if (isNonNullType(type) || typeof shape['type'] !== 'string') return shape
  return {
    ...shape,
    type: [shape['type'], 'null'],
    ...(Array.isArray(shape['enum']) ? { enum: [...shape['enum'], null] } : {}),
  }
}

function inputSchema(type: GraphQLType): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType)
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType) }
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map((one) => one.value as string) }
  if (isInputObjectType(type)) return tagOf(type) ? taggedSchema(type) : inputObjectSchema(type)
  return isScalarType(type) ? (scalars[type.name] ?? {}) : {}
}

/** An input object as REST spells it. `without`: fields that the path fills. `neverNull`: keys that may be left out, but are no null. */
function inputObjectSchema(
  type: GraphQLInputObjectType,
  without: ReadonlySet<string> = new Set(),
  neverNull: readonly string[] = [],
): Json {
  const fields = wireFields(type).filter((field) => !without.has(field.name))
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => memberWord(type, field.name))
  const shapeOf = (field: GraphQLInputField): Json =>
    neverNull.includes(memberWord(type, field.name)) ? inputSchema(field.type) : bodyFieldSchema(field.type)
  const described = (field: GraphQLInputField): Json => ({
    ...shapeOf(field),
    ...(field.description ? { description: field.description } : {}),
  })
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [memberWord(type, field.name), described(field)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

/** A `@oneOf` input that REST shows as one object with a tag. */
function taggedSchema(type: GraphQLInputObjectType): Json {
  const tag = tagOf(type) ?? ''
  return {
    oneOf: Object.values(type.getFields()).map((field) => {
      const named = getNamedType(field.type)
      const word = { type: 'string', enum: [memberWord(type, field.name)] }
      if (!isInputObjectType(named))
        return { type: 'object', properties: { [tag]: word }, required: [tag], additionalProperties: false }
      const whole = inputObjectSchema(named)
      return {
        ...whole,
        properties: { [tag]: word, ...(whole['properties'] as Json) },
        required: [tag, ...((whole['required'] as string[] | undefined) ?? [])],
      }
    }),
  }
}

function outputSchema(type: GraphQLOutputType, selections: SelectionSetNode | undefined, schema: GraphQLSchema): Json {
  if (isNonNullType(type)) return outputSchema(type.ofType, selections, schema)
  const shape = isListType(type)
    ? { type: 'array', items: outputSchema(type.ofType, selections, schema) }
    : selections
      ? selectionSchema(getNamedType(type), selections, schema)
      : inputSchema(type)
  return shape
}

function selectionSchema(parent: GraphQLType, { selections }: SelectionSetNode, schema: GraphQLSchema): Json {
  const properties: Json = {}
  for (const selection of selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      const named = selection.typeCondition ? schema.getType(selection.typeCondition.name.value) : undefined
      if (named) Object.assign(properties, selectionSchema(named, selection.selectionSet, schema)['properties'])
    } else if (selection.kind === Kind.FIELD && selection.name.value !== '__typename') {
      properties[selection.alias?.value ?? selection.name.value] = fieldSchema(parent, selection, schema)
    }
  }
  return { type: 'object', properties }
}

function fieldSchema(parent: GraphQLType, selection: FieldNode, schema: GraphQLSchema): Json {
  const field = 'getFields' in parent ? parent.getFields()[selection.name.value] : undefined
  if (!field) throw new Error(`no field ${selection.name.value}`)
  const shape = outputSchema(field.type as GraphQLOutputType, selection.selectionSet, schema) // documents are validated: this is an output field
  const described = field.description ? { ...shape, description: field.description } : shape
  // A root field, and what stands beside others in a noun, may be null for its siblings' sake; alone in a REST document it is an error then, and no answer.
  const isRoot =
    parent === schema.getQueryType() || parent === schema.getMutationType() || selection.alias?.value === 'body'
  return isNonNullType(field.type) || isRoot || typeof described['type'] !== 'string'
    ? described
    : { ...described, type: [described['type'], 'null'] }
}

function errorSchema(surface: Surface): Json {
  if (surface.name === 'infra')
    return {
      type: 'object',
      properties: { error: { type: 'string' }, message: { type: 'string' } },
      required: ['error'],
    }
  if (surface.name === 'llm') {
    const texts = Object.fromEntries(
      ['type', 'code', 'message', 'request_id', 'service_id'].map((name) => [name, { type: 'string' }]),
    )
    return {
      type: 'object',
      properties: {
        error: { type: 'object', properties: { ...texts, param: { type: 'null' } }, required: Object.keys(texts) },
      },
      required: ['error'],
    }
  }
  const text = { type: 'string' }
  const error = {
    type: 'object',
    properties: { type: text, message: text, code: { ...text, description: 'The reason, for machines' } },
    required: ['type', 'message', 'code'],
  }
  return {
    type: 'object',
    properties: { type: { ...text, enum: ['error'] }, error, request_id: text },
    required: ['type', 'error', 'request_id'],
  }
}

function operationId(method: string, path: string): string {
  const words = path
    .replace(/[{}]/g, '')
    .split(/[/_-]/)
    .filter((word) => word && !['api', 'v1'].includes(word))
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
