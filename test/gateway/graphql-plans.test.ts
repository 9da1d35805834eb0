/**
 * What is worked out once answers as graphql's own execution: data, errors, their places and order, on documents made at
 * random over a schema with everything that a plan knows. And what a plan does not know is left to graphql.
 */
import fc from 'fast-check'
import {
  buildSchema,
  execute,
  GraphQLEnumType,
  GraphQLScalarType,
  isAbstractType,
  isObjectType,
  parse,
  responsePathAsArray,
  validate,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLFieldResolver,
  type GraphQLSchema,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { createDocuments } from '#src/gateway/graphql-documents.ts'
import { planOperation, type Plan } from '#src/gateway/graphql-plans.ts'
import { runPlan } from '#src/gateway/graphql-runs.ts'

const schema = makeSchema()

/** Fields by the type they are of: what stands behind the name, and whether more must be selected. */
const fields: Readonly<Record<string, readonly (readonly [name: string, below: string | null])[]>> = {
  Query: [
    ['thing', 'Thing'],
    ['things', 'Thing'],
    ['needed', 'Thing'],
    ['named', 'Named'],
    ['eithers', 'Either'],
    ['text(value: $text)', null],
    ['text(value: "literal")', null],
    ['text', null],
    ['number(value: $number)', null],
    ['shape(input: $input)', null],
    ['shape(input: {name: $text, size: 3})', null],
    ['shape(input: {name: "x", list: [1, $number]})', null],
    ['kind(value: $kind)', null],
    ['kind(value: SECOND_ONE)', null],
    ['needs(value: $needed)', null],
    ['needs(value: $text)', null],
    ['__typename', null],
  ],
  Named: [
    ['name', null],
    ['__typename', null],
    ['... on Thing', 'Thing'],
    ['... on Other', 'Other'],
    ['... on Either', 'Either'],
  ],
  Either: [
    ['__typename', null],
    ['... on Thing', 'Thing'],
    ['... on Other', 'Other'],
    ['... on Named', 'Named'],
  ],
  Other: [
    ['id', null],
    ['either', 'Either'],
  ],
  Part: [
    ['number', null],
    ['thing', 'Thing'],
  ],
  Mutation: [
    ['make(name: $text)', 'Thing'],
    ['make', 'Thing'],
    ['needs(value: $needed)', null],
    ['needs(value: $text)', null],
  ],
  Thing: [
    ['id', null],
    ['name', null],
    ['kind', null],
    ['kinds', null],
    ['size', null],
    ['ratio', null],
    ['yes', null],
    ['moment', null],
    ['method', null],
    ['grid', null],
    ['wrong', null],
    ['notAList', null],
    ['thing', 'Thing'],
    ['needed', 'Thing'],
    ['things', 'Thing'],
    ['neededThings', 'Thing'],
    ['lateItems', 'Thing'],
    ['part', 'Part'],
    ['parts', 'Part'],
    ['named', 'Named'],
    ['either', 'Either'],
    ['neededEithers', 'Either'],
    ['__typename', null],
  ],
}
const deepest = 4

/** Selections on a type: plain fields, aliases, inline fragments. */
function selections(type: string, depth: number): fc.Arbitrary<string> {
  const known = fields[type] ?? []
  const usable = depth >= deepest ? known.filter(([, below]) => below === null) : known
  const one = fc
    .tuple(fc.constantFrom(...usable), fc.constantFrom('', '', 'a: ', 'a_b: ', 'constructor: '), fc.boolean())
    .chain(([[name, below], alias, spread]) => {
      const inside = below ? selections(below, depth + 1) : fc.constant('')
      return inside.map((text) => {
        const field = `${name.startsWith('...') ? '' : alias}${name} ${text}`
        return spread ? `... on ${type} { ${field} }` : field
      })
    })
  return fc
    .array(one, { minLength: 1, maxLength: 5 })
    .map((list) => `{ ${list.join(' ')} ${type === 'Thing' ? '...Named' : ''} }`)
}

const header = '($text: String = "usual", $number: Int, $input: ShapeInput, $kind: Kind, $needed: String!)'
const document = fc
  .constantFrom(['query', 'Query'] as const, ['mutation', 'Mutation'] as const)
  .chain(([operation, type]) =>
    selections(type, 0).map((text) => `${operation} Q${header} ${text} fragment Named on Thing { id again: name }`),
  )
/** Absent, null and given variables, which differ. */
const variables = fc.record(
  {
    text: fc.constantFrom(null, 'given', 'fails'),
    number: fc.constantFrom(null, 7, -1, 2 ** 31),
    input: fc.constantFrom(null, {}, { name: null }, { name: 'n', list: [1, null] }, { size: 4 }),
    kind: fc.constantFrom(null, 'FIRST', 'SECOND_ONE'),
    needed: fc.constantFrom('there'),
  },
  { requiredKeys: ['needed'] },
)

describe('a plan', () => {
  it('gives the same answer as graphql’s own execution for random operations', async () => {
    let planned = 0
    await fc.assert(
      fc.asyncProperty(document, variables, fc.boolean(), async (source, variableValues, late) => {
        const parsed = parse(source)
        const needsFragment = validate(schema, parsed).map((one) => one.message)
        fc.pre(needsFragment.every((message) => /is never used/.test(message)))
        const plan = planOf(parsed)
        if (!plan) return
        planned++
        const [ours, theirs] = [
          await runPlan(plan, { schema, contextValue: { late }, variableValues }),
          await execute({ schema, document: parsed, contextValue: { late }, variableValues }),
        ]
        // Where promises race, which of several failures is told first is open, and so is what is told of a part that is null already.
        if (late)
          expect([JSON.stringify(ours.data), placesOf(ours)]).toEqual([JSON.stringify(theirs.data), placesOf(theirs)])
        else expect(written(ours)).toBe(written(theirs))
      }),
      { numRuns: 400 },
    )
    expect(planned).toBeGreaterThan(100)
  })

  it('is not made for what differs between runs', () => {
    expect(planOf(parse('{ thing { id } named { ... on Thing { id } } eithers { __typename } }'))).not.toBeNull()
    for (const left of [
      'query ($yes: Boolean!) { thing @include(if: $yes) { id } }',
      '{ __schema { types { name } } }',
      '{ __type(name: "Thing") { name } }',
      'query A { text } query B { text }',
      '{ __proto__: text }',
      '{ thing { ... on Thing { __proto__: id } } }',
    ])
      expect([left, planOf(parse(left))]).toEqual([left, null])
  })

  it('has what is selected of the objects that came, and of no others', async () => {
    const made = buildSchema(
      'type Query { all: [All] } union All = A | B | C type A { a: Int } type B { b: Int all: [All] } type C { c: Int }',
    )
    const sizes: number[] = []
    const source = '{ all { ... on A { a } ... on B { b all { __typename ... on A { a } } } ... on C { c } } }'
    const plan = planOperation(made, parse(source), (fields) => sizes.push(fields))
    const run = (all: unknown): unknown =>
      plan && runPlan(plan, { schema: made, rootValue: { all }, contextValue: {}, variableValues: {} })
    const [a, b] = [
      { __typename: 'A', a: 1 },
      { __typename: 'B', b: 2, all: [] },
    ]
    expect(sizes).toEqual([1])
    expect(run([a, a])).toEqual({ data: { all: [{ a: 1 }, { a: 1 }] } })
    expect(sizes).toEqual([1, 1])
    expect(run([b, a, b])).toEqual({ data: { all: [{ b: 2, all: [] }, { a: 1 }, { b: 2, all: [] }] } })
    expect(sizes).toEqual([1, 1, 2])
  })

  it('tells of a value of no known type as graphql does: null there, and an error at its place', async () => {
    const made = buildSchema(
      'type Query { all: [All] } union All = A | B type A { a: Int } type B { b: Int } type C { c: Int }',
    )
    const document = parse('{ all { __typename } }')
    const plan = planOf(document, made)
    const rootValue = { all: [{ __typename: 'A' }, { __typename: 'C' }, {}, { __typename: 5 }, { __typename: 'All' }] }
    const ours = plan && (await runPlan(plan, { schema: made, rootValue }))
    const theirs = await execute({ schema: made, document, rootValue })
    expect(ours?.data).toEqual({ all: [{ __typename: 'A' }, null, null, null, null] })
    expect(ours?.errors?.map(({ path }) => path)).toEqual(theirs.errors?.map(({ path }) => path))
  })
})

it('handles every rejection in a list after one item failed', async () => {
  const made = buildSchema('type Query { items: [Item!] } type Item { late: String! now: String! }')
  const item = (at: number): unknown => ({
    late: () => Promise.reject(new Error(`late ${at}`)),
    now: at === 2 ? null : 'now',
  })
  const items = made.getQueryType()?.getFields()['items']
  if (!items) throw new Error('no items')
  items.resolve = () => [item(1), item(2)]
  const plan = planOf(parse('{ items { late now } }'), made)
  if (!plan) throw new Error('no plan')
  const result = await runPlan(plan, { schema: made, contextValue: {}, variableValues: {} })
  expect([result.data, result.errors?.length]).toEqual([{ items: null }, 1])
  await new Promise((done) => setImmediate(done)) // when a rejection without a listener would have been told, and failed this test
})

describe('a document', () => {
  const parts = (source: string, documents = createDocuments(schema)) => {
    const read = documents.read(source)
    return { documents, read, run: () => documents.run({ schema, document: read, contextValue: {} }) }
  }

  it('is run by a plan from its second run on, when it is valid, with the same answer', async () => {
    const { documents, read, run } = parts('{ things { id name kind } }')
    expect(documents.validate(read, true)).toEqual([])
    const [first, second, third] = [await run(), await run(), await run()]
    expect(written(second)).toBe(written(first))
    expect(written(third)).toBe(written(first))
    // graphql's own answers have no prototype; ours are plain objects.
    const prototypes = [first, second, third].map(({ data }) => Object.getPrototypeOf(data))
    expect(prototypes).toEqual([null, Object.prototype, Object.prototype])
  })

  it('is validated once when it is valid, and each time when it is not', () => {
    const { documents, read } = parts('{ thing { idd } }')
    expect(documents.validate(read, true)[0]?.message).toContain('Did you mean "id"')
    expect(documents.validate(read, false)[0]?.message).not.toContain('Did you mean')
  })

  it('is evicted after many others or long ones, and a very long one is not cached', () => {
    const { documents, read } = parts('{ text }')
    expect(documents.read('{ text }')).toBe(read)
    for (let at = 0; at < 500; at++) documents.read(`{ a${at}: text }`)
    expect(documents.read('{ text }')).not.toBe(read)
    const long = (at: number): string => `{ a${at}: text(value: "${'x'.repeat(15_000)}") }`
    const all = Array.from({ length: 100 }, (_, at) => documents.read(long(at)))
    const keptMax = Math.floor(500_000 / 15_000)
    expect(documents.read(long(99))).toBe(all[99])
    expect(documents.read(long(99 - keptMax))).not.toBe(all[99 - keptMax])
    const tooLong = `{ text(value: "${'x'.repeat(20_000)}") }`
    expect(documents.read(tooLong)).not.toBe(documents.read(tooLong))
  })

  it('that selects very much is planned once, and then left to graphql, whose work depends only on the answer', async () => {
    const made = buildSchema('type Query { thing: Thing } type Thing { id: ID thing: Thing }')
    const thing = { id: '1', thing: () => thing }
    const inside = (levels: number): string =>
      levels === 0 ? '{ id }' : `{ a: thing ${inside(levels - 1)} b: thing ${inside(levels - 1)} }`
    const run = async (source: string): Promise<unknown[]> => {
      const documents = createDocuments(made)
      const document = documents.read(source)
      expect(documents.validate(document, true)).toEqual([])
      const prototypes: unknown[] = []
      for (let at = 0; at < 4; at++) {
        const { data } = await documents.run({ schema: made, document, rootValue: { thing } })
        prototypes.push(Object.getPrototypeOf(data) === null ? 'graphql' : 'plan')
      }
      return prototypes
    }
    expect(await run(inside(7))).toEqual(['graphql', 'plan', 'plan', 'plan']) // 382 fields
    expect(await run(inside(8))).toEqual(['graphql', 'plan', 'graphql', 'graphql'])
  })

  it('whose text could be code for a compiler stays text, however often it runs', async () => {
    const crafted = '__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74dglobalThis.berthWasHit=1'
    const { documents, read, run } = parts(`{ text(value: "${crafted}") }`)
    documents.validate(read, true)
    for (let at = 0; at < 4; at++) expect((await run()).data?.['text']).toBe(crafted)
    expect(globalThis).not.toHaveProperty('berthWasHit')
  })
})

/** A plan, however large. */
function planOf(document: DocumentNode, of = schema): Plan | null {
  return planOperation(of, document, () => {
    /* not counted */
  })
}

/** Where the answer is null because of an error. */
function placesOf({ data, errors = [] }: ExecutionResult): string[] {
  const places = errors.map(({ path = [] }) => {
    let at: unknown = data
    const place: (string | number)[] = []
    for (const step of path) {
      if (at === null) break
      at = (at as Record<string | number, unknown>)[step] // the path leads through the answer
      place.push(step)
    }
    return place.join('.')
  })
  return [...new Set(places)].toSorted()
}

function written(result: ExecutionResult): string {
  return JSON.stringify(result)
}

/** Everything that a plan knows: each type of leaf, lists in lists, promises, methods, nulls and failures where they hurt. */
function makeSchema(): GraphQLSchema {
  const made = buildSchema(`
    enum Kind { FIRST SECOND_ONE }
    scalar Moment
    interface Named { name: String }
    union Either = Thing | Other
    type Other implements Named { id: ID!  name: String  either: Either }
    input ShapeInput { name: String size: Int = 5 list: [Int] }
    type Query {
      thing: Thing  things: [Thing!]  needed: Thing!  named: Named  eithers: [Either]
      text(value: String = "of the schema"): String  number(value: Int): Int  shape(input: ShapeInput): String
      kind(value: Kind): Kind  needs(value: String! = "of the schema"): String
    }
    type Mutation { make(name: String): Thing  needs(value: String! = "of the schema"): String }
    type Subscription { ticks: Int }
    type Thing implements Named {
      id: ID!  name: String  kind: Kind  kinds: [Kind]  size: Int  ratio: Float  yes: Boolean!  moment: Moment  method: String
      grid: [[Int!]]  wrong: Int!  notAList: [Int]
      thing: Thing  needed: Thing!  things: [Thing]  neededThings: [Thing!]!  lateItems: [Thing]
      part: Part  parts: [Part!]  named: Named  either: Either  neededEithers: [Either!]!
    }
    type Part { number: Int  thing: Thing }
  `)
  const kind = made.getType('Kind')
  if (!(kind instanceof GraphQLEnumType)) throw new Error('no Kind')
  for (const value of kind.getValues()) value.value = value.name.toLowerCase() // the words that rows hold
  const moment = made.getType('Moment')
  if (!(moment instanceof GraphQLScalarType)) throw new Error('no Moment')
  moment.serialize = (value: unknown) => {
    if (value === 'never') throw new Error('there is no such moment')
    return value === 'none' ? undefined : `at ${typeof value}`
  }
  const resolve = <Context>(type: string, field: string, resolver: GraphQLFieldResolver<unknown, Context>): void => {
    const found = made.getType(type)
    if (!found || !('getFields' in found)) throw new Error(`no type ${type}`)
    ;(found.getFields()[field] as { resolve?: unknown }).resolve = resolver // graphql-js allows it before the first execution
  }
  /** Differs from place to place, and is the same in every run. */
  const numberAt = (path: readonly (string | number)[]): number =>
    Buffer.from(path.join('.')).reduce((sum, byte) => (sum * 31 + byte) % 9973, 7)
  const thingAt = (at: number): unknown => {
    if (at % 11 === 0) return null
    if (at % 13 === 0) return new Error('an error instead of a thing')
    return {
      id: at % 3 ? `id ${at}` : at,
      name: at % 5 ? 'name' : undefined,
      kind: ['first', 'second_one', 'nothing', null][at % 4],
      kinds: ['first', null, 'second_one'],
      size: [1, 2 ** 40, 'x', true, 1.5][at % 5],
      ratio: [1.5, Number.NaN, '2', null][at % 4],
      yes: [true, false, 1, null, 'x'][at % 5],
      moment: ['noon', 'never', 'none', null][at % 4],
      method: (given: unknown, _context: unknown, { fieldName }: { fieldName: string }) =>
        `${fieldName} ${JSON.stringify(given)}`,
      grid: [[1, 2], null, at % 2 ? [3, null] : [], new Set([4])],
      notAList: at % 2 ? 'text' : 5,
    }
  }
  type Timing = { late?: boolean }
  const soon = (value: unknown, { late }: Timing): unknown => (late ? Promise.resolve(value) : value)
  const thing: GraphQLFieldResolver<unknown, Timing> = (_source, _args, context, { path }) => {
    const at = numberAt(responsePathAsArray(path))
    if (at % 7 === 0) throw new Error('failed at once')
    return at % 2 ? thingAt(at) : soon(thingAt(at), context)
  }
  const things: GraphQLFieldResolver<unknown, Timing> = (_source, _args, context, { path }) => {
    const at = numberAt(responsePathAsArray(path))
    // Either all items are late or none: of a list of both, graphql's execution leaves rejections to nobody.
    const list = [thingAt(at), thingAt(at + 1), thingAt(at + 2)].map((one) => soon(one, context))
    return at % 3 ? list : soon(list, context)
  }
  for (const type of ['Query', 'Thing']) {
    for (const field of ['thing', 'needed']) resolve(type, field, thing)
    resolve(type, 'things', things)
  }
  resolve('Thing', 'neededThings', things)
  resolve('Thing', 'lateItems', (_source, _args, context: Timing, { path }) => {
    const at = numberAt(responsePathAsArray(path))
    return [soon(thingAt(at), context), thingAt(at + 1), soon(new Error('failed later'), context)]
  })
  resolve('Thing', 'wrong', (_source, _args, context: Timing, info) =>
    numberAt(responsePathAsArray(info.path)) % 2 ? soon(new Error('wrong'), context) : info.fieldName.length,
  )
  for (const type of ['Query', 'Thing']) resolve(type, 'named', thing)
  for (const type of ['Other', 'Thing']) resolve(type, 'either', thing)
  resolve('Query', 'eithers', things)
  resolve('Thing', 'neededEithers', things)
  for (const name of ['Named', 'Either']) {
    const type = made.getType(name)
    if (!isAbstractType(type)) throw new Error(`no ${name}`)
    type.resolveType = ({ size }: { size: unknown }, context: Timing) =>
      soon(size === 'x' ? 'Other' : 'Thing', context) as string
  }
  const part = made.getType('Part')
  if (!isObjectType(part)) throw new Error('no Part')
  part.isTypeOf = ({ number }: { number: number }, context: Timing) => soon(number % 3 > 0, context) as boolean
  resolve('Part', 'thing', thing)
  resolve('Thing', 'part', (_source, _args, _context, { path }) => ({ number: numberAt(responsePathAsArray(path)) }))
  resolve('Thing', 'parts', (_source, _args, _context, { path }) => {
    const at = numberAt(responsePathAsArray(path))
    return [{ number: at }, { number: at * 2 }]
  })
  const echo: GraphQLFieldResolver<unknown, unknown, Record<string, unknown>> = (_source, given, _context, info) => {
    if (given['value'] === 'fails') throw new Error('as it was told')
    return typeof given['value'] === 'string' && info.parentType.name === 'Query'
      ? given['value']
      : JSON.stringify(given)
  }
  for (const field of ['text', 'shape', 'needs']) resolve('Query', field, echo as never)
  resolve('Query', 'number', (_source, given: { value?: unknown }) => given.value)
  resolve('Query', 'kind', (_source, given: { value?: unknown }) => given.value)
  resolve('Mutation', 'make', thing)
  resolve('Mutation', 'needs', echo as never)
  return made
}
