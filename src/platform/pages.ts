/** Pages: one row more than asked for is read, to know whether there are more. */
import { BerthError, notFound } from './errors.ts'
import { decodeId, encodeId, type IdKind } from './ids.ts'
import { limits } from './limits.ts'
import type { RawBuilder } from 'kysely'
import { isFullBySize, readWithinBytes } from './pages/bytes.ts'
import { findAll, getOne, sql, type Db } from './postgres.ts'

/** A value that can be large, and how many stored bytes were read for it. */
export type Loaded<Value> = { loaded: Value; bytes: number }

/** The requested part of a list, in Relay's terms: how many from the start or the end, between which cursors. */
export type PageWindow = { first?: number | null; after?: string | null; last?: number | null; before?: string | null }

/** The same with how many rows of the list are skipped. */
export type SkippingWindow = PageWindow & { offset?: number | null }

/** A page of a Relay connection. `count` counts the whole list on demand. */
export type Page<Node> = {
  count: () => Promise<number>
  edges: { cursor: string; node: Node }[]
  nodes: Node[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
}

/** Which rows of a list a page needs: `most` of those between two keys, counted from the end of the list or from its beginning. */
export type PageReading<Key = string> = { most: number; after: Key | null; before: Key | null; fromEnd: boolean }

/** Counts the rows of a list that such a reading could reach, however many. */
export type CountRows<Key = string> = (reading: PageReading<Key>) => Promise<number>

/**
 * Reads a page of a connection whose cursors are the public ids of its rows.
 * @param read reads the rows; `pageSql` writes what the reading says.
 * @param count counts the rows of the list.
 * @throws BerthError invalid_request.
 */
export function readPage<Row extends { id: string }>(
  kind: IdKind,
  window: SkippingWindow,
  read: (reading: PageReading) => Promise<Row[]>,
  count: CountRows,
  most: number = limits.connectionFirstMax,
): Promise<Page<Row>> {
  return readPageBy(idCursors(kind), window, read, count, most)
}

/** How the cursors of a list are parsed and written: `keyOf` returns undefined for a text that is not a cursor. */
export type Cursors<Row, Key> = { keyOf: (cursor: string) => Key | undefined; cursorOf: (row: Row) => string }

/** Cursors that are the public ids of the rows. */
export function idCursors(kind: IdKind): Cursors<{ id: string }, string> {
  return { keyOf: (cursor) => decodeId(kind, cursor), cursorOf: ({ id }) => encodeId(kind, id) }
}

/** The same for rows whose cursors are something else. */
export async function readPageBy<Row, Key>(
  cursors: Cursors<Row, Key>,
  window: SkippingWindow,
  read: (reading: PageReading<Key>) => Promise<Row[]>,
  count: CountRows<Key>,
  most: number = limits.connectionFirstMax,
): Promise<Page<Row>> {
  const reading = readWindow(cursors.keyOf, window, most)
  const page: Page<Row> = pageOf(cursors.cursorOf, window, reading, await read(reading), async (): Promise<number> => {
    const { endCursor } = page.pageInfo
    const last = isBeginning(window) && endCursor !== null ? cursors.keyOf(endCursor) : undefined
    // What is made between the two statements is in neither: who follows the list is told of it, and adds it.
    if (last !== undefined) return page.nodes.length + (await count({ ...reading, after: last }))
    return count({ ...reading, after: null, before: null })
  })
  return page
}

/** Whether a page begins where its list does. */
function isBeginning({ after, before, last, offset }: SkippingWindow): boolean {
  return !isGiven(after) && !isGiven(before) && !isGiven(last) && !offset
}

/** A list that each of many parents has, such as the credentials of vaults. */
export type ListOfEach<Row, Key> = {
  cursors: Cursors<Row, Key>
  /** Selects the `id` of each parent that the caller may see. */
  parents: RawBuilder<unknown>
  /** Selects what a page of the parent `parent.id` needs. */
  rows: (reading: PageReading<Key>) => RawBuilder<unknown>
  /** All rows of the parent `parent.id`, as `<table> where …`. */
  whole: RawBuilder<unknown>
  /** The name of a parent in its not_found error. */
  parentName: string
  most?: number
  /** Of rows that have `size_bytes`: how many bytes several of them may have together. */
  bytesMax?: number
}

/** The pages of many parents, by a parent's stored id. Throws not_found for a parent that does not exist. */
export type PagesOf<Row> = (parentId: string) => Page<Row>

/**
 * Reads the same page of the list of each parent, all by one statement; their lists are counted by one, too.
 * @throws BerthError invalid_request.
 */
export async function readPagesOfEach<Row extends { id: string }, Key>(
  db: Db,
  window: PageWindow,
  list: ListOfEach<Row, Key>,
): Promise<PagesOf<Row>> {
  return (await readSizedPagesOfEach(db, window, list)).loaded
}

/** The same with the bytes that were read, of a list that says how many it may read. */
export async function readSizedPagesOfEach<Row extends { id: string }, Key>(
  db: Db,
  window: PageWindow,
  { cursors, parents, rows, whole, parentName, most = limits.connectionFirstMax, bytesMax }: ListOfEach<Row, Key>,
): Promise<Loaded<PagesOf<Row>>> {
  const reading = readWindow(cursors.keyOf, window, most)
  // A lateral list is read parent by parent, so each one's rows stay in their order. A parent without rows has one of nulls.
  type Read = Row & { pageOf: string }
  const listed = sql<Read>`select page.*, parent.id as page_of from (${parents}) parent left join lateral (${rows(reading)}) page on true`
  const { loaded: found, bytes } =
    bytesMax === undefined
      ? { loaded: await findAll(db, listed), bytes: 0 }
      : await readWithinBytes(db, listed, bytesMax)
  const byParent = Map.groupBy(found, ({ pageOf: parentId }) => parentId)
  let counts: Promise<Map<string, number>> | undefined
  const countAll = async (): Promise<Map<string, number>> => {
    const counted = await findAll<{ pageOf: string; count: number }>(
      db,
      sql`select parent.id as page_of, (select count(*) from ${whole}) as count from (${parents}) parent`,
    )
    return new Map(counted.map(({ pageOf: parentId, count }) => [parentId, count]))
  }
  const loaded = (parentId: string): Page<Row> => {
    const ofParent = byParent.get(parentId)
    if (!ofParent) throw notFound(parentName)
    const shown = ofParent[0]?.id === null ? [] : ofParent
    const count = async (): Promise<number> => (await (counts ??= countAll())).get(parentId) ?? 0
    return pageOf(cursors.cursorOf, window, reading, shown, count)
  }
  return { loaded, bytes }
}

/** What a page's reading needs. @throws BerthError invalid_request. */
function readWindow<Key>(
  keyOf: Cursors<never, Key>['keyOf'],
  { first, after, last, before }: PageWindow,
  most: number,
): PageReading<Key> {
  if (isGiven(first) && isGiven(last))
    throw new BerthError('invalid_request', 'Give either first or last, not both.', { field: 'last' })
  const fromEnd = isGiven(last)
  const size = fromEnd
    ? wholeNumber('last', last ?? 0, 1, most)
    : wholeNumber('first', first ?? Math.min(limits.connectionFirstDefault, most), 1, most)
  const keyAt = (name: 'after' | 'before', cursor: string | null | undefined): Key | null => {
    if (cursor === null || cursor === undefined) return null
    const key = keyOf(cursor)
    if (key !== undefined) return key
    throw new BerthError(
      'invalid_request',
      `${name} is not a cursor of this list; pass ${name === 'after' ? 'endCursor' : 'startCursor'} of a page of it.`,
      { field: name },
    )
  }
  return { most: size + 1, after: keyAt('after', after), before: keyAt('before', before), fromEnd }
}

/** The page of the rows that were read. */
function pageOf<Row>(
  cursorOf: Cursors<Row, never>['cursorOf'],
  window: SkippingWindow,
  { most, fromEnd }: PageReading<unknown>,
  rows: Row[],
  count: () => Promise<number>,
): Page<Row> {
  const isCut = rows.length >= most || isFullBySize(rows)
  const shown = rows.slice(0, most - 1)
  const nodes = fromEnd ? shown.reverse() : shown
  const cursorAt = (row: Row | undefined): string | null => (row === undefined ? null : cursorOf(row))
  let counted: Promise<number> | undefined // a page that several parents share is counted once
  return {
    // Made only on demand: REST's lists do not need them, and a cursor for each row costs as much as its id.
    get edges() {
      return nodes.map((node) => ({ cursor: cursorOf(node), node }))
    },
    nodes,
    pageInfo: {
      hasNextPage: fromEnd ? isGiven(window.before) : isCut,
      hasPreviousPage: fromEnd ? isCut : isGiven(window.after),
      startCursor: cursorAt(nodes[0]),
      endCursor: cursorAt(nodes.at(-1)),
    },
    count: () => (counted ??= isBeginning(window) && !isCut ? Promise.resolve(nodes.length) : count()),
  }
}

/** The order of a list by one key that only grows, such as ids, which grow with time. */
export type Direction = 'asc' | 'desc'

/**
 * Writes a page's reading for `where` and for the end of the statement.
 * @param key the column that the list is ordered by, or several.
 * @param placeOf the `key` of a cursor's row, if it is not the cursor itself.
 */
export function pageSql<Key extends string | number = string>(
  key: RawBuilder<unknown> | readonly RawBuilder<unknown>[],
  { most, after, before, fromEnd }: PageReading<Key>,
  direction: Direction = 'desc',
  placeOf: (cursor: Key) => RawBuilder<unknown> = (cursor) => sql`${cursor}`,
): { within: RawBuilder<unknown>; cut: RawBuilder<unknown> } {
  const isRising = direction === 'asc'
  const columns = Array.isArray(key) ? (key as readonly RawBuilder<unknown>[]) : [key as RawBuilder<unknown>] // Array.isArray tells no readonly list
  const orderKey = columns.length > 1 ? sql`(${sql.join(columns)})` : columns[0]
  const order = isRising === fromEnd ? sql`desc` : sql`asc`
  const beyond = (rising: boolean, bound: Key | null): RawBuilder<unknown> =>
    bound === null ? sql`true` : rising ? sql`${orderKey} > ${placeOf(bound)}` : sql`${orderKey} < ${placeOf(bound)}`
  return {
    within: sql`${beyond(isRising, after)} and ${beyond(!isRising, before)}`,
    cut: sql`order by ${sql.join(columns.map((column) => sql`${column} ${order}`))} limit ${most}`,
  }
}

/** Reads how many rows of a list to skip. @throws BerthError invalid_request. */
export function readOffset(offset: number | null | undefined): number {
  return wholeNumber('offset', offset ?? 0, 0, 2_147_483_647)
}

/** Counts the rows of `<table> where …`. */
export async function countRows(db: Db, rows: RawBuilder<unknown>): Promise<number> {
  return (await getOne<{ count: number }>(db, sql`select count(*) from ${rows}`)).count
}

/**
 * The position in an event stream's cursor.
 * @param latest the newest position, if one beyond it is no cursor; otherwise it is waited for.
 * @throws BerthError invalid_request for a text that is not a cursor.
 */
export function eventPosition(after: string, latest: number = Infinity): number {
  const position = /^\d{1,15}$/.test(after) ? Number(after) : Infinity
  if (position > latest || position === Infinity)
    throw new BerthError('invalid_request', 'after is not a cursor of this stream; pass the cursor of the last event.')
  return position
}

/** Whether a caller has said something here. */
export function isGiven<Value>(given: Value | null | undefined): given is Value {
  return given !== null && given !== undefined
}

/** The number, when it is whole and within its bounds. */
export function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new BerthError('invalid_request', `${name} must be a whole number from ${least} to ${most}.`, { field: name })
  return value
}
