/**
 * Writes what is printed from the schema, and committed: schema.graphql, and the JSON Schema of files for `berth apply`.
 * `npm run schema`. A test fails when one is stale.
 */
import { writeFileSync } from 'node:fs'
import { printSchema } from 'graphql'
import { readFlags, runOrReport } from '#src/platform/command-line.ts'
import { describeFiles } from './apply/json-schema.ts'
import { schema } from './schema.ts'

const about =
  'npm run schema: writes schema/schema.graphql and cli/apply/berth.schema.json anew. It takes no arguments.'

await runOrReport(() => {
  readFlags(process.argv.slice(2), about, {})
  writeFileSync(new URL('schema.graphql', import.meta.url), `${printSchema(schema)}\n`)
  const files = new URL('../cli/apply/berth.schema.json', import.meta.url)
  writeFileSync(files, `${JSON.stringify(describeFiles(schema), null, 2)}\n`)
})
