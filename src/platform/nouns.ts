/**
 * The queries that every noun has: rows by ids, one row, pages of a list. The noun's functions supply the access
 * condition.
 */
import type { RawBuilder } from 'kysely'
import { notFound } from './errors.ts'
import { decodeId, type IdKind } from './ids.ts'
import {
  countRows,
  idCursors,
  pageSql,
  readPage,
  readPagesOfEach,
  type Direction,
  type ListOfEach,
  type Page,
  type PagesOf,
  type PageWindow,
} from './pages.ts'
import { findAll, findOne, sql, type Db } from './postgres.ts'

/** A piece of SQL. */
type Sql = RawBuilder<unknown>

/** The queries of a noun. `mine` is the access condition, which each function of the noun first gets from `allow`. */
export type NounRows<Row> = {
  /** The rows with these stored ids, in any order. */
  find(db: Db, ids: readonly string[], mine: Sql): Promise<Row[]>
  /** The row with a public id. @param lock such as `for update`. @throws BerthError not_found. */
  read(db: Db, publicId: string, mine: Sql, lock?: Sql): Promise<Row>
  /** A page of a list, newest first. @param chosen which rows the list has. @throws BerthError invalid_request. */
  page(db: Db, window: PageWindow, chosen: Sql, direction?: Direction, columns?: readonly string[]): Promise<Page<Row>>
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
 */
export function rowsOf<Row extends { id: string }>(
  kind: IdKind,
  table: string,
  name: string,
  columns: Sql = sql`*`,
): NounRows<Row> {
  const rows = sql.table(table)
  const select = sql`select ${columns} from ${rows}`
  const selectOf = (needed: readonly string[] | undefined): Sql =>
    needed ? sql`select ${sql.join(['id', ...needed].map((column) => sql.ref(column)))} from ${rows}` : select
  return {
    find: (db, ids, mine) => findAll(db, sql`${select} where id = any(${ids}::uuid[]) and ${mine}`),
    async read(db, publicId, mine, lock = sql``) {
      const id = decodeId(kind, publicId)
      const row = id && (await findOne<Row>(db, sql`${select} where id = ${id} and ${mine} ${lock}`))
      if (!row) throw notFound(name)
      return row
    },
    page: (db, window, chosen, direction = 'desc', needed) =>
      readPage(
        kind,
        window,
        (reading) => {
          const { within, cut } = pageSql(sql`id`, reading, direction)
          return findAll(db, sql`${selectOf(needed)} where ${chosen} and ${within} ${cut}`)
        },
        () => countRows(db, sql`${rows} where ${chosen}`),
      ),
    pageOfEach: (db, window, { chosen, direction = 'desc', columns: needed, ...list }) =>
      readPagesOfEach<Row, string>(db, window, {
        ...list,
        cursors: idCursors(kind),
        rows: (reading) => {
          const { within, cut } = pageSql(sql`id`, reading, direction)
          return sql`${selectOf(needed)} where ${chosen} and ${within} ${cut}`
        },
        whole: sql`${rows} where ${chosen}`,
      }),
  }
}
