/** Lists as REST has them: `limit` and `page` become a connection's arguments, and its answer the documented list. */
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Variables } from './run.ts'

/**
 * How a connection is shown. `rows`: a bare list of its nodes. `page`: `{data, has_more, next_page}`. `pageBothWays`:
 * with `prev_page` too. `most` and `usual`: of `limit`.
 */
export type RestList = { shape: 'rows' | 'page' | 'pageBothWays'; most: number; usual: number }

/** The variables of a document that a list fills. */
export const listVariables: ReadonlySet<string> = new Set(['first', 'after', 'last', 'before'])

/** What every such document selects of a connection beside its nodes. */
export const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

const backwardsMark = '-'

/** The parameters that callers may send. */
export function listParameters({ shape }: RestList): string[] {
  return shape === 'rows' ? ['limit'] : ['limit', 'page']
}

/** Reads them. @throws BerthError invalid_request. */
export function readList(
  { shape, most, usual }: RestList,
  { limit, page }: Readonly<Record<string, string | string[]>>,
): Variables {
  const size = limit === undefined ? usual : wholeNumber('limit', numberOf(limit), 1, most)
  if (shape === 'rows' || page === undefined || page === '') return { first: size }
  if (Array.isArray(page)) throw wrongPage()
  const isBackwards = shape === 'pageBothWays' && page.startsWith(backwardsMark)
  return isBackwards ? { last: size, before: page.slice(backwardsMark.length) } : { first: size, after: page }
}

function numberOf(text: string | string[]): number {
  return typeof text === 'string' && /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
}

/** What went wrong with a connection's arguments, in the words of whoever sent `limit` and `page`. */
export function listError(error: BerthError): BerthError {
  const { field } = error.details
  return error.code === 'invalid_request' && (field === 'after' || field === 'before') ? wrongPage() : error
}

function wrongPage(): BerthError {
  return new BerthError('invalid_request', 'page is not one of this list; pass next_page of the page before.', {
    field: 'page',
  })
}

type Connection = {
  nodes: unknown[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
}

/** The documented list of a connection. */
export function listBody({ shape }: RestList, connection: Connection): unknown {
  const { nodes, pageInfo: at } = connection
  if (shape === 'rows') return nodes
  const list = { data: nodes, has_more: at.hasNextPage, next_page: at.hasNextPage ? at.endCursor : null }
  if (shape === 'page') return list
  return { ...list, prev_page: at.hasPreviousPage && at.startCursor ? backwardsMark + at.startCursor : null }
}
