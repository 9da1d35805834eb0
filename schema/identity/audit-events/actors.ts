/** Says in each mutation who acts, so that the database records what it changes. */
import type { GraphQLSchema } from 'graphql'
import type { Context } from '#schema/builder.ts'
import { asCaller } from '#src/resources/identity/audit-events/recording.ts'

/**
 * Mutations that are not recorded: what is done inside a VM, what models are asked, and what somebody has seen. They may come
 * hundreds of times a minute, and change no object.
 */
export const unrecordedMutations: readonly string[] = [
  'createChatCompletion',
  'createEmbeddings',
  'createVmFileUrl',
  'createVmFolder',
  'execInVm',
  'killVmProcess',
  'markSessionSeen',
  'removeVmPath',
  'renameVmPath',
  'writeVmFile',
]

/** Makes every other mutation run as its caller. */
export function withActors(made: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(made.getMutationType()?.getFields() ?? {})) {
    const { name, resolve } = field
    if (!resolve || unrecordedMutations.includes(name)) continue
    field.resolve = (source, given, call: Context, info) =>
      asCaller(call, name, () => resolve(source, given, call, info))
  }
  return made
}
