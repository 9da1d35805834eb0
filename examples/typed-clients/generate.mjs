// Generates typed clients from what a running Berth says of itself, into generated/: the types of the three OpenAPI
// documents, and those of the operations in operations.graphql. Needs no token: the descriptions are open.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { codegen } from '@graphql-codegen/core'
import * as nodes from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { parse } from 'graphql'

const { SERVER_URL = 'http://localhost:4000' } = process.env
const here = new URL('./', import.meta.url)
const folder = new URL('generated/', here)
await mkdir(folder, { recursive: true })

async function read(path) {
  const answer = await fetch(SERVER_URL + path)
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`)
  return answer.text()
}

// openapi-typescript uses the interface of TypeScript 5, which TypeScript 7 does not have. A project on 5 needs no hook.
registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context) })
const { default: typesOf, astToString } = await import('openapi-typescript')
const documents = { infra: '/api/v1/openapi.json', agents: '/agents/openapi.json', llm: '/llm/openapi.json' }
for (const [name, path] of Object.entries(documents)) {
  const types = astToString(await typesOf(await read(path)))
  await writeFile(new URL(`${name}.ts`, folder), types)
}

// What Berth's scalars are in JSON.
const scalars = {
  BigInt: 'number',
  Bytes: 'string',
  DateTime: 'string',
  Decimal: 'string',
  JSON: 'unknown',
  TextMap: 'Record<string, string>',
  TextMapPatch: 'Record<string, string | null>',
}
const client = await codegen({
  filename: 'graphql.ts',
  schema: parse(await read('/graphql/schema.graphql')),
  documents: [{ document: parse(await readFile(new URL('operations.graphql', here), 'utf8')) }],
  plugins: [{ operations: {} }, { nodes: {} }],
  pluginMap: { operations, nodes },
  config: { scalars, strictScalars: true, useTypeImports: true },
})
await writeFile(new URL('graphql.ts', folder), client)
