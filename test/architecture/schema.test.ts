/** The GraphQL schema is the product's documentation: everything in it says what it is, and its printed copy is current. */
import { readFileSync } from 'node:fs'
import {
  type GraphQLField,
  type GraphQLInputField,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  printSchema,
} from 'graphql'
import { expect, test } from 'vitest'
import { describeFiles } from '#schema/apply/json-schema.ts'
import { schema } from '#schema/schema.ts'
import { listFiles, root } from './sources.ts'

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !type.name.startsWith('__') && !['String', 'Int', 'Float', 'Boolean', 'ID'].includes(type.name),
)

test('every type, field, argument, input and directive has a description', () => {
  const silent: string[] = []
  const look = (name: string, described: { description?: string | null | undefined }): void => {
    if (!described.description || described.description.trim().length < 5) silent.push(name)
  }
  for (const type of types) {
    look(type.name, type)
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        look(`${type.name}.${field.name}`, field)
        for (const argument of field.args) look(`${type.name}.${field.name}(${argument.name})`, argument)
      }
    }
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) look(`${type.name}.${field.name}`, field)
  }
  expect(types.length).toBeGreaterThan(25)
  expect(silent).toEqual([])
})

test('the description of an enum, or of each of its values, says what the values mean', () => {
  const silent = types
    .filter(isEnumType)
    .filter((type) =>
      type
        .getValues()
        .some(
          (value) =>
            !value.description && !type.description?.includes(value.name) && !type.description?.includes('others'),
        ),
    )
  expect(silent.map((type) => type.name)).toEqual([])
})

test('names follow GraphQL: types in PascalCase, fields and arguments in camelCase, units in the name', () => {
  const wrong: string[] = []
  for (const type of types) {
    if (!/^[A-Z][A-Za-z0-9]*$/.test(type.name)) wrong.push(type.name)
    if (!isObjectType(type) && !isInputObjectType(type)) continue
    const fields: (GraphQLField<unknown, unknown> | GraphQLInputField)[] = Object.values(type.getFields())
    for (const field of fields) {
      if (!/^[a-z][A-Za-z0-9]*$/.test(field.name)) wrong.push(`${type.name}.${field.name}`)
      if ('args' in field)
        for (const argument of field.args)
          if (!/^[a-z][A-Za-z0-9]*$/.test(argument.name)) wrong.push(`${type.name}.${field.name}(${argument.name})`)
    }
  }
  expect(wrong).toEqual([])
})

/** Subscriptions whose events are kept nowhere, and why. */
const notKept: Readonly<Record<string, string>> = {
  databaseMetricsChanged: 'a measurement takes the place of the one before it, and the last one comes first',
  vmMetricsChanged: 'a reading takes the place of the one before it, and is stored nowhere',
  chatCompletionEvents: 'an answer of a model belongs to whoever asked: what nobody heard is not stored',
}
test('every subscription takes a cursor and answers a union with heartbeats', () => {
  for (const field of Object.values(schema.getSubscriptionType()?.getFields() ?? {})) {
    if (!(field.name in notKept))
      expect(
        field.args.map((argument) => argument.name),
        field.name,
      ).toContain('after')
    const union = schema.getType(String(field.type).replace('!', ''))
    expect(isUnionType(union) && union.getTypes().map((type) => type.name), field.name).toContain('Heartbeat')
  }
})

test('every connection has edges, nodes and pageInfo, and pages by first and after', () => {
  const connections = types.filter(isObjectType).filter((type) => type.name.endsWith('Connection'))
  expect(connections.length).toBeGreaterThan(0)
  for (const type of connections)
    expect(Object.keys(type.getFields()).sort()).toEqual(['edges', 'nodes', 'pageInfo', 'totalCount'])
  const paged = [schema.getQueryType(), ...types.filter(isObjectType)]
    .flatMap((type) => Object.values(type?.getFields() ?? {}))
    .filter((field) => String(field.type).includes('Connection'))
  for (const field of paged)
    expect(
      field.args.map((argument) => argument.name),
      field.name,
    ).toEqual(expect.arrayContaining(['first', 'after']))
})

test('no description refers to the one before it', () => {
  const described = types.flatMap((type) => [
    ...(isEnumType(type) ? type.getValues() : []),
    ...(isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? Object.values(type.getFields()) : []),
  ])
  expect(described.length).toBeGreaterThan(500)
  expect(
    described.filter(({ description }) => /^(The same,|It does\.|Not\.|Too\.)/.test(String(description ?? ''))),
  ).toEqual([])
})

test('every noun of the schema is loaded', () => {
  const loaded = readFileSync(`${root}/schema/schema.ts`, 'utf8')
  const nouns = listFiles(['schema'], '.ts')
    .filter((path) => path.split('/').length === 3 && !/^schema\/(?:old-names|apply)\//.test(path))
    .map((path) => path.replace('schema/', './'))
  expect(nouns.filter((path) => !loaded.includes(`import '${path}'`))).toEqual([])
})

test('schema.graphql is what the code says; if not, run: npm run schema', () => {
  expect(readFileSync(`${root}/schema/schema.graphql`, 'utf8')).toBe(`${printSchema(schema)}\n`)
})

test('berth.schema.json is made of the schema; if not, run: npm run schema', () => {
  const made = `${JSON.stringify(describeFiles(schema), null, 2)}\n`
  expect(readFileSync(`${root}/cli/apply/berth.schema.json`, 'utf8')).toBe(made)
})
