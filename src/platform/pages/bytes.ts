/** Pages of rows that may be large: they hold so many bytes together, and no more. */
import { BerthError } from '../errors.ts'
import type { RawBuilder } from 'kysely'
import { limits } from '../limits.ts'
import { findAll, sql, type Db } from '../postgres.ts'

/** What is read of rows whose sizes count: how many rows there are, and how many bytes they have. */
type Sized = { rowsTogether?: number; bytesTogether?: number | null }

/**
 * Reads rows that have their `id` and `size_bytes`, all of them or none: the first is read in any case.
 * @throws BerthError invalid_request when several of them have more bytes together.
 */
export async function readWithinBytes<Read>(
  db: Db,
  rows: RawBuilder<Read>,
  bytesMax: number,
): Promise<{ loaded: Read[]; bytes: number }> {
  const found = await findAll<Read & Sized>(
    db,
    sql`
    select * from (
      select listed.*, count(id) over () as rows_together, sum(size_bytes) over () as bytes_together, row_number() over () as place from (${rows}) listed) sized
    where bytes_together is null or bytes_together <= ${bytesMax} or place = 1`,
  )
  const { rowsTogether = 0, bytesTogether } = found[0] ?? {}
  const bytes = bytesTogether ?? 0
  if (bytes > bytesMax && rowsTogether > 1)
    throw new BerthError(
      'invalid_request',
      `What is asked for here has more than ${Number((bytesMax / 1024 / 1024).toFixed(1))} MiB together. Ask for fewer at once.`,
    )
  return { loaded: found, bytes }
}

/** What `withinPageBytes` adds to a row: how many rows the page would have without it. */
type Found = { found?: number }

/** Whether a page was cut because of its bytes. */
export function isFullBySize(rows: readonly unknown[]): boolean {
  const [first] = rows as readonly Found[] // others have no such column
  return first?.found !== undefined && rows.length < first.found
}

/**
 * The rows of a page, each of which has its `size_bytes`, up to the bytes that a page may have; one however large it is.
 * @param key the column that the list is ordered by.
 * @param bytesMax what a page may have.
 */
export function withinPageBytes(
  rows: RawBuilder<unknown>,
  key: RawBuilder<unknown>,
  { fromEnd }: { fromEnd: boolean },
  direction: 'asc' | 'desc',
  bytesMax: number = limits.pageBytes,
): RawBuilder<unknown> {
  const inOrder = sql`order by ${key} ${(direction === 'asc') === fromEnd ? sql`desc` : sql`asc`}`
  return sql`
    select * from (select sized.*, sum(size_bytes) over (${inOrder}) - size_bytes as before, count(*) over () as found from (${rows}) sized) page
    where before = 0 or before + size_bytes <= ${bytesMax} ${inOrder}`
}
