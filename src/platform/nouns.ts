/**
 * What every noun has: rows by ids, one row, pages of a list, a row that is locked for a change. `readsOf` makes its
 * functions for callers; what it does not make gets the access condition from the noun's own function. Each condition stands
 * in parentheses, so that one with an `or` does not let other tenants' rows in.
 */
import type { RawBuilder } from 'kysely'
import { allow, allowAnywhere, type Reach, type Scope } from './access.ts'
import type { Permission } from './access/permissions.ts'
import { notFound } from './errors.ts'
import { decodeId, type IdKind } from './ids.ts'
import {
  countRows,
  idCursors,
  pageSql,
  readOffset,
  readPage,
  readPagesOfEach,
  type Direction,
  type ListOfEach,
  type Page,
  type PageReading,
  type PagesOf,
  type PageWindow,
  type SkippingWindow,
} from './pages.ts'
import { readWithinBytes, withinPageBytes } from './pages/bytes.ts'
import { limits } from './limits.ts'
import { findAll, findOne, sql, transaction, type Db, type Tx } from './postgres.ts'
import type { Call } from './services.ts'

/** A piece of SQL. */
type Sql = RawBuilder<unknown>

/** The public id of what something belongs to, where it may be left out: its own id says which one it is. */
export type ParentId = string | null | undefined

/** Whether this column is that parent: always without one, never where the text is no such id. */
export function isParent(kind: IdKind, publicId: ParentId, column: Sql = sql`id`): Sql {
  if (publicId === null || publicId === undefined) return sql`true`
  return sql`${column} = ${decodeId(kind, publicId) ?? null}::uuid`
}

/** A part of a list. @property offset how many rows to skip. @property most how many there are at once, where not as usual. */
export type ListWindow = SkippingWindow & { most?: number }

/** The queries of a noun. `mine` is the access condition, which each function of the noun first gets from `allow`. */
export type NounRows<Row> = {
  /** The rows with these stored ids, in any order. */
  find(db: Db, ids: readonly string[], mine: Sql): Promise<Row[]>
  /** The row with a public id. @param lock such as `for update`. @throws BerthError not_found. */
  read(db: Db, publicId: string, mine: Sql, lock?: Sql): Promise<Row>
  /** Runs a change in a transaction that has locked the row with a public id. @throws BerthError not_found; what `work` throws. */
  locked<Result>(db: Db, publicId: string, mine: Sql, work: (tx: Tx, before: Row) => Promise<Result>): Promise<Result>
  /** A page of a list, newest first. @param chosen which rows the list has. @throws BerthError invalid_request. */
  page(db: Db, window: ListWindow, chosen: Sql, direction?: Direction, columns?: readonly string[]): Promise<Page<Row>>
  /** The same page of the list of each parent. `chosen` may name the parent as `parent.id`. @throws BerthError invalid_request. */
  pageOfEach(db: Db, window: PageWindow, list: PageOfEach<Row>): Promise<PagesOf<Row>>
}

/** A list that each of many parents has: which parents are there for the caller, and which rows the list has. */
export type PageOfEach<Row> = Pick<ListOfEach<Row, string>, 'parents' | 'parentName' | 'most'> & {
  chosen: Sql
  direction?: Direction | undefined
  /** Those that are read beside the id, where not all are needed. */
  columns?: readonly string[] | undefined
}

/**
 * The rows of a noun in a table whose key `id` grows with time.
 * @param name the callers' name for one.
 * @param columns what a row is read as; the whole row without it.
 * @param large columns of JSON that may have megabytes: pages hold so many bytes of them together, and no more.
 */
export function rowsOf<Row extends { id: string }>(
  kind: IdKind,
  table: string,
  name: string,
  columns: Sql = sql`*`,
  large: readonly string[] = [],
): NounRows<Row> {
  const rows = sql.table(table)
  const select = sql`select ${columns} from ${rows}`
  const pageRows = (
    reading: PageReading,
    direction: Direction,
    chosen: Sql,
    needed: readonly string[] | undefined,
    passed = 0,
  ): Sql => {
    const { within, cut } = pageSql(sql`id`, reading, direction)
    const where = sql`${rows} where (${chosen}) and ${within} ${cut}${passed > 0 ? sql` offset ${passed}` : sql``}`
    const read = needed ? sql.join(['id', ...needed].map((column) => sql.ref(column))) : columns
    const sized = large.filter((column) => !needed || needed.includes(column))
    if (sized.length === 0) return sql`select ${read} from ${where}`
    const listed = sql`select ${read}, ${sizeOf(sized)} as size_bytes from ${where}`
    return withinPageBytes(listed, sql`id`, reading, direction)
  }
  const read: NounRows<Row>['read'] = async (db, publicId, mine, lock = sql``) => {
    const id = decodeId(kind, publicId)
    const row = id && (await findOne<Row>(db, sql`${select} where id = ${id} and (${mine}) ${lock}`))
    if (!row) throw notFound(name)
    return row
  }
  return {
    async find(db, ids, mine) {
      const chosen = sql`id = any(${ids}::uuid[]) and (${mine})`
      if (large.length === 0) return findAll(db, sql`${select} where ${chosen}`)
      const sized = sql<Row>`select ${columns}, ${sizeOf(large)} as size_bytes from ${rows} where ${chosen}`
      return (await readWithinBytes(db, sized, limits.pageBytes)).loaded
    },
    read,
    locked: (db, publicId, mine, work) =>
      transaction(db, async (tx) => work(tx, await read(tx, publicId, mine, sql`for no key update`))),
    async page(db, { most, ...window }, chosen, direction = 'desc', needed) {
      const passed = readOffset(window.offset)
      return readPage(
        kind,
        window,
        (reading) => findAll(db, pageRows(reading, direction, chosen, needed, passed) as RawBuilder<Row>),
        (reading) => countRows(db, sql`${rows} where (${chosen}) and ${pageSql(sql`id`, reading, direction).within}`),
        most,
      )
    },
    pageOfEach: (db, window, { chosen, direction = 'desc', columns: needed, ...list }) =>
      readPagesOfEach<Row, string>(db, window, {
        ...list,
        cursors: idCursors(kind),
        rows: (reading) => pageRows(reading, direction, chosen, needed),
        whole: sql`${rows} where ${chosen}`,
        ...(large.some((column) => !needed || needed.includes(column)) ? { bytesMax: limits.pageBytes } : {}),
      }),
  }
}

/** How many bytes of JSON a row has in these columns. */
function sizeOf(columns: readonly string[]): Sql {
  return sql.join(
    columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}::text), 0)`),
    sql` + `,
  )
}

/** How callers read a noun. Each function first checks the permission. */
export type Reads<Row, Filter = object> = {
  /** The one of this public id. @throws BerthError not_found. */
  get(call: Call, publicId: string): Promise<Row>
  /** Those of these stored ids, of all the caller's organizations, in any order. */
  find(call: Call, ids: readonly string[]): Promise<Row[]>
  /** A page of the active organization's, newest first. @throws BerthError invalid_request. */
  page(call: Call, window: PageWindow, filter?: Filter | null, direction?: Direction): Promise<Page<Row>>
}

/**
 * Makes the functions by which callers read a noun.
 * @param may the permission that each of them needs.
 * @param whose which rows are the caller's: `owned` or `ownedByCaller`.
 * @param listed which of them a list shows; all of them without it.
 */
export function readsOf<Row extends { id: string }, Filter extends object = object>(
  rows: NounRows<Row>,
  {
    may,
    whose,
    listed = () => sql`true`,
  }: { may: Permission; whose: (scope: Scope | Reach) => Sql; listed?: (filter: Partial<Filter>) => Sql },
): Reads<Row, Filter> {
  return {
    get: async (call, publicId) => rows.read(call.db, publicId, whose(allow(call.caller, may))),
    find: async (call, ids) => rows.find(call.db, ids, whose(allowAnywhere(call.caller, may))),
    page: async (call, window, filter, direction) => {
      const scope = allow(call.caller, may)
      return rows.page(call.db, window, sql`(${whose(scope)}) and (${listed(filter ?? {})})`, direction)
    },
  }
}

/** The filter of a list of rows that can be archived. */
export type ArchivedFilter = { includeArchived?: boolean | null }

/** Which of them a list shows: those in use, unless archived ones are asked for too. */
export function unlessArchived({ includeArchived }: ArchivedFilter): Sql {
  return sql`(${includeArchived ?? false} or archived_at is null)`
}
