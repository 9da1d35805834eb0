/** What stands beside the nodes of a list, one row for each: rows that are asked for in the same moment are read together. */
import DataLoader from 'dataloader'
import type { Context } from './builder.ts'

const batchMax = 1000 // rows of one statement

/**
 * Makes what a resolver calls for a row that is no node, or that `node` does not show. Nothing is kept from one batch to
 * the next: a subscription lives for hours with one context.
 * @param read finds the rows by stored ids, in any order. It lets the caller through, as every resource function does.
 * @param idOf the id by which a row was asked for.
 */
export function rowsOfEach<Row>(
  read: (call: Context, ids: readonly string[]) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
): (call: Context, id: string) => Promise<Row | null> {
  const loaders = new WeakMap<Context, DataLoader<string, Row | null>>()
  return (call, id) => {
    let loader = loaders.get(call)
    if (!loader) {
      loader = new DataLoader(
        async (ids) => {
          const rows = new Map((await read(call, [...new Set(ids)])).map((row) => [idOf(row), row]))
          return ids.map((one) => rows.get(one) ?? null)
        },
        { cache: false, maxBatchSize: batchMax },
      )
      loaders.set(call, loader)
    }
    return loader.load(id)
  }
}
