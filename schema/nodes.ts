/**
 * Nodes: every noun that can be loaded by its id alone, through `node` and `nodes` and through the objects beside ids.
 */
import { builder } from './builder.ts'
import type { Call } from '#src/platform/services.ts'
import type { NodeName } from './node-ids.ts'

const batchMax = 1000 // ids in one statement

/**
 * The type of a noun. Fields may resolve to a stored id instead of a row: all rows that one level of a query needs are
 * then loaded by one call of `load`, which leaves out what is not the caller's; those fields are null. Nothing is
 * cached between batches, because a subscription keeps one context for hours.
 * @param load finds rows by their stored ids, in any order. It checks the caller's permission, as every resource
 * function does.
 */
export function nodeOf<Row extends { id: string }>(
  name: NodeName,
  idForm: string,
  load: (call: Call, ids: readonly string[]) => Promise<readonly Row[]>,
) {
  return builder.loadableNodeRef(name, {
    id: { description: idForm, resolve: ({ id }: Row) => id },
    load: async (ids: string[], call): Promise<Row[]> => {
      const rows = new Map((await load(call, [...new Set(ids)])).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id) ?? (null as never)) // every field that loads by id is nullable
    },
    loaderOptions: { cache: false, maxBatchSize: batchMax },
  })
}
