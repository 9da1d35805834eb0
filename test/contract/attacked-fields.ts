/** Every place where a caller may put text, found in the schema and in the descriptions of REST: new ones are in by themselves. */
import {
  getNullableType,
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLInt,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  type GraphQLArgument,
  type GraphQLInputType,
} from 'graphql'
import { surfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { limits } from '#src/platform/limits.ts'
import { agentsRows } from './matrix/agents.ts'
import { fillOf, timesIn } from './attack-texts.ts'
import { fill, type Target } from './callers.ts'
import { documentOf, rootFields } from './documents.ts'
import { gatewayRows, graphqlRows, restRows, type RestRow } from './matrix.ts'

/** A request with a text in one place. */
export type Attack = { path: string; method: string; body?: string | Buffer<ArrayBuffer> }

/**
 * One place: what it is called, how many bytes its operation takes there, and the request that puts a text into it.
 * `refusesText`: GraphQL takes a number, a boolean or a word there, so that no code of ours is given the text.
 * `atOnce`: how many of its requests may be sent as one, see `together`.
 */
export type Field = {
  name: string
  bytes: number
  attack: (text: string) => Attack
  refusesText?: boolean
  atOnce?: number
}

/** Several operations of GraphQL as one request: each takes the way that it takes alone, and has an answer of its own. */
export function together(attacks: readonly [Attack, ...Attack[]]): Attack {
  if (attacks.length === 1) return attacks[0]
  const bodies = attacks.map(({ body = '' }) => (typeof body === 'string' ? Buffer.from(body) : body))
  const parts = bodies.flatMap((body, at) => [Buffer.from(at === 0 ? '[' : ','), body])
  return { ...attacks[0], body: Buffer.concat([...parts, Buffer.from(']')]) }
}

/** What a path of REST is described as. */
export type Described = {
  paths: Record<
    string,
    Record<
      string,
      { parameters?: { name: string; in: string }[]; requestBody?: { content: Record<string, { schema: JsonShape }> } }
    >
  >
  components: { schemas: Record<string, JsonShape> }
}
type JsonShape = {
  $ref?: string
  type?: unknown
  enum?: unknown[]
  properties?: Record<string, JsonShape>
  items?: JsonShape
  oneOf?: JsonShape[]
  anyOf?: JsonShape[]
}

/** A text that stands nowhere else, and is the same in JSON. */
const marker = 'the-text-is-here'
const piecesTried = 4

/**
 * The request of a field whose text is a piece again and again: at most so many bytes of JSON, and of what the field takes.
 * Where the text stands in the body as it is, the body is put together from bytes: to write 32 MiB as JSON takes as long as
 * to read them. @returns a function of the piece.
 */
export function filled(field: Field, bytes: number): (piece: string) => Attack {
  const size = Math.min(bytes, field.bytes)
  const { body, ...request } = field.attack(marker)
  const [before = '', after, ...more] = String(body).split(marker)
  return (piece) => {
    const tried = JSON.stringify(piece.repeat(piecesTried)).slice(1, -1)
    const standsThere =
      after !== undefined &&
      more.length === 0 &&
      field.attack(piece.repeat(piecesTried)).body === `${before}${tried}${after}`
    if (!standsThere) return field.attack(fillOf(piece, size))
    const one = Buffer.from(JSON.stringify(piece).slice(1, -1))
    const text = Buffer.alloc(one.length * timesIn(one.length, size), one)
    return { ...request, body: Buffer.concat([Buffer.from(before), text, Buffer.from(after)]) }
  }
}

const deepest = 5
/** Of the path and the query: the headers of a request have 16 KiB together. */
const addressBytes = 12 * 1024

/** A key, the one entry of a list, or a key of an object whose tag stands `beside` it. */
type Step = string | 0 | { key: string; beside: Readonly<Record<string, unknown>> }
/** A value with the text at its end. */
function nest(steps: readonly Step[], text: string): unknown {
  return steps.reduceRight<unknown>((inner, step) => {
    if (step === 0) return [inner]
    return typeof step === 'string' ? { [step]: inner } : { ...step.beside, [step.key]: inner }
  }, text)
}

/** The name of a place for whoever reads of it. */
function placeOf(steps: readonly Step[]): string {
  return steps.map((step) => (typeof step === 'object' ? step.key : step)).join('.')
}

/** The arguments of every root field, and what is inside them. */
export function graphqlFields(target: Target, bytes: number): Field[] {
  return rootFields().flatMap((rootField) => {
    const [operation = '', name = ''] = rootField.split(' ')
    const root =
      operation === 'query'
        ? schema.getQueryType()
        : operation === 'mutation'
          ? schema.getMutationType()
          : schema.getSubscriptionType()
    const field = root?.getFields()[name]
    return current(field?.args ?? [])
      .flatMap(placesOf)
      .flatMap((place) =>
        stepsOf(place.type, 0).map(({ steps, leaf }): Field => {
          const others = fill(graphqlRows[rootField]?.args ?? '', target)
            .split(/, (?=\w+:)/)
            .filter((one) => one && !one.startsWith(`${place.name}:`))
          const query = documentOf(rootField, [...others, `${place.name}: $value`].join(', ')).replace(
            /^(\w+)/,
            `$1 ($value: ${String(place.type)})`,
          )
          const attack = (text: string): Attack => ({
            method: 'POST',
            path: '/graphql',
            body: JSON.stringify({ query, variables: { value: nest(steps, text) } }),
          })
          return {
            name: `${rootField} ${placeOf([place.name, ...steps])}`,
            bytes: bytes - query.length - 200,
            attack,
            refusesText: isEnumType(leaf) || closed.includes(leaf),
            atOnce: operation === 'subscription' ? 1 : limits.graphqlBatch,
          }
        }),
      )
  })
}

/** Where a caller may put a value: the argument, or each field of a mutation's input, so that the others are as its row has them. */
function placesOf({ name, type }: GraphQLArgument): { name: string; type: GraphQLInputType }[] {
  const inner = getNullableType(type)
  return name === 'input' && isInputObjectType(inner) ? current(Object.values(inner.getFields())) : [{ name, type }]
}

/** Without old names, which are read as their successors. */
function current<One extends { deprecationReason?: string | null | undefined }>(all: readonly One[]): One[] {
  return all.filter((one) => !one.deprecationReason)
}

const closed: readonly GraphQLInputType[] = [GraphQLBoolean, GraphQLFloat, GraphQLInt]

/** Documents with the text where the language has a place for it. */
export function documentFields(bytes: number): Field[] {
  const places: Record<string, (text: string) => string> = {
    'a literal': (text) => `{ vm(id: ${JSON.stringify(text)}) { id } }`,
    'a literal of the wrong type': (text) => `{ vms(first: ${JSON.stringify(text)}) { nodes { id } } }`,
    'a block': (text) => `{ vm(id: """${text.replaceAll('"""', '')}""") { id } }`,
    'the document': (text) => text,
    'behind a brace': (text) => `{ ${text}`,
    'between errors': (text) => `{ wrong ${text} alsoWrong }`,
    'a comment': (text) => `# ${text}\n{ me { wrong } }`,
    'a name': (text) => `{ ${text.replaceAll(/\W/g, '')}x }`,
    'an enum': (text) => `{ vms(first: ${text.replaceAll(/\W/g, '')}x) { nodes { id } } }`,
  }
  return Object.entries(places).map(
    ([name, query]): Field => ({
      name: `document, ${name}`,
      bytes: bytes - 100,
      attack: (text) => ({ method: 'POST', path: '/graphql', body: JSON.stringify({ query: query(text) }) }),
    }),
  )
}

/** A leaf inside a type, and the steps to it. */
type Place = { steps: Step[]; leaf: GraphQLInputType }

/** Leaves inside a type; `depth` keeps types that hold themselves from going on for ever. */
function stepsOf(type: GraphQLInputType, depth: number): Place[] {
  const inner = getNullableType(type)
  const behind = (step: Step, places: Place[]): Place[] =>
    places.map(({ steps, leaf }) => ({ steps: [step, ...steps], leaf }))
  if (isListType(inner)) return behind(0, stepsOf(inner.ofType as GraphQLInputType, depth)) // a list of an input type
  if (isLeafType(inner)) {
    const whole: Place = { steps: [], leaf: inner }
    return inner.name === 'JSON' || inner.name === 'TextMap' ? [whole, { steps: ['key'], leaf: inner }] : [whole]
  }
  if (!isInputObjectType(inner) || depth >= deepest) return []
  return current(Object.values(inner.getFields())).flatMap((field) =>
    behind(field.name, stepsOf(field.type, depth + 1)),
  )
}

/** The path, query and body of every described operation of a surface. `mount` stands before its paths. */
export function restFields(
  described: Described,
  mount: string,
  bytesOf: (key: string) => number,
  target: Target,
): Field[] {
  const rows: Readonly<Record<string, RestRow>> = { ...restRows, ...agentsRows, ...gatewayRows }
  return Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([lower, { parameters = [], requestBody }]) => {
      const method = lower.toUpperCase()
      const key = `${method} ${mount}${path}`
      const row = rows[key]
      const address = (except = '', text = ''): string =>
        fill((mount + path).replace(`{${except}}`, encodeURIComponent(text)), target, row?.of)
      const base = fill(JSON.stringify(row?.body ?? {}), target, row?.of)
      const hasBody = requestBody !== undefined
      const inAddress = parameters.map(
        ({ name, in: where }): Field => ({
          name: `${key} ${where} ${name}`,
          bytes: addressBytes,
          attack: (text) => ({
            method,
            path:
              where === 'path' ? address(name, short(text)) : `${address()}?${name}=${encodeURIComponent(short(text))}`,
            ...(hasBody ? { body: base } : {}),
          }),
        }),
      )
      const shape = isSecondPath(key) ? undefined : requestBody?.content['application/json']?.schema
      const inBody = shape
        ? [[], ...stepsOfShape(described, shape, 0)].map(
            (steps): Field => ({
              name: `${key} body ${placeOf(steps)}`,
              bytes: bytesOf(key),
              attack: (text) => ({
                method,
                path: address(),
                body: JSON.stringify(
                  steps.length === 0 ? text : { ...(JSON.parse(base) as object), ...(nest(steps, text) as object) },
                ),
              }), // steps of a body begin with a key
            }),
          )
        : []
      return [...inAddress, ...inBody]
    }),
  )
}

/** Whether it is the POST beside a PATCH or PUT that runs the same document, to which its body goes in the same way. */
export function isSecondPath(key: string): boolean {
  const [method, path = ''] = key.split(' ')
  return surfaces.some(({ mount, routes }) => {
    const inside = path.slice(mount.length)
    const first = routes[`PATCH ${inside}`] ?? routes[`PUT ${inside}`]
    return method === 'POST' && first !== undefined && first.operation === routes[`POST ${inside}`]?.operation
  })
}

function stepsOfShape(described: Described, given: JsonShape, depth: number): Step[][] {
  if (depth >= deepest) return []
  const shape = given.$ref === undefined ? given : described.components.schemas[given.$ref.split('/').at(-1) ?? '']
  if (!shape) throw new Error(`${given.$ref} is not described`)
  const within = Object.entries(shape.properties ?? {}).flatMap(([name, inner]): Step[][] => [
    [name],
    ...stepsOfShape(described, inner, depth + 1).map((steps) => [name, ...steps]),
  ])
  const items = shape.items
    ? [[0] as Step[], ...stepsOfShape(described, shape.items, depth + 1).map((steps): Step[] => [0, ...steps])]
    : []
  const either = [...(shape.oneOf ?? []), ...(shape.anyOf ?? [])].flatMap((one) =>
    stepsOfShape(described, one, depth + 1).map((steps) => besideTag(one, steps)),
  )
  return unique([...within, ...items, ...either])
}

/** Steps into one of several shapes, with the tag that says which: without it the rest is never looked at. */
function besideTag({ properties = {} }: JsonShape, [first, ...rest]: Step[]): Step[] {
  if (typeof first !== 'string') return first === undefined ? rest : [first, ...rest]
  const beside = Object.entries(properties).flatMap(([name, { enum: words }]) =>
    name !== first && words?.length === 1 ? [[name, words[0]] as const] : [],
  )
  return beside.length === 0 ? [first, ...rest] : [{ key: first, beside: Object.fromEntries(beside) }, ...rest]
}

function unique(all: Step[][]): Step[][] {
  return [...new Map(all.map((steps) => [JSON.stringify(steps), steps])).values()]
}

/** As much of it as an address takes when it is escaped. */
function short(text: string): string {
  let end = Math.min(text.length, addressBytes)
  while (encodeURIComponent(text.slice(0, end).toWellFormed()).length > addressBytes) end = Math.floor(end / 2)
  return text.slice(0, end).toWellFormed()
}
