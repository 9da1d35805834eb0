/** Programs that were let in to read: they may ask for no mutation, whatever it does. */
import type { GraphQLSchema } from 'graphql'
import { onlyReads } from '#src/platform/access.ts'
import type { Context } from '#schema/builder.ts'

/** Closes every mutation of a schema to them, before it looks at anything. */
export function withoutReadingPrograms(made: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(made.getMutationType()?.getFields() ?? {})) {
    const { name, resolve } = field
    if (!resolve) throw new Error(`${name} has no resolver to close`)
    field.resolve = (source, given, call: Context, info) => {
      if (call.caller.kind === 'person' && call.caller.program?.scope === 'read') throw onlyReads()
      return resolve(source, given, call, info)
    }
  }
  return made
}
