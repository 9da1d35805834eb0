/** Connections below the nodes of a list: those that an operation asks for with the same arguments are read together. */
import DataLoader from 'dataloader'
import type { GraphQLResolveInfo } from 'graphql'
import type { Context } from './builder.ts'
import type { Page, PagesOf } from '#src/platform/pages.ts'

const batchMax = 1000 // parents of one statement

/** What a list that counts its bytes needs of graphql. */
type Info = Partial<Pick<GraphQLResolveInfo, 'rootValue'>>
type Asked = { parentId: string; info: Info }

/**
 * Makes what a nested connection's resolver calls: parents that ask in the same moment, with the same arguments, are read
 * by one call of `read`. Nothing is kept from one batch to the next: a subscription lives for hours with one context.
 * @param read reads the page of each parent, by their stored ids. It lets the caller through, as every resource function does.
 */
export function pagesOfEach<Given extends object, Node>(
  read: (call: Context, parentIds: readonly string[], given: Given, info: Info) => Promise<PagesOf<Node>>,
): (call: Context, parentId: string, given: Given, info?: Info) => Promise<Page<Node>> {
  const loaders = new WeakMap<Context, Map<string, DataLoader<Asked, Page<Node>>>>()
  return (call, parentId, given, info = {}) => {
    let ofCall = loaders.get(call)
    if (!ofCall) loaders.set(call, (ofCall = new Map<string, DataLoader<Asked, Page<Node>>>()))
    const key = JSON.stringify(given)
    let loader = ofCall.get(key)
    if (!loader) {
      loader = new DataLoader(
        async (asked) => {
          const ids = asked.map((one) => one.parentId)
          const pages = await read(call, [...new Set(ids)], given, asked[0]?.info ?? {})
          return ids.map((id) => pageOrError(pages, id))
        },
        { cache: false, maxBatchSize: batchMax },
      )
      ofCall.set(key, loader)
    }
    return loader.load({ parentId, info })
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
