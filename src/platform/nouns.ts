/** What every noun does with its table: finds rows by ids, reads one, pages through a list. Whose rows, its functions say. */
import type { RawBuilder } from 'kysely'
import { notFound } from './errors.ts'
import { decodeId, type IdKind } from './ids.ts'
import { countRows, pageSql, readPage, type Direction, type Page, type PageWindow } from './pages.ts'
import { findAll, findOne, sql, type Db } from './postgres.ts'

/** A piece of SQL. */
type Sql = RawBuilder<unknown>

/** A noun's rows. `mine` is the condition for whose they may be, which each function of the noun asks of `allow` first. */
export type NounRows<Row> = {
  /** Those of these stored ids, in any order. */
  find(db: Db, ids: readonly string[], mine: Sql): Promise<Row[]>
  /** The one of a public id. @param lock such as `for update`, to hold it. @throws BerthError not_found. */
  read(db: Db, publicId: string, mine: Sql, lock?: Sql): Promise<Row>
  /** A page of a list, newest first. @param chosen which rows the list has. @throws BerthError invalid_request. */
  page(db: Db, window: PageWindow, chosen: Sql, direction?: Direction): Promise<Page<Row>>
}

/** The rows of a noun in a table whose key `id` grows with time. @param name what callers call one of them. */
export function rowsOf<Row extends { id: string }>(kind: IdKind, table: string, name: string): NounRows<Row> {
  const rows = sql.table(table)
  return {
    find: (db, ids, mine) => findAll(db, sql`select * from ${rows} where id = any(${ids}::uuid[]) and ${mine}`),
    async read(db, publicId, mine, lock = sql``) {
      const id = decodeId(kind, publicId)
      const row = id && (await findOne<Row>(db, sql`select * from ${rows} where id = ${id} and ${mine} ${lock}`))
      if (!row) throw notFound(name)
      return row
    },
    page: (db, window, chosen, direction = 'desc') =>
      readPage(
        kind,
        window,
        (reading) => {
          const { within, cut } = pageSql(sql`id`, reading, direction)
          return findAll(db, sql`select * from ${rows} where ${chosen} and ${within} ${cut}`)
        },
        () => countRows(db, sql`${rows} where ${chosen}`),
      ),
  }
}
