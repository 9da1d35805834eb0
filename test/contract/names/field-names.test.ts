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
  isRequiredArgument,
  isObjectType,
  parse,
  specifiedRules,
  type GraphQLInputType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { pathsInsideInput } from '#schema/nested-names.ts'
import { schema } from '#schema/schema.ts'
import { validateBriefly, wrongVariable } from '#src/gateway/graphql-checks.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import { synonymsOf } from '#src/platform/shapes/synonyms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { follow, type Schema } from '../json-schema.ts'

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const camel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
/** The name with two letters in the other order; undefined where it is too short to be known by the rest. */
const misspelt = (name: string): string | undefined =>
  name.length > 4 ? `${name.slice(0, 1)}${name.charAt(2)}${name.charAt(1)}${name.slice(3)}` : undefined
/** `id`, where it can be no other's id. */
const endingOf = (name: string, all: readonly string[]): string[] =>
  /.(?:Id|_id)$/.test(name) && all.filter((one) => /id$/i.test(one)).length === 1 ? ['id'] : []
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
      const all = [...names, ...pathsInsideInput(type).map((path) => path.replace(/.*\./, ''))]
      const whole = wholeOf(type)
      for (const { name, type: one } of Object.values(type.getFields()).filter((field) => isNonNullType(field.type))) {
        const { [name]: _left, ...rest } = whole
        expect(refusal(type, rest)).toContain(`"input.${name}" of the type ${String(one)} was not provided`)
      }
      for (const name of names)
        for (const word of [misspelt(name), snake(name), ...endingOf(name, all), ...wordsFor(name, names)])
          if (word !== undefined && !names.includes(word))
            expect([word, refusal(type, { ...whole, [word]: 1 })]).toEqual([
              word,
              expect.stringContaining(`has no "${word}". Did you mean "${name}"?`),
            ])
    },
  )

  test.each(inputs.map((type) => [type.name, type] as const))('%s names where a field inside it belongs', (_, type) => {
    const names = Object.keys(type.getFields())
    for (const { name: outer, type: field } of Object.values(type.getFields())) {
      const inner = getNamedType(field)
      for (const name of isInputObjectType(inner) ? Object.keys(inner.getFields()) : [])
        if (!names.includes(name) && nearestKey(name, names) === undefined)
          expect([outer, refusal(type, { ...wholeOf(type), [name]: 1 })]).toEqual([
            outer,
            expect.stringMatching(new RegExp(`has no "${name}". Did you mean "\\w+(?:\\[\\])?\\.${name}"\\?`)),
          ])
    }
  })

  const enums = Object.values(schema.getTypeMap()).filter((one) => isEnumType(one) && !one.name.startsWith('__'))
  test.each(enums.map((type) => [type.name, type] as const))('%s names the word in its own case', (_, type) => {
    for (const { name } of isEnumType(type) ? type.getValues() : []) {
      const given = wrongVariable({
        schema,
        document: parse(`query ($input: ${type.name}!) { __typename }`),
        variableValues: { input: name.toLowerCase() },
      })?.message
      expect(given).toContain(`Did you mean "${name}"?`)
    }
  })

  /** What is said of a document, by all rules but those about what is around it. */
  const said = (document: string): string =>
    validateBriefly(true)(schema, parse(document), specifiedRules)
      .map(({ message }) => message)
      .filter((message) => !message.startsWith('Fragment "F" is never used'))
      .join('\n')
  const outputs = Object.values(schema.getTypeMap()).filter((one) => isObjectType(one) && !one.name.startsWith('__'))

  test.each(outputs.map((type) => [type.name, type] as const))(
    '%s names fields that are misspelt or meant',
    (_, type) => {
      const names = Object.keys(isObjectType(type) ? type.getFields() : {})
      for (const name of names)
        for (const word of [misspelt(name), snake(name), ...wordsFor(name, names)])
          if (word !== undefined && !names.includes(word))
            expect([word, said(`fragment F on ${type.name} { ${word} }`)]).toEqual([
              word,
              expect.stringContaining(`Did you mean "${name}"?`),
            ])
    },
  )

  test('a field names its arguments: misspelt, in other spelling, by another word, or missing', () => {
    let asked = 0
    for (const type of outputs)
      for (const field of Object.values(isObjectType(type) ? type.getFields() : {})) {
        const names = field.args.map(({ name }) => name)
        const told = (given: string): string => said(`fragment F on ${type.name} { ${field.name}${given} }`)
        for (const argument of field.args) {
          const { name, type: given } = argument
          for (const word of [misspelt(name), snake(name), ...endingOf(name, names), ...wordsFor(name, names)])
            if (word !== undefined && !names.includes(word)) {
              asked++
              expect([field.name, told(`(${word}: 1)`)]).toEqual([
                field.name,
                expect.stringContaining(
                  `Unknown argument "${word}" on field "${type.name}.${field.name}". Did you mean "${name}"?`,
                ),
              ])
            }
          if (isRequiredArgument(argument))
            expect(told('')).toContain(`argument "${name}" of type "${String(given)}" is required`)
        }
      }
    expect(asked).toBeGreaterThan(500)
  })

  test('a variable that is given in another spelling is named beside the one that is missing', () => {
    const document = parse('query ($vmId: ID!) { vm(id: $vmId) { id } }')
    for (const key of ['vm_id', 'vmid', 'id', 'vmdI'])
      expect(wrongVariable({ schema, document, variableValues: { [key]: 'x' } })?.message).toBe(
        `Variable "$vmId" must be ID!, and was not provided; "${key}" was. Did you mean "vmId"?`,
      )
  })

  test.each([
    ['mutation { createVm(name: "x") { vm { id } } }', 'Did you mean "input.name"?'],
    ['{ vms { id } }', 'Did you mean "nodes { id }"?'],
    ['{ me { id } }', 'Did you mean "viewer"?'],
    [
      '{ viewer { id } }',
      'Did you mean "authorizations { id }", "browserSessions { id }", "codeHostAccount { id }", "key { id }" or "organization { id }"?',
    ],
    ['subscription { vmChanged(id: "x") { status } }', 'Did you mean "vmEvents"?'],
    ['subscription { buildStatusChanged(id: "x") { status } }', 'Did you mean "buildEvents"?'],
    ['subscription { vmEvents(id: "x") { id } }', 'Did you mean "... on VmEvent { vm { id } }"?'],
    ['subscription { vmEvents(id: "x") { reason } }', 'Did you mean "... on VmEvent { statusReason }"?'],
    ['subscription { buildEvents(id: "x") { heartbeatAt } }', 'Did you mean to use an inline fragment on "Heartbeat"?'],
    ['mutation { createVm(input: {}) { id } }', 'Did you mean "vm { id }"?'],
    ['{ createVm(input: {}) { vm { id } } }', 'Mutation has it: begin the operation with "mutation".'],
    ['{ vms(order: desc) { nodes { id } } }', 'Did you mean the enum value "DESC"'],
    ['mutation { createVm(input: { memory_mb: 512 }) { vm { id } } }', 'Did you mean "memoryMb"?'],
    [
      'mutation { createVm(input: { allowedHosts: [] }) { vm { id } } }',
      'Did you mean "networkPolicy.limited.allowedHosts"?',
    ],
  ])('%s is told: %s', (document, hint) => {
    expect(said(document)).toContain(hint)
  })
})

type Operation = {
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

/** Parameters of signed addresses, which are Berth's own. */
const ours = new Set(['expires', 'signature'])
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
        for (const word of [misspelt(name), camel(name), ...wordsFor(name, names)]) {
          if (word === undefined || names.includes(word)) continue
          const said = await told(one.key, { [word]: 1 })
          if (!said.includes(`Unknown field ${word}. Did you mean ${name}?`))
            wrong.push(`${one.key}: ${word} for ${name}: ${said}`)
        }
    }
    expect(wrong).toEqual([])
  })

  test('names where a key belongs that is inside another one', async () => {
    const wrong: string[] = []
    let asked = 0
    for (const one of operations) {
      if (one.surface === 'llm') continue
      const properties = (bodyOf(one)?.['properties'] ?? {}) as Record<string, Schema>
      const names = Object.keys(properties)
      for (const [outer, given] of Object.entries(properties))
        for (const name of keysInside(given, one.document)) {
          if (nearestKey(name, names) !== undefined) continue
          asked++
          const said = await told(one.key, { [name]: 1 })
          if (!new RegExp(`Unknown field ${name}\\. Did you mean \\w+(?:\\[\\])?\\.${name}\\?`).test(said))
            wrong.push(`${one.key}: ${outer}.${name}: ${said}`)
        }
    }
    expect(asked).toBeGreaterThan(30)
    expect(wrong).toEqual([])
  })

  test('names the parameter of a query that is misspelt, in other spelling, or another word for it', async () => {
    const wrong: string[] = []
    for (const { key, surface, operation } of operations) {
      if (surface === 'llm' || key.includes('/callback/')) continue // a service of others sends its browsers back there
      const names = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name)
      for (const name of names.filter((one) => !one.includes('[') && !ours.has(one)))
        for (const word of [misspelt(name), camel(name), ...wordsFor(name, names)]) {
          if (word === undefined || names.includes(word)) continue
          const said = await told(`${key}?${word}=1`)
          if (!said.includes(`Unknown query parameter ${word}. Did you mean ${name}?`))
            wrong.push(`${key}: ${word} for ${name}: ${said}`)
        }
    }
    expect(wrong).toEqual([])
  })

  test('names the words that a parameter or a key takes, for one in another case', async () => {
    const wrong: string[] = []
    let asked = 0
    for (const one of operations) {
      if (one.surface === 'llm') continue
      const inQuery = (one.operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      const required = inQuery.filter((parameter) => parameter.required).map(({ name }) => `&${name}=nothing`)
      for (const { name, schema: given } of inQuery)
        for (const word of wordsOf(given ?? {}, one.document)) {
          asked++
          const said = await told(`${one.key}?${name}=${word.toUpperCase()}${required.join('')}`)
          if (!said.startsWith('400 ') || !said.includes(word)) wrong.push(`${one.key}?${name}: ${said}`)
        }
      const body = bodyOf(one)
      for (const [name, given] of Object.entries((body?.['properties'] ?? {}) as Record<string, Schema>))
        for (const word of wordsOf(given, one.document)) {
          asked++
          const isList = [given['type']].flat().includes('array')
          const other = word === word.toUpperCase() ? word.toLowerCase() : word.toUpperCase()
          const whole = wholeOf(body ?? {}, one.document)
          if ('path' in whole) Object.assign(whole, { path: '/x' })
          const said = await told(one.key, { ...whole, [name]: isList ? [other] : other })
          if (!said.startsWith('400 ') || !said.includes(word)) wrong.push(`${one.key}: ${name}: ${said}`)
        }
    }
    expect(asked).toBeGreaterThan(20)
    expect(wrong).toEqual([])
  })
})

const schemasOf = (given: Schema, document: Schema): Schema[] => {
  const one = typeof given['$ref'] === 'string' ? follow(given['$ref'], document) : given
  const choices = (one['oneOf'] ?? one['anyOf'] ?? []) as Schema[]
  return choices.length > 0 ? choices.flatMap((choice) => schemasOf(choice, document)) : [one]
}
/** The keys of the object that a schema describes, or of one of several. */
const keysInside = (given: Schema, document: Schema): string[] =>
  schemasOf(given, document).flatMap((one) => Object.keys((one['properties'] ?? {}) as object))
/** The words that a schema takes, or its items. */
const wordsOf = (given: Schema, document: Schema): string[] =>
  schemasOf(given, document)
    .flatMap((one) => (one['items'] ? schemasOf(one['items'] as Schema, document) : [one]))
    .flatMap((one) => ((one['enum'] ?? []) as unknown[]).filter((word) => typeof word === 'string'))
