/** Writes schema.graphql, the committed print of the schema: `npm run schema`. A test fails when it is stale. */
import { writeFileSync } from 'node:fs'
import { printSchema } from 'graphql'
import { readFlags, runTold } from '#src/platform/command-line.ts'
import { schema } from './schema.ts'

await runTold(() => {
  readFlags(process.argv.slice(2), 'npm run schema: writes schema/schema.graphql anew. It takes no arguments.', {})
  writeFileSync(new URL('schema.graphql', import.meta.url), `${printSchema(schema)}\n`)
})
