/**
 * Every field of the schema that is a union or an interface is answered by a plan as by graphql's own execution: on
 * documents and rows that are made at random, with rows that are missing, late, of the wrong kind, or errors.
 */
import fc from 'fast-check'
import {
  buildASTSchema,
  execute,
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isListType,
  isObjectType,
  Kind,
  parse,
  printSchema,
  responsePathAsArray,
  validate,
  visit,
  type ExecutionResult,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
} from 'graphql'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { planOperation } from '#src/gateway/graphql-plans.ts'
import { runPlan } from '#src/gateway/graphql-runs.ts'
import { schema as ofBerth } from '#schema/schema.ts'

type Rows = { seed: number; late: boolean }
const typeName = Symbol('the name of the type of a row')
type Row = { [typeName]: string }

/** The types of Berth without arguments and resolvers; each object type is a field of the root. */
const schema = copyOf()
const objects = Object.values(schema.getTypeMap()).filter(
  (type): type is GraphQLObjectType =>
    isObjectType(type) && !type.name.startsWith('__') && type !== schema.getQueryType(),
)
const places = objects.flatMap((parent) =>
  Object.values(parent.getFields())
    .filter(({ type }) => isAbstractType(getNamedType(type)))
    .map((field) => ({ parent, field })),
)

function copyOf(): ReturnType<typeof buildASTSchema> {
  const document = parse(printSchema(ofBerth))
  const types = document.definitions.flatMap((one) =>
    one.kind === Kind.OBJECT_TYPE_DEFINITION ? [one.name.value] : [],
  )
  const root = parse(
    `type Query { ${types.map((name) => `${nameInRoot(name)}: ${name === 'Query' ? 'RootOfBerth' : name}`).join(' ')} }`,
  )
  const plain = visit(document, {
    FieldDefinition: (node) => ({ ...node, arguments: [] }),
    ObjectTypeDefinition: (node) =>
      node.name.value === 'Query' ? { ...node, name: { ...node.name, value: 'RootOfBerth' } } : undefined,
  })
  const made = buildASTSchema({ kind: Kind.DOCUMENT, definitions: [...plain.definitions, ...root.definitions] })
  for (const type of Object.values(made.getTypeMap())) {
    if (type.name.startsWith('__')) continue
    if (isAbstractType(type)) type.resolveType = (row, { late }: Rows) => soon((row as Row)[typeName], late) as string // as it is made below
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields()))
      if (isCompositeType(getNamedType(field.type)))
        field.resolve = (_row, _args, { seed, late }: Rows, { path, returnType }) =>
          valueOf(returnType, `${seed} ${responsePathAsArray(path).join('.')}`, late)
  }
  return made
}

function nameInRoot(type: string): string {
  return `the${type}`
}

function soon<Value>(value: Value, late: boolean): Value | Promise<Value> {
  return late ? Promise.resolve(value) : value
}

/** A number that differs from place to place, and is the same in every run. */
function numberAt(place: string): number {
  return Buffer.from(place).reduce((sum, byte) => (sum * 31 + byte) % 9973, 7)
}

/** What a field of this type holds at a place: now and then nothing, an error, or something else. */
function valueOf(type: GraphQLOutputType, place: string, late: boolean): unknown {
  const at = numberAt(place)
  if (at % 17 === 0) return null
  if (at % 19 === 0) return new Error('an error instead')
  const inner = getNullableType(type)
  if (isListType(inner)) {
    const items = Array.from({ length: at % 4 }, (_, item) =>
      valueOf(inner.ofType as GraphQLOutputType, `${place}.${item}`, false),
    ) // a list of an output type
    return soon(items, late && at % 2 === 0)
  }
  const possible = isAbstractType(inner) ? schema.getPossibleTypes(inner) : [inner as GraphQLObjectType] // only those are asked for
  const one = possible[at % possible.length]
  if (!one) throw new Error(`${String(inner)} has no types`)
  return soon({ ...leavesOf(one, at), [typeName]: one.name }, late && at % 3 === 0)
}

/** A row's plain values. */
function leavesOf(type: GraphQLObjectType, at: number): Record<string, unknown> {
  const leaves = Object.values(type.getFields()).filter((field) => !isCompositeType(getNamedType(field.type)))
  return Object.fromEntries(leaves.map((field, index) => [field.name, leafOf(field.type, at + index)]))
}

function leafOf(type: GraphQLOutputType, at: number): unknown {
  if (at % 29 === 0) return null
  const inner = getNullableType(type)
  if (isListType(inner)) return [leafOf(inner.ofType as GraphQLOutputType, at + 1)] // a list of an output type
  if (isEnumType(inner)) return inner.getValues()[at % inner.getValues().length]?.value
  return inner.name === 'Boolean' ? at % 2 === 0 : inner.name === 'Int' || inner.name === 'Float' ? at : `text ${at}`
}

const deepest = 3

/** Selections on a type, as a client may write them: fields, and fragments on what the type may be. */
function selections(type: GraphQLNamedType, depth: number): fc.Arbitrary<string> {
  const parts: fc.Arbitrary<string>[] = [fc.constantFrom('__typename', 'kind: __typename')]
  if ('getFields' in type) {
    const fields = Object.values(type.getFields() as Record<string, GraphQLField<unknown, unknown>>) // of an output type
    const usable = fields.filter((field) => depth < deepest || !isCompositeType(getNamedType(field.type)))
    if (usable.length > 0) parts.push(fc.constantFrom(...usable).chain((field) => selectionOf(field, depth)))
  }
  if (isAbstractType(type)) {
    const member = fc.constantFrom(...schema.getPossibleTypes(type))
    parts.push(
      member.chain((one) => selections(one, depth).map((inside) => `... on ${one.name} ${inside}`)),
      everyMember(type, depth),
    )
  }
  return fc.array(fc.oneof(...parts), { minLength: 1, maxLength: 5 }).map((all) => `{ ${all.join(' ')} }`)
}

/** All members at once, as whoever shows a list of them. */
function everyMember(type: GraphQLAbstractType, depth: number): fc.Arbitrary<string> {
  return fc
    .tuple(
      ...schema
        .getPossibleTypes(type)
        .slice(0, 5)
        .map((one) => selections(one, depth + 1).map((inside) => `... on ${one.name} ${inside}`)),
    )
    .map((all) => all.join(' '))
}

function selectionOf(field: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<string> {
  const type = getNamedType(field.type)
  return isCompositeType(type)
    ? selections(type, depth + 1).map((inside) => `${field.name} ${inside}`)
    : fc.constant(field.name)
}

/**
 * graphql's own execution leaves what its list items still reject behind when an earlier one fails at once; a plan must not.
 * So the runner's listeners are replaced by one that knows who is at work.
 */
const listeners = process.listeners('unhandledRejection')
const leftByPlans: unknown[] = []
let isPlanAtWork = false
const onRejection = (error: unknown): void => {
  if (isPlanAtWork) leftByPlans.push(error)
}
beforeAll(() => {
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', onRejection)
})
afterAll(() => {
  process.removeAllListeners('unhandledRejection')
  for (const listener of listeners) process.on('unhandledRejection', listener)
})

it('has fields that are unions or interfaces', () => {
  const abstract = new Set(places.map(({ field }) => getNamedType(field.type).name))
  const all = Object.values(schema.getTypeMap()).filter((type) => isAbstractType(type))
  expect(all.map(({ name }) => name).filter((name) => !abstract.has(name))).toEqual([])
})

it.each(places.map(({ parent, field }) => [`${parent.name}.${field.name}`, parent, field] as const))(
  '%s is answered as by graphql',
  async (_name, parent, field) => {
    const document = selectionOf(field, 0).map(
      (inside) => `{ ${nameInRoot(parent.name === 'RootOfBerth' ? 'Query' : parent.name)} { ${inside} } }`,
    )
    await fc.assert(
      fc.asyncProperty(document, fc.nat(999), fc.boolean(), async (source, seed, late) => {
        const parsed = parse(source)
        fc.pre(validate(schema, parsed).length === 0)
        const plan = planOperation(schema, parsed, () => {
          /* however many */
        })
        if (!plan) throw new Error(`no plan for ${source}`)
        const contextValue: Rows = { seed, late }
        isPlanAtWork = false
        const theirs = written(await execute({ schema, document: parsed, contextValue }), late)
        await nextTurn() // rejections are reported behind it
        isPlanAtWork = true
        // Twice: what was planned at the first time is there at the second.
        for (let time = 0; time < 2; time++)
          expect(written(await runPlan(plan, { schema, contextValue }), late)).toBe(theirs)
      }),
      { numRuns: 12 },
    )
    await nextTurn()
    expect(leftByPlans).toEqual([])
  },
)

/** A result as text. Where promises race, which of several failures is told first is open. */
function written({ data, errors = [] }: ExecutionResult, late: boolean): string {
  return JSON.stringify({ data, errors: late ? null : errors })
}
