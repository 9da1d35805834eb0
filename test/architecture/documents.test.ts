/** The GraphQL documents of the console and of the TypeScript client: valid against the schema, and their types, which are generated. */
import { globSync, readFileSync } from 'node:fs'
import { codegen } from '@graphql-codegen/core'
import * as typedDocuments from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import {
  buildSchema,
  isAbstractType,
  Kind,
  parse,
  print,
  printSchema,
  validate,
  visit,
  type DocumentNode,
} from 'graphql'
import { expect, test } from 'vitest'
import { parseDocument } from '#src/gateway/graphql-checks.ts'
import { measureOperation, refuseLarge, refuseLong } from '#src/gateway/operation-size.ts'
import { root } from './sources.ts'

const schema = buildSchema(readFileSync(`${root}/schema/schema.graphql`, 'utf8'))
type Source = { location: string; document: DocumentNode }
const read = (pattern: string): Source[] =>
  globSync(pattern, { cwd: root })
    .sort()
    .map((location) => ({ location, document: parse(readFileSync(`${root}/${location}`, 'utf8')) }))
const documents = read('console/*/documents.graphql')
const ofClient = read('src/client/documents/*.graphql')
const sets = [
  { of: 'the console', set: documents },
  { of: 'the client', set: ofClient },
]
const scalars = {
  DateTime: 'string',
  Decimal: 'string',
  BigInt: 'string',
  JSON: 'unknown',
  TextMap: 'Record<string, string>',
}

test.each(sets)('every document of $of is valid', ({ set }) => {
  const all = { kind: 'Document' as const, definitions: set.flatMap(({ document }) => document.definitions) }
  expect(validate(schema, all as never).map(({ message }) => message)).toEqual([])
})

/** An operation as it is sent: with the fragments that it needs and, by the console, the type of each object. */
function sentDocuments(set: readonly Source[], types = true): [name: string, text: string][] {
  const all = set.flatMap(({ document }) => document.definitions)
  const needed = (definition: (typeof all)[number], found = new Set<(typeof all)[number]>()): typeof found => {
    visit(definition, {
      FragmentSpread({ name }) {
        const fragment = all.find((one) => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name.value)
        if (!fragment || found.has(fragment)) return
        found.add(fragment)
        needed(fragment, found)
      },
    })
    return found
  }
  return all.flatMap((definition) => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return []
    const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [definition, ...needed(definition)] }
    return [[definition.name?.value ?? '', print(types ? withTypes(document) : document)] as [string, string]]
  })
}

function withTypes(document: DocumentNode): DocumentNode {
  const name = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } } as const
  return visit(document, {
    SelectionSet: {
      leave: (set, _key, parent) =>
        (parent as { kind?: string }).kind === Kind.OPERATION_DEFINITION || // roots have none
        set.selections.some((one) => one.kind === Kind.FIELD && one.name.value === '__typename')
          ? undefined
          : { ...set, selections: [...set.selections, name] },
    },
  })
}

test.each(sets)('every operation of $of is one that Berth takes, for a page of a hundred', ({ set }) => {
  const refused = sentDocuments(set).flatMap(([name, text]) => {
    try {
      const document = parseDocument(text)
      refuseLong(document)
      for (const one of document.definitions)
        if (one.kind === Kind.OPERATION_DEFINITION) refuseLarge(measureOperation(schema, document, one, { first: 100 }))
      return []
    } catch (error) {
      return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
    }
  })
  expect(refused).toEqual([])
})

test('their types are up to date; if not, run: npm run generate', async () => {
  const config = {
    scalars,
    enumType: 'string-literal',
    useTypeImports: true,
    skipTypename: true,
    documentMode: 'graphQLTag',
    gqlImport: 'urql#gql',
    dedupeFragments: true,
    omitOperationSuffix: true,
  }
  const text = await codegen({
    filename: 'documents.ts',
    schema: parse(printSchema(schema)) as never, // one of its copies of graphql
    documents: documents as never,
    config,
    plugins: [{ operations: {} }, { typedDocuments: {} }],
    pluginMap: { operations, typedDocuments } as never,
  })
  const head = '/** Generated from documents.graphql of each folder: npm run generate. */\n'
  await expect(`${head}${text}`).toMatchFileSnapshot(`${root}/console/generated/documents.ts`)
})

/** Line and length of a text in the generated file do not matter: it is sent, and read by nobody. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

test('the types of the client are up to date; if not, run: npm run generate', async () => {
  const text = await codegen({
    filename: 'documents.ts',
    schema: parse(printSchema(schema)) as never, // one of its copies of graphql
    documents: ofClient as never,
    config: {
      scalars,
      enumType: 'string-literal',
      skipTypename: true,
      dedupeFragments: true,
      omitOperationSuffix: true,
    },
    plugins: [{ operations: {} }],
    pluginMap: { operations } as never,
  })
  const sent = sentDocuments(ofClient, false).map(
    ([name, document]) =>
      `export const ${name}Document = documentOf<${name}, ${name}Variables>(\n  ${JSON.stringify(oneLine(document))},\n)`,
  )
  const head =
    "/** Generated from src/client/documents: npm run generate. */\nimport { documentOf } from '../documents.ts'\n\n"
  await expect(`${head}${text}\n${sent.join('\n')}\n`).toMatchFileSnapshot(`${root}/src/client/generated/documents.ts`)
})

/** Interfaces and unions that fragments are about, and what each may be. */
function possibleTypes(): Record<string, string[]> {
  const asked = new Set<string>()
  for (const { document } of documents) visit(document, { NamedType: ({ name }) => void asked.add(name.value) }) // of fragments, and of variables, which are neither
  const abstract = [...asked]
    .sort()
    .map((name) => schema.getType(name))
    .filter(isAbstractType)
  return Object.fromEntries(
    abstract.map((type) => [
      type.name,
      schema
        .getPossibleTypes(type)
        .map(({ name }) => name)
        .sort(),
    ]),
  )
}

test('what each interface and union may be is up to date; if not, run: npm run generate', async () => {
  const head =
    '/** What each interface and union of the documents may be, for the cache. Generated: npm run generate. */\n'
  const text = `${head}export const possibleTypes = ${JSON.stringify(possibleTypes(), null, 2)}\n`
  await expect(text).toMatchFileSnapshot(`${root}/console/generated/possible-types.ts`)
})
