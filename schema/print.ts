/** Writes schema.graphql, the committed picture of the schema: `npm run schema`. A test fails when it is stale. */
import { writeFileSync } from 'node:fs'
import { printSchema } from 'graphql'
import { schema } from './schema.ts'

writeFileSync(new URL('schema.graphql', import.meta.url), `${printSchema(schema)}\n`)
