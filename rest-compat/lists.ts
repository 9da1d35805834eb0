/**
 * Lists in REST: `limit` and `page` become a connection's arguments, and the connection becomes the documented list.
 */
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Variables } from './run.ts'

/**
 * How a connection is shown. `rows`: a bare list of its nodes. `page`: `{data, has_more, next_page}`. `pageBothWays`:
 * with `prev_page` too. `ids`: `{object, data, has_more, first_id, last_id}`, walked by `after_id` and `before_id`, as
 * OpenAI and Anthropic list models. `after`: `{data, has_more}`, walked by `after`, the id of an entry. `most` and `usual`: of `limit`. `order`: callers may turn it round by `order`. `at`:
 * the key of the body at which the connection is; the list then stands beside the body's other keys. `key`: under which
 * an object has the rows, instead of a bare list; `echoes`: with the limit and the offset as they were used.
 */
export type RestList = {
  shape: 'rows' | 'page' | 'pageBothWays' | 'ids' | 'after'
  most: number
  usual: number
  order?: true
  at?: string
  key?: string
  echoes?: true
}

/** The variables of a document that a list fills. */
export const listVariables: ReadonlySet<string> = new Set(['first', 'after', 'last', 'before', 'order'])

/** What every document of a list selects of the connection besides its nodes. */
export const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

const backwardsMark = '-'

/** The parameters that callers may send. */
export function listParameters({ shape, order }: RestList): string[] {
  const places = { rows: [], page: ['page'], pageBothWays: ['page'], ids: ['after_id', 'before_id'], after: ['after'] }[
    shape
  ]
  return ['limit', ...places, ...(order ? ['order'] : [])]
}

/** Reads them. @throws BerthError invalid_request. */
export function readList(list: RestList, query: Readonly<Record<string, string | string[]>>): Variables {
  const { order } = query
  return list.order && order !== undefined
    ? { ...readWindow(list, query), order: directionOf(order) }
    : readWindow(list, query)
}

function directionOf(order: string | string[]): string {
  if (order === 'asc' || order === 'desc') return order.toUpperCase()
  throw new BerthError('invalid_request', 'order must be asc or desc.', { field: 'order' })
}

function readWindow(
  { shape, most, usual }: RestList,
  { limit, page, after, after_id: afterId, before_id: beforeId }: Readonly<Record<string, string | string[]>>,
): Variables {
  const size = limit === undefined ? usual : wholeNumber('limit', numberOf(limit), 1, most)
  if (shape === 'ids') {
    if (afterId && beforeId) throw new BerthError('invalid_request', 'Give either after_id or before_id, not both.')
    if (Array.isArray(afterId) || Array.isArray(beforeId)) throw wrongPlace(afterId ? 'after_id' : 'before_id')
    return beforeId ? { last: size, before: beforeId } : { first: size, ...(afterId ? { after: afterId } : {}) }
  }
  if (shape === 'after') {
    if (Array.isArray(after) || after === '') throw wrongEntry()
    return { first: size, ...(after === undefined ? {} : { after }) }
  }
  if (shape === 'rows' || page === undefined || page === '') return { first: size }
  if (Array.isArray(page)) throw wrongPage()
  const isBackwards = shape === 'pageBothWays' && page.startsWith(backwardsMark)
  return isBackwards ? { last: size, before: page.slice(backwardsMark.length) } : { first: size, after: page }
}

function numberOf(text: string | string[]): number {
  return typeof text === 'string' && /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
}

/** An error about a connection's arguments, translated to REST's parameters. */
export function listError({ shape }: RestList, error: BerthError): BerthError {
  const { field } = error.details
  if (error.code !== 'invalid_request' || (field !== 'after' && field !== 'before')) return error
  if (shape === 'after') return wrongEntry()
  return shape === 'ids' ? wrongPlace(`${field}_id`) : wrongPage()
}

function wrongPlace(field: string): BerthError {
  return new BerthError(
    'invalid_request',
    `${field} is not an id in this list; pass last_id or first_id of the previous page.`,
    { field },
  )
}

function wrongEntry(): BerthError {
  return new BerthError(
    'invalid_request',
    'after is not an id in this list; pass the id of the last entry of the previous page.',
    { field: 'after' },
  )
}

function wrongPage(): BerthError {
  return new BerthError('invalid_request', 'page does not belong to this list; pass next_page of the previous page.', {
    field: 'page',
  })
}

type Connection = {
  nodes: unknown[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
}

/**
 * The documented list, made from the connection, or the object with a connection, that the document selected with these
 * variables.
 */
export function listBody(list: RestList, selected: unknown, variables: Variables): unknown {
  if (list.at === undefined) return shownList(list, selected as Connection, variables) // checked by its document
  const { [list.at]: connection, ...rest } = selected as Record<string, unknown> // as above
  return { ...rest, ...(shownList(list, connection as Connection, variables) as object) } // as above
}

function shownList({ shape, key, echoes }: RestList, connection: Connection, variables: Variables): unknown {
  const { nodes, pageInfo: at } = connection
  if (shape === 'rows' && key === undefined) return nodes
  if (shape === 'rows')
    return {
      [key ?? '']: nodes,
      ...(echoes ? { limit: variables['first'], offset: variables['offset'] ?? 0 } : {}),
    }
  if (shape === 'ids') {
    const hasMore = variables['last'] === undefined ? at.hasNextPage : at.hasPreviousPage // in the direction of the walk
    return { object: 'list', data: nodes, has_more: hasMore, first_id: at.startCursor, last_id: at.endCursor }
  }
  if (shape === 'after') return { data: nodes, has_more: at.hasNextPage }
  const next = at.hasNextPage ? at.endCursor : null
  const list = { data: nodes, has_more: next !== null, next_page: next }
  if (shape === 'page') return list
  return { ...list, prev_page: at.hasPreviousPage && at.startCursor ? backwardsMark + at.startCursor : null }
}
