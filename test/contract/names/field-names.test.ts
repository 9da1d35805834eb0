/**
 * Every operation, asked with each field that it requires left out, each field misspelt, and each by the words that others
 * use for it: the answer names the field that is meant, as the caller's own interface spells it.
 */
import {
  GraphQLInputObjectType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  parse,
  type GraphQLInputType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { wrongVariable } from '#src/gateway/graphql-checks.ts'
import { synonymsOf } from '#src/platform/shapes/synonyms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { follow, type Schema } from '../json-schema.ts'

const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
/** The name with two letters in the other order; undefined where it is too short to be known by the rest. */
const misspelt = (name: string): string | undefined =>
  name.length > 4 ? `${name.slice(0, 1)}${name.charAt(2)}${name.charAt(1)}${name.slice(3)}` : undefined
/** The words for a field that no other field of its object could be meant by. */
const wordsFor = (name: string, all: readonly string[]): string[] =>
  synonymsOf(bare(name)).filter(
    (word) => !all.some((other) => other !== name && (bare(other) === word || synonymsOf(bare(other)).includes(word))),
  )

describe('GraphQL', () => {
  /** A value of a type, so that nothing but what is asked about is wrong. */
  function sample(type: GraphQLInputType): unknown {
    const inner = getNullableType(type)
    if (isListType(inner)) return []
    if (isEnumType(inner)) return inner.getValues()[0]?.name
    if (isInputObjectType(inner)) return wholeOf(inner)
    return (
      { Bytes: 'eA==', Int: 1, Float: 1, Boolean: true, TextMap: {}, DateTime: '2026-01-01T00:00:00Z', Decimal: '1' }[
        inner.name
      ] ?? 'x'
    )
  }
  function wholeOf(type: GraphQLInputObjectType): Record<string, unknown> {
    const fields = Object.values(type.getFields())
    const asked = type.isOneOf ? fields.slice(0, 1) : fields.filter(({ type: one }) => isNonNullType(one))
    return Object.fromEntries(asked.map(({ name, type: one }) => [name, sample(one)]))
  }
  /** Every input object that an operation takes as a whole, or inside another one. */
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType)
  const refusal = (type: GraphQLInputObjectType, value: unknown): string =>
    wrongVariable({
      schema,
      document: parse(`query ($input: ${type.name}!) { __typename }`),
      variableValues: { input: value },
    })?.message ?? 'taken'

  test('has an input for each of its mutations', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
    expect(mutations.length).toBeGreaterThan(100)
    for (const { args } of mutations) for (const { type } of args) expect(inputs).toContain(getNamedType(type))
  })

  test.each(inputs.map((type) => [type.name, type] as const))(
    '%s names what is missing, misspelt or meant',
    (_, type) => {
      const names = Object.keys(type.getFields())
      const whole = wholeOf(type)
      for (const { name, type: one } of Object.values(type.getFields()).filter((field) => isNonNullType(field.type))) {
        const { [name]: _left, ...rest } = whole
        expect(refusal(type, rest)).toContain(`"input.${name}" of the type ${String(one)} was not provided`)
      }
      for (const name of names)
        for (const word of [misspelt(name), ...wordsFor(name, names)])
          if (word !== undefined && !names.includes(word))
            expect([word, refusal(type, { ...whole, [word]: 1 })]).toEqual([
              word,
              expect.stringContaining(`has no "${word}". Did you mean "${name}"?`),
            ])
    },
  )
})

type Operation = {
  parameters?: { name: string; in: string; required?: boolean }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

/** What a code host sends with its signature, which is checked before anything else. */
const signed = new Set(['/api/v1/codehost/pushes/{link_id}', '/v1/hooks/github'])

describe('REST', () => {
  let berth: Berth
  let token: string
  const operations: { key: string; surface: string; operation: Operation; document: Schema }[] = []
  beforeAll(async () => {
    berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
    token = await berth.token('alice', 'acme', 'owner')
    for (const { name: surface, openapiPath } of surfaces) {
      const { body: document } = await berth.call<Schema>('GET', openapiPath)
      const servers = document['servers'] as { url: string }[]
      const base = new URL(servers[0]?.url ?? '', 'http://x').pathname.replace(/\/$/, '')
      for (const [path, methods] of Object.entries(document['paths'] as Record<string, Record<string, Operation>>))
        for (const [method, operation] of Object.entries(methods).filter(() => !signed.has(path)))
          operations.push({ key: `${method.toUpperCase()} ${base}${path}`, surface, operation, document })
    }
  })
  afterAll(() => berth?.stop())

  const told = async (key: string, body?: unknown): Promise<string> => {
    const [method = '', path = ''] = key.split(' ')
    const answer = await berth.call(method, path.replaceAll(/\{\w+\}/g, 'nothing'), {
      token,
      ...(body === undefined ? {} : { body }),
    })
    return `${answer.status} ${JSON.stringify(answer.body)}`
  }
  /** The object that an operation takes as its body; undefined where it takes none, or one of several. */
  const bodyOf = ({ operation, document }: (typeof operations)[number]): Schema | undefined => {
    const taken = operation.requestBody?.content['application/json']?.schema
    const found = taken && typeof taken['$ref'] === 'string' ? follow(taken['$ref'], document) : taken
    return found?.['properties'] === undefined ? undefined : found
  }

  /** A value that a schema allows, with what it requires and nothing else. */
  function sample(given: Schema, document: Schema): unknown {
    const one = typeof given['$ref'] === 'string' ? follow(given['$ref'], document) : given
    const [choice] = (one['oneOf'] ?? one['anyOf'] ?? []) as Schema[]
    if (choice) return sample(choice, document)
    const [word] = (one['enum'] ?? []) as unknown[]
    const [type] = [one['type'] ?? 'string'].flat() as string[]
    if (type === 'object') return wholeOf(one, document)
    return word ?? one['const'] ?? { integer: 1, number: 1, boolean: true, array: [], null: null }[type ?? ''] ?? 'x'
  }
  function wholeOf(one: Schema, document: Schema): Record<string, unknown> {
    const properties = (one['properties'] ?? {}) as Record<string, Schema>
    const required = (one['required'] ?? []) as string[]
    return Object.fromEntries(required.map((key) => [key, sample(properties[key] ?? {}, document)]))
  }

  test('names every key that is missing', async () => {
    expect(operations.length).toBeGreaterThan(140)
    const wrong: string[] = []
    for (const one of operations) {
      const body = bodyOf(one)
      for (const key of (body?.['required'] ?? []) as string[]) {
        const { [key]: _left, ...rest } = wholeOf(body ?? {}, one.document)
        const model = one.key.endsWith('/embeddings') ? 'berth/demo-embeddings' : 'berth/demo'
        if (one.surface === 'llm' && 'model' in rest) Object.assign(rest, { model }) // what is sent to it is checked afterwards
        if ('content' in rest) Object.assign(rest, { content: 'eA==' }) // base64
        const said = await told(one.key, rest)
        if (!said.startsWith('400 ') || !said.includes(`${key} is required`)) wrong.push(`${one.key}: ${key}: ${said}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('names every parameter of the query that is missing', async () => {
    const wrong: string[] = []
    for (const { key, operation } of operations)
      for (const { name } of (operation.parameters ?? []).filter((one) => one.in === 'query' && one.required)) {
        const said = await told(key)
        if (!said.includes(name) || !said.startsWith('400 ')) wrong.push(`${key}: ${name}: ${said}`)
      }
    expect(wrong).toEqual([])
  })

  test('names what is meant by a key that is misspelt, or another word for it', async () => {
    const wrong: string[] = []
    for (const one of operations) {
      if (one.surface === 'llm') continue // it ignores what it does not know, as many kinds of clients need
      const names = Object.keys((bodyOf(one)?.['properties'] ?? {}) as object)
      for (const name of names)
        for (const word of [misspelt(name), ...wordsFor(name, names)]) {
          if (word === undefined || names.includes(word)) continue
          const said = await told(one.key, { [word]: 1 })
          if (!said.includes(`Unknown field ${word}. Did you mean ${name}?`))
            wrong.push(`${one.key}: ${word} for ${name}: ${said}`)
        }
    }
    expect(wrong).toEqual([])
  })
})
