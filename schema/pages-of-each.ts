/** Connections below the nodes of a list: those that an operation asks for with the same arguments are read together. */
import DataLoader from 'dataloader'
import type { Context } from './builder.ts'
import type { Page, PagesOf } from '#src/platform/pages.ts'

const batchMax = 1000 // parents of one statement

/**
 * Makes what a nested connection's resolver calls: parents that ask in the same moment, with the same arguments, are read
 * by one call of `read`. Nothing is kept from one batch to the next: a subscription lives for hours with one context.
 * @param read reads the page of each parent, by their stored ids. It lets the caller through, as every resource function does.
 */
export function pagesOfEach<Given extends object, Node>(
  read: (call: Context, parentIds: readonly string[], given: Given) => Promise<PagesOf<Node>>,
): (call: Context, parentId: string, given: Given) => Promise<Page<Node>> {
  const loaders = new WeakMap<Context, Map<string, DataLoader<string, Page<Node>>>>()
  return (call, parentId, given) => {
    let ofCall = loaders.get(call)
    if (!ofCall) loaders.set(call, (ofCall = new Map<string, DataLoader<string, Page<Node>>>()))
    const key = JSON.stringify(given)
    let loader = ofCall.get(key)
    if (!loader) {
      loader = new DataLoader(
        async (ids) => {
          const pages = await read(call, [...new Set(ids)], given)
          return ids.map((id) => pageOrError(pages, id))
        },
        { cache: false, maxBatchSize: batchMax },
      )
      ofCall.set(key, loader)
    }
    return loader.load(parentId)
  }
}

/** One parent that is not there fails alone. */
function pageOrError<Node>(pages: PagesOf<Node>, parentId: string): Page<Node> | Error {
  try {
    return pages(parentId)
  } catch (error) {
    return error instanceof Error ? error : new Error('a page could not be made', { cause: error })
  }
}
