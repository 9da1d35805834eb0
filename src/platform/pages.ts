/** Pages: one row more than asked for is read, to know whether there are more. */
import { BerthError } from './errors.ts'
import { decodeId, encodeId, type IdKind } from './ids.ts'
import { limits } from './limits.ts'

/** A page of a Relay connection. */
export type Page<Node> = { edges: { cursor: string; node: Node }[]; nodes: Node[]; pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null } }

/** Reads `first`: 1 to 100, default 50. */
export function pageSize(first: number | null | undefined): number {
  return wholeNumber('first', first ?? limits.connectionFirstDefault, 1, limits.connectionFirstMax)
}

/** Reads limit and offset of a plain list. */
export function listWindow(limit: number | null | undefined, offset: number | null | undefined, most: number = limits.infraListMax, usual: number = most): { limit: number; offset: number } {
  return { limit: wholeNumber('limit', limit ?? usual, 1, most), offset: wholeNumber('offset', offset ?? 0, 0, 2_147_483_647) }
}

/** Makes the page of rows read with `limit first + 1`. A cursor is the public id of its row. */
export function page<Node extends { id: string }>(kind: IdKind, rows: Node[], first: number, after: string | null | undefined): Page<Node> {
  return pageBy(({ id }) => encodeId(kind, id), rows, first, after)
}

/** The same for rows whose cursor is something else. */
export function pageBy<Node>(cursorOf: (node: Node) => string, rows: Node[], first: number, after: string | null | undefined): Page<Node> {
  const nodes = rows.slice(0, first)
  const edges = nodes.map((node) => ({ cursor: cursorOf(node), node }))
  return {
    edges, nodes,
    pageInfo: { hasNextPage: rows.length > first, hasPreviousPage: Boolean(after), startCursor: edges[0]?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null },
  }
}

/**
 * The stored id that a cursor stands for, or null for none.
 * @throws BerthError invalid_request for a text that is no cursor.
 */
export function cursorId(kind: IdKind, after: string | null | undefined): string | null {
  if (after === null || after === undefined) return null
  const id = decodeId(kind, after)
  if (!id) throw new BerthError('invalid_request', 'after is not a cursor of this list; pass endCursor of the page before.')
  return id
}

/**
 * The position that an event stream's cursor stands for.
 * @throws BerthError invalid_request for a text that is no cursor.
 */
export function eventPosition(after: string): number {
  if (!/^\d{1,15}$/.test(after)) throw new BerthError('invalid_request', 'after is not a cursor of this stream; pass the cursor of the last event.')
  return Number(after)
}

/** The number, when it is whole and within its bounds. */
export function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) throw new BerthError('invalid_request', `${name} must be a whole number from ${least} to ${most}.`)
  return value
}
