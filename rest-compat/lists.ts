/** Lists as REST has them: `limit` and `page` become a connection's arguments, and its answer the documented list. */
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Variables } from './run.ts'

/**
 * How a connection is shown. `rows`: a bare list of its nodes. `page`: `{data, has_more, next_page}`. `pageBothWays`:
 * with `prev_page` too. `ids`: `{object, data, has_more, first_id, last_id}`, walked by `after_id` and `before_id`, as
 * OpenAI and Anthropic list models. `most` and `usual`: of `limit`.
 */
export type RestList = { shape: 'rows' | 'page' | 'pageBothWays' | 'ids'; most: number; usual: number }

/** The variables of a document that a list fills. */
export const listVariables: ReadonlySet<string> = new Set(['first', 'after', 'last', 'before'])

/** What every such document selects of a connection beside its nodes. */
export const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

const backwardsMark = '-'

/** The parameters that callers may send. */
export function listParameters({ shape }: RestList): string[] {
  if (shape === 'ids') return ['limit', 'after_id', 'before_id']
  return shape === 'rows' ? ['limit'] : ['limit', 'page']
}

/** Reads them. @throws BerthError invalid_request. */
export function readList(
  { shape, most, usual }: RestList,
  { limit, page, after_id: afterId, before_id: beforeId }: Readonly<Record<string, string | string[]>>,
): Variables {
  const size = limit === undefined ? usual : wholeNumber('limit', numberOf(limit), 1, most)
  if (shape === 'ids') {
    if (afterId && beforeId)
      throw new BerthError('invalid_request', 'after_id and before_id do not go together; give one of them.')
    if (Array.isArray(afterId) || Array.isArray(beforeId)) throw wrongPlace(afterId ? 'after_id' : 'before_id')
    return beforeId ? { last: size, before: beforeId } : { first: size, ...(afterId ? { after: afterId } : {}) }
  }
  if (shape === 'rows' || page === undefined || page === '') return { first: size }
  if (Array.isArray(page)) throw wrongPage()
  const isBackwards = shape === 'pageBothWays' && page.startsWith(backwardsMark)
  return isBackwards ? { last: size, before: page.slice(backwardsMark.length) } : { first: size, after: page }
}

function numberOf(text: string | string[]): number {
  return typeof text === 'string' && /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
}

/** What went wrong with a connection's arguments, in the words of whoever sent the list's parameters. */
export function listError({ shape }: RestList, error: BerthError): BerthError {
  const { field } = error.details
  if (error.code !== 'invalid_request' || (field !== 'after' && field !== 'before')) return error
  return shape === 'ids' ? wrongPlace(`${field}_id`) : wrongPage()
}

function wrongPlace(field: string): BerthError {
  return new BerthError(
    'invalid_request',
    `${field} is the id of nothing in this list; pass last_id or first_id of the page before.`,
    { field },
  )
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

/** The documented list of a connection, which was read with these variables. */
export function listBody({ shape }: RestList, connection: Connection, { last }: Variables): unknown {
  const { nodes, pageInfo: at } = connection
  if (shape === 'rows') return nodes
  if (shape === 'ids') {
    const hasMore = last === undefined ? at.hasNextPage : at.hasPreviousPage // in the direction of the walk
    return { object: 'list', data: nodes, has_more: hasMore, first_id: at.startCursor, last_id: at.endCursor }
  }
  const list = { data: nodes, has_more: at.hasNextPage, next_page: at.hasNextPage ? at.endCursor : null }
  if (shape === 'page') return list
  return { ...list, prev_page: at.hasPreviousPage && at.startCursor ? backwardsMark + at.startCursor : null }
}
